"""What happens to a phaser."""

from collections.abc import Sequence

from msgspec import Struct

from hansard.batch import Batch

from .effect import Achievement
from .government import Government, NodeId, Term
from .message import Message


class Continues(Struct, frozen=True, gc=False):
    """The stream goes on from another connection, whose last series sent to this bucket was `previous`."""

    connection: int
    previous: int


class Submit(Struct, frozen=True, gc=False):
    id: int
    batch: Batch
    deadline_us: int
    epoch: int = 0
    """The epoch under which the sender believes that I lead; 0 if it does not say."""
    buckets: int = 1
    """How many buckets there were when it was cut."""
    continues: Continues | None = None


class Read(Struct, frozen=True, gc=False):
    """A linearizable read: from where may it be answered?"""

    id: int
    deadline_us: int


class Received(Struct, frozen=True, gc=False):
    sender: NodeId
    message: Message


class Persisted(Struct, frozen=True, gc=False):
    ticket: int


class Fetched(Struct, frozen=True, gc=False):
    """The batches asked for, and where the log begins by now."""

    to: NodeId
    term: Term
    """As it was asked for: what was read for an earlier term may have been unrolled since."""
    offset: int
    start: int
    batches: Sequence[Batch]


class Appointed(Struct, frozen=True, gc=False):
    government: Government


class Accepted(Struct, frozen=True, gc=False):
    """A report is in the atomic log, and was for the newest epoch."""

    achievement: Achievement
    epoch: int


class Connected(Struct, frozen=True, gc=False):
    """The way to a participant was lost and is there again: what was under way to it may not have come."""

    node: NodeId


class Paused(Struct, frozen=True, gc=False):
    """Take nothing from the backlog until told to go on."""

    paused: bool


class Doubled(Struct, frozen=True, gc=False):
    """There are this many buckets now."""

    buckets: int


class Trimmed(Struct, frozen=True, gc=False):
    """The log begins at this offset now."""

    start: int


class Tick(Struct, frozen=True, gc=False):
    """Time has passed: look at deadlines, and at what seems lost."""


Event = (
    Received
    | Persisted
    | Submit
    | Read
    | Tick
    | Fetched
    | Appointed
    | Accepted
    | Connected
    | Paused
    | Doubled
    | Trimmed
)
