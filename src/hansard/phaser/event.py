"""What happens to a phaser."""

from collections.abc import Sequence

from msgspec import Struct

from hansard.batch import Batch

from .effect import Achievement
from .government import Government, NodeId, Term
from .message import Message
from .outcome import ReadOnly


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


class Question(Struct, frozen=True, gc=False):
    """To an application, by its name."""

    application: str
    content: bytes
    buckets: int = 1
    """How many buckets there were when it was asked of this one: what it is about may be in another one by now."""


class Read(Struct, frozen=True, gc=False):
    """A linearizable read: from where may it be answered? Or, with a question: what is the answer?"""

    id: int
    deadline_us: int
    question: Question | None = None


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


class Import(Struct, frozen=True, gc=False):
    """A batch of a log that is brought here as it is: with its offsets, times, connections and series."""

    id: int
    batch: Batch
    deadline_us: int
    follows: int
    """Where the batch before it ends; 0 if it is the first. What is between them is empty in that log too. Without it
    one that was refused would be taken for a gap by the next, and for there when it comes again."""


class Imports(Struct, frozen=True, gc=False):
    """Whether the bucket is being imported: until that is over it does not open."""

    allowed: bool
    end: int = 0
    """It is not over before its log has come to here."""


class Doubled(Struct, frozen=True, gc=False):
    """The bucket was split: it has the keys now that are its own where there are this many buckets. A new government
    is appointed with it."""

    buckets: int


class Trimmed(Struct, frozen=True, gc=False):
    """The log begins at this offset now."""

    start: int


class Hindered(Struct, frozen=True, gc=False):
    """What is to be refused, because a disk that everything must be on takes nothing; None: it does again."""

    by: ReadOnly | None


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
    | Import
    | Imports
    | Doubled
    | Trimmed
    | Hindered
)
