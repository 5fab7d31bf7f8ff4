"""What a participant wants done, in the order in which it is listed.

`Persist` takes effect later: its writes are done in order, together with those of other parts, and `Persisted` says
when they are synced. `Load`, `Fork` and `Drop` are done after all earlier writes of the bucket; `Loaded` comes when
these are synced. Everything else may be done at once.
"""

from typing import Final

from msgspec import Struct

from hansard.batch import Batch
from hansard.consensus import effect as atomic
from hansard.distributor.orders import Status
from hansard.distributor.records import Lost
from hansard.phaser import effect as phaser
from hansard.phaser.government import NodeId, Term
from hansard.phaser.outcome import Outcome, Refusal

from .message import Message

ATOMIC: Final = -1
"""The part of the disk that has the atomic log; all others are buckets."""


class Send(Struct, frozen=True, gc=False):
    to: str
    """Empty: whoever is at that address."""
    address: str
    message: Message


class Persist(Struct, frozen=True, gc=False):
    part: int
    generation: int
    """Of who asks for it, to be sent back: a phaser may be another one by then."""
    ticket: int
    writes: tuple[phaser.Write, ...] | tuple[atomic.Write, ...]


class Load(Struct, frozen=True, gc=False):
    bucket: int
    generation: int
    """To be sent back: what was read for an earlier one may not be true any more."""


class Fork(Struct, frozen=True, gc=False):
    """A bucket that is not here yet becomes all that another one is on this disk, as it was written before this. It is
    there or not; and it is on disk when anything is that was written after it."""

    parent: int
    child: int


class Drop(Struct, frozen=True, gc=False):
    """Nothing of this bucket is needed here any more."""

    bucket: int
    damaged: bool = False
    """It is given up because it is damaged: what was to be written to it before does not matter either."""


class Excerpt(Struct, frozen=True, gc=False):
    """Read batches as they are stored, for another participant whose copy is damaged; answered by `Excerpted`."""

    to: str
    bucket: int
    number: int
    """The asker's."""
    first: int
    end: int
    bytes_max: int


class Mend(Struct, frozen=True, gc=False):
    """Write these batches over what is damaged; answered by `Mended`."""

    bucket: int
    number: int
    batches: tuple[Batch, ...]
    node: str
    """Whose they are."""


class GivenUp(Struct, frozen=True, gc=False):
    """The copies of these buckets cannot be mended, and are to be fetched anew; none, if all is well. Where nobody else
    has a bucket, its copy stays as it is, and what is damaged in it is not served."""

    buckets: tuple[int, ...]
    alone: tuple[int, ...]
    """Of these, those that nobody else has."""


class Fetch(Struct, frozen=True, gc=False):
    bucket: int
    to: NodeId
    term: Term
    offset: int
    bytes_max: int


class Committed(Struct, frozen=True, gc=False):
    """Everything before this offset may be shown to readers."""

    bucket: int
    end: int


class Answer(Struct, frozen=True, gc=False):
    """The one answer to a submission."""

    id: int
    outcome: Outcome
    retry_us: int = 0
    """If it was refused for now: not to be tried again before."""


class ReadAt(Struct, frozen=True, gc=False):
    """Read it at this node."""

    node: str
    address: str
    committed: int | None
    """Everything before this offset may be shown; None if that node says it itself."""
    answer: bytes | None = None
    """An application's, if it was asked."""


class AnswerRead(Struct, frozen=True, gc=False):
    id: int
    outcome: ReadAt | Refusal
    retry_us: int = 0


class AnswerConnect(Struct, frozen=True, gc=False):
    id: int
    connection: int
    """0 if there was none to be had."""
    retry_us: int = 0


class AnswerCommand(Struct, frozen=True, gc=False):
    """The order is in the log, and this is what has become of it so far."""

    id: int
    status: Status | None


class AnswerHold(Struct, frozen=True, gc=False):
    """A hold is in the log, or let go of."""

    id: int
    refusal: str
    """Why not; empty if it is."""
    expires_us: int = 0
    """By the cluster's time."""


class Pressure(Struct, frozen=True, gc=False):
    """Whether those who submit to this bucket should hold back."""

    bucket: int
    high: bool


class Thinned(Struct, frozen=True, gc=False):
    """These buckets have fewer copies than they should, from now on, and somebody should know; none, if all is well."""

    buckets: tuple[int, ...]


class Bereft(Struct, frozen=True, gc=False):
    """These buckets are lost, from now on, each with who could bring it back; none, if all is well."""

    lost: tuple[Lost, ...]


class Retired(Struct, frozen=True, gc=False):
    """All that others can lead they lead: this participant may stop. By the log it is one still."""

    leave: bool
    """It should depart first: others have what it has, and need not wait until it is missed."""


Notice = (
    Thinned
    | Bereft
    | Retired
    | GivenUp
    | atomic.Led
    | atomic.Left
    | atomic.Strange
    | atomic.Superseded
    | atomic.Refused
    | atomic.Outdated
    | atomic.Departing
)
"""What somebody should know; of these, `Left`, `Superseded` and `Outdated` are the end."""

Deed = (
    Persist
    | Committed
    | Fetch
    | AnswerRead
    | AnswerConnect
    | AnswerCommand
    | AnswerHold
    | Pressure
    | Load
    | Fork
    | Drop
    | Excerpt
    | Mend
    | Notice
)
"""Whatever else there is to do."""
Effect = Send | Answer | Deed
