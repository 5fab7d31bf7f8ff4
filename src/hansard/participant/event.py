"""What happens to a participant."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from hansard.batch import Batch
from hansard.distributor.command import Order
from hansard.distributor.settings import Keep
from hansard.phaser.event import Continues, Question
from hansard.phaser.government import NodeId, Term
from hansard.phaser.lineage import Run
from hansard.phaser.recovered import Recovered

from .message import Message


class Tick(Struct, frozen=True, gc=False):
    """Time has passed. It comes every third of a heartbeat of the atomic log."""


class Received(Struct, frozen=True, gc=False):
    sender: str
    message: Message


class Connected(Struct, frozen=True, gc=False):
    """The way to a node was lost and is there again: what was under way to it may not have come."""

    node: str


class Persisted(Struct, frozen=True, gc=False):
    part: int
    generation: int
    ticket: int


class Loaded(Struct, frozen=True, gc=False):
    """What the disk has of a bucket, all of it synced."""

    bucket: int
    generation: int
    recovered: Recovered


class Fetched(Struct, frozen=True, gc=False):
    bucket: int
    to: NodeId
    term: Term
    offset: int
    start: int
    batches: Sequence[Batch]


class Trimmed(Struct, frozen=True, gc=False):
    """The log of a bucket begins at this offset now."""

    bucket: int
    start: int


class Damaged(Struct, frozen=True, gc=False):
    """Something of a bucket on this disk cannot be read as it was written."""

    bucket: int
    number: int
    """Of the damage; never used for another one in this process."""
    first: int | None
    """The offsets that are lost by it, from `first` up to, not including, `end`; None where that is not known."""
    end: int | None
    length: int | None
    """How many bytes of stored batches these were; None where that is not known."""
    generation: int = 0
    """Of the `Load` that has come to nothing by it, if one has."""
    runs: tuple[Run, ...] = ()
    """Which term wrote which part of the log, as the note of a copy has it that is not loaded."""


class Mended(Struct, frozen=True, gc=False):
    """What `Mend` has come to."""

    bucket: int
    number: int
    fits: bool
    """What is there now is what was written; or else the damage is as it was."""


class Excerpted(Struct, frozen=True, gc=False):
    """What our disk has for another participant, as far as it can be read."""

    to: str
    bucket: int
    number: int
    first: int
    batches: Sequence[Batch]


class Hindered(Struct, frozen=True, gc=False):
    """Our disk takes nothing for now, for this reason; empty: it does again."""

    reason: str


class Submit(Struct, frozen=True, gc=False):
    id: int
    bucket: int
    batch: Batch
    deadline_us: int
    buckets: int
    """The level for which it was cut: all its keys live in this bucket where there are this many."""
    continues: Continues | None = None


class Import(Struct, frozen=True, gc=False):
    """A batch of another log is brought to a bucket of this one as it is, while that is imported. Only for whoever may
    give orders. Each bucket is sent all of the bucket that it was, or was part of, in order."""

    id: int
    bucket: int
    batch: Batch
    deadline_us: int
    buckets: int
    """How many there are here."""
    follows: int
    """Where the batch before it ends; 0 if it is the first."""


class Read(Struct, frozen=True, gc=False):
    """Where can this bucket be read, and up to where?"""

    id: int
    bucket: int
    deadline_us: int
    linear: bool = False
    """Everything must be there that was acknowledged before this came."""
    question: Question | None = None
    """What an application is asked instead, about everything that was acknowledged before this came."""


class Connect(Struct, frozen=True, gc=False):
    """A client wants a connection number; a name gets the same one back."""

    id: int
    deadline_us: int
    name: str = ""
    broken: int = 0
    """The number that this name had, if a bucket has forgotten its stream: it gets another one."""


class Command(Struct, frozen=True, gc=False):
    """An operator's order, to be put into the log."""

    id: int
    order: Order


class Retention(Struct, frozen=True, gc=False):
    """Something about what is kept (retaining.py)."""


class Hold(Retention, frozen=True, gc=False):
    """Keep everything from this place on, for so long from now, under this name: it is set, moved or renewed."""

    id: int
    name: str
    offsets: Mapping[int, int]
    lasts_us: int


class LetGo(Retention, frozen=True, gc=False):
    id: int
    name: str


class Surplus(Retention, frozen=True, gc=False):
    """A look at the disk has found that under these settings nothing before these offsets need be kept."""

    keep: Keep
    floors: Mapping[int, int]


class Leave(Struct, frozen=True, gc=False):
    """Propose the departure of a participant: myself, if I go, or one that an operator has given up."""

    node: str


class Retire(Struct, frozen=True, gc=False):
    """This participant is to stop: others shall lead what it leads. `Retired` says when they do."""


Ailment = Damaged | Mended | Excerpted
"""What happens to disks."""

Event = (
    Received
    | Persisted
    | Submit
    | Import
    | Tick
    | Read
    | Fetched
    | Loaded
    | Connected
    | Connect
    | Command
    | Trimmed
    | Retention
    | Leave
    | Retire
    | Ailment
    | Hindered
)
