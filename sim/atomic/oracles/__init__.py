"""What must be true of every simulated run of the atomic log, one promise in each file."""

from sim.oracles.oracle import Violation

from .bounded import Bounded
from .council import OneAtATime
from .durable import Durable
from .leader import OneLeader
from .lease import NotForNothing
from .linear import Linearizable
from .lives import Lives
from .once import Once
from .oracle import Oracle
from .sequence import OneSequence
from .strangers import Strangers
from .votes import Votes

__all__ = ["OneSequence", "Oracle", "Strangers", "Violation", "oracles"]


def oracles(sequence: OneSequence, strangers: Strangers, *, thorough: bool = True) -> list[Oracle]:
    """One of each, for one run. The invariants cost as much as all the rest: not every run has to look at them."""
    return [
        sequence,
        OneLeader(sequence),
        Durable(sequence),
        Once(),
        Linearizable(sequence),
        Votes(),
        OneAtATime(),
        Lives(),
        strangers,
        NotForNothing(),
        Bounded(thorough=thorough),
    ]
