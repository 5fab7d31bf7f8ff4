"""What a phaser wants done, in the order in which it is listed.

`Persist` is the only effect that takes effect later: its writes are done in order, together with those of other
buckets, and once all of them are synced the phaser gets `Persisted` with the same ticket. What has to wait for the disk
is sent by the phaser after that, and not before, so everything else may be done at once. Tickets are persisted in
order; a crash leaves some prefix of the writes that were not persisted. A `Fetch` sees the writes of every earlier
`Persist`.
"""

from enum import StrEnum

from msgspec import Struct

from hansard.batch import Batch

from .government import NodeId, Term
from .message import Message
from .outcome import Outcome, ReadOutcome


class Put(Struct, frozen=True, gc=False):
    """Add the batch at the end of the log."""

    batch: Batch


class Cut(Struct, frozen=True, gc=False):
    """The log ends at this offset now."""

    end: int


class Reset(Struct, frozen=True, gc=False):
    """The log is empty now and begins at this offset."""

    start: int


class Note(Struct, frozen=True, gc=False):
    """The bucket's note, instead of the one before."""

    content: bytes


class Keep(Struct, frozen=True, gc=False):
    """A document of the bucket under this name, instead of the one before."""

    name: str
    content: bytes


class Discard(Struct, frozen=True, gc=False):
    name: str


Write = Put | Cut | Reset | Note | Keep | Discard


class Persist(Struct, frozen=True, gc=False):
    ticket: int
    writes: tuple[Write, ...]


class Send(Struct, frozen=True, gc=False):
    to: NodeId
    message: Message


class Fetch(Struct, frozen=True, gc=False):
    """Read batches from the log, from this offset on, for a member that is behind; answered by `Fetched`."""

    to: NodeId
    term: Term
    offset: int
    bytes_max: int


class Answer(Struct, frozen=True, gc=False):
    """The one answer to a submission."""

    id: int
    outcome: Outcome


class AnswerRead(Struct, frozen=True, gc=False):
    id: int
    outcome: ReadOutcome


class Committed(Struct, frozen=True, gc=False):
    """Everything before this offset may be shown to readers."""

    end: int


class Achievement(StrEnum):
    OPENED = "opened"
    EXPANDED = "expanded"


class Report(Struct, frozen=True, gc=False):
    """To be proposed to the atomic log until it is there, or the epoch is no longer the newest."""

    achievement: Achievement
    epoch: int


class Pressure(Struct, frozen=True, gc=False):
    """Whether those who submit should hold back."""

    high: bool


Effect = Send | Persist | Answer | AnswerRead | Committed | Report | Fetch | Pressure
