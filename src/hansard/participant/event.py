"""What happens to a participant."""

from collections.abc import Sequence

from msgspec import Struct

from hansard.batch import Batch
from hansard.distributor.command import Order
from hansard.phaser.event import Continues
from hansard.phaser.government import NodeId, Term
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


class Submit(Struct, frozen=True, gc=False):
    id: int
    bucket: int
    batch: Batch
    deadline_us: int
    buckets: int
    """How many there were when it was cut."""
    continues: Continues | None = None


class Read(Struct, frozen=True, gc=False):
    """Where can this bucket be read, and up to where?"""

    id: int
    bucket: int
    deadline_us: int
    linear: bool = False
    """Everything must be there that was acknowledged before this came."""


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


class Leave(Struct, frozen=True, gc=False):
    """Propose the departure of a participant: myself, if I go, or one that an operator has given up."""

    node: str


Event = Received | Persisted | Submit | Tick | Read | Fetched | Loaded | Connected | Connect | Command | Trimmed | Leave
