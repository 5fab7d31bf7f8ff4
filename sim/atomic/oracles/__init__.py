"""What must be true of every simulated run of the atomic log, one promise in each file."""

from sim.oracles.oracle import Violation

from .bounded import Bounded
from .council import OneAtATime
from .durable import Durable
from .kept import Kept
from .leader import OneLeader
from .lease import NotForNothing
from .linear import Linearizable
from .lives import Lives
from .once import Once
from .oracle import Oracle
from .own_term import OwnTerm
from .sequence import OneSequence
from .strangers import Strangers
from .votes import Votes
from .wanted import Wanted

__all__ = ["Lives", "OneSequence", "Oracle", "Strangers", "Violation", "oracles"]


def oracles(sequence: OneSequence, lives: Lives, strangers: Strangers, *, thorough: bool = True) -> list[Oracle]:
    """One of each, for one run. The invariants cost as much as all the rest: not every run has to look at them."""
    return [
        sequence,
        OneLeader(sequence),
        OwnTerm(),
        Durable(sequence),
        Kept(sequence),
        Once(),
        Linearizable(sequence),
        Votes(),
        Wanted(),
        OneAtATime(),
        lives,
        strangers,
        NotForNothing(),
        Bounded(thorough=thorough),
    ]
