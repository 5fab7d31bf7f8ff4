"""What must be true of every simulated run, one promise in each file. An oracle watches, and raises `Violation`."""

from .alike import Alike
from .bounded import Bounded
from .committed import CommittedOnly
from .durable import Durable
from .linear import Linearizable
from .once import Once
from .oracle import Oracle, Violation
from .order import Order
from .revival import Revival
from .sequence import OneSequence
from .unheard import Unheard

__all__ = ["Oracle", "Violation", "oracles"]


def oracles(*, thorough: bool = True) -> list[Oracle]:
    """One of each, for one run. The invariants cost as much as all the rest: not every run has to look at them."""
    sequence = OneSequence()
    durable = Durable(sequence)
    return [
        sequence,
        durable,
        Revival(durable),
        Once(sequence),
        Order(sequence),
        CommittedOnly(sequence),
        Linearizable(sequence),
        Alike(),
        Bounded(thorough=thorough),
        Unheard(),
    ]
