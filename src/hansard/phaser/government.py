"""Who governs a bucket, and in which order a batch goes through them.

A government comes by edict, with an epoch. Its leader may restart within it; each of its lives is a *reign*, and epoch
and reign together make a *term*. Terms are what messages and log entries carry: two reigns of one epoch must not be
taken for each other, because a leader sends a batch on before its own disk has it, and after a crash may put another
one in its place.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

NodeId = str
"""A participant in one of its incarnations. The phaser only compares them."""

Term = int
"""An epoch and a reign in one number, so that the later of two is the larger."""

REIGN_BITS: Final = 20
NO_TERM: Final[Term] = 0


def first_term(epoch: int) -> Term:
    return epoch << REIGN_BITS


def epoch_of(term: Term) -> int:
    return term >> REIGN_BITS


def reign_of(term: Term) -> int:
    return term & ((1 << REIGN_BITS) - 1)


def next_term(epoch: int, promised: Term) -> Term:
    """The term in which an appointed leader may begin, given the highest that it has promised to follow."""
    assert epoch >= epoch_of(promised)
    term = promised + 1 if epoch_of(promised) == epoch else first_term(epoch)
    assert epoch_of(term) == epoch, "the reigns of this epoch are used up: it takes another appointment"
    return term


class Shape(StrEnum):
    """The way of a batch through its government."""

    STAR = "star"
    """From the leader to each member."""
    CHAIN = "chain"
    """From the leader to the first, from each to the next; acknowledgements come back the same way."""


class Government(Struct, frozen=True, gc=False):
    epoch: int
    leader: NodeId
    members: tuple[NodeId, ...]
    """Whose acknowledgements count, the leader among them."""
    newcomers: tuple[NodeId, ...] = ()
    """Those that the leader is to acclimate, and then to count."""
    shape: Shape = Shape.STAR
    memory_us: int = 7 * 24 * 3600 * 1_000_000
    """How long the bucket remembers a connection, by the log's own time."""

    def __post_init__(self) -> None:
        assert self.leader in self.members
        assert not set(self.members) & set(self.newcomers)


def line(government: Government, *, expanded: bool) -> tuple[NodeId, ...]:
    """Everybody who counts, the leader first, newcomers at the tail."""
    others = tuple([node for node in government.members if node != government.leader])
    return (government.leader, *others, *(government.newcomers if expanded else ()))


def downstream(government: Government, me: NodeId, *, expanded: bool) -> tuple[NodeId, ...]:
    """Whom I pass batches on to, among those who count: the one difference between the shapes."""
    everybody = line(government, expanded=expanded)
    if me not in everybody:
        return ()
    place = everybody.index(me)
    match government.shape:
        case Shape.STAR:
            return everybody[1:] if place == 0 else ()
        case Shape.CHAIN:
            return everybody[place + 1 : place + 2]


def upstream(government: Government, me: NodeId, *, expanded: bool) -> NodeId:
    """From whom batches come to me. A newcomer that does not count yet is fed by the leader, in either shape."""
    everybody = line(government, expanded=expanded)
    if government.shape is Shape.STAR or me not in everybody:
        return government.leader
    return everybody[max(everybody.index(me) - 1, 0)]


def committed_end(synced: int, acknowledged: Sequence[int]) -> int:
    """Where the part of the log ends that is on every member's disk: acknowledged means all of them, not most."""
    return min(synced, min(acknowledged, default=synced))
