"""What the table knows of a bucket: the last opened government, and the one that is appointed while that changes.

    idle        it has no government yet, or is not split off yet
    steady      the newest government has opened, and everybody in it counts
    expanding   newcomers are being brought up to date, under the old members
    switching   a government without newcomers is appointed and has not opened
    lost        nobody is left who has everything

Invariant: whoever is appointed as leader or member is a full member of the last opened government: it has everything
that was ever acknowledged. So a government that is dropped before it opens leaves nothing behind.

At level L bucket b has the keys with `hash & (L - 1) == b`. When the buckets are doubled each is split: it and the one
that is L further on have one half each, at level 2 L.
"""

from enum import StrEnum

from msgspec import Struct

from .member import Member
from .settings import Shape


class State(StrEnum):
    IDLE = "idle"
    STEADY = "steady"
    EXPANDING = "expanding"
    SWITCHING = "switching"
    LOST = "lost"


class Bucket(Struct, frozen=True, array_like=True, gc=False):
    epoch: int = 0
    """Of the newest government."""
    leader: Member | None = None
    """None where there is none."""
    members: tuple[Member, ...] = ()
    newcomers: tuple[Member, ...] = ()
    """Whom the leader is to bring up to date, and then to count."""
    opened: int = 0
    """The epoch of the last government that has opened."""
    full: tuple[Member, ...] = ()
    """Its members, with the newcomers once they count; some may have departed since."""
    goal: tuple[Member, ...] = ()
    """Where a move leads, the leader first; empty if the bucket is not on the move."""
    vacant: tuple[int, ...] = ()
    """Slots that should have a copy, and whose participants have departed."""
    returned: tuple[Member, ...] = ()
    """Participants that are there and have a copy which was a full member's of the last opened government."""
    pinned: bool = False
    """Moved by hand: rebalancing leaves it alone."""
    shape: Shape = Shape.STAR
    """Of the newest government."""
    expanded: int = 0
    """The last epoch whose newcomers were reported to count."""
    level: int = 0
    """Under how many buckets it lives; 0 if it is not split off yet, and counts for nothing."""
    born: int = 0
    """The epoch from which on its log has only its own keys. Half of a split, until it has opened that one or later."""

    @property
    def state(self) -> State:
        if self.level == 0 or self.epoch == 0:
            return State.IDLE
        if self.leader is None:
            return State.LOST
        if self.newcomers and (self.opened != self.epoch or len(self.full) == len(self.members)):
            return State.EXPANDING
        return State.STEADY if self.opened == self.epoch else State.SWITCHING

    @property
    def splitting(self) -> bool:
        """Half of a bucket that was split, and has not opened since."""
        return self.opened < self.born

    @property
    def copies(self) -> tuple[Member, ...]:
        """Who has it, or will have it when what is under way is done."""
        return self.goal or self.kept

    @property
    def kept(self) -> tuple[Member, ...]:
        """Who has it, and has it still when what is under way is dropped."""
        return self.full if self.opened == self.epoch else self.members

    @property
    def lead(self) -> Member | None:
        """Who leads, or will lead when what is under way is done."""
        return self.goal[0] if self.goal else self.leader
