"""What is to be done, in the order in which it is listed.

`Persist` is the only effect that takes effect later: its writes are done in order, and once they are synced the core
gets `Persisted` with the same ticket. What has to wait for the disk is sent after that by the core itself, so all other
effects may be carried out at once. A crash leaves some prefix of the writes that were not persisted.
"""

from msgspec import Struct

from .cluster import ClusterId, NodeId
from .content import Entry, Fact
from .message import Envelope


class Put(Struct, frozen=True, gc=False):
    """Add entries at the end of the log, the first at this index."""

    start: int
    entries: tuple[Entry, ...]


class Cut(Struct, frozen=True, gc=False):
    """The log ends here now."""

    end: int


class Reset(Struct, frozen=True, gc=False):
    """The log is empty now and begins here."""

    start: int


class Trim(Struct, frozen=True, gc=False):
    """Nothing before this index is needed any more. What is dropped of it, and when, is the storage's affair."""

    start: int


class Note(Struct, frozen=True, gc=False):
    """Instead of the note before."""

    content: bytes


class Keep(Struct, frozen=True, gc=False):
    """A document under this name, instead of the one before."""

    name: str
    content: bytes


class Discard(Struct, frozen=True, gc=False):
    name: str


Write = Put | Cut | Reset | Trim | Note | Keep | Discard


class Persist(Struct, frozen=True, gc=False):
    ticket: int
    writes: tuple[Write, ...]


class Send(Struct, frozen=True, gc=False):
    to: NodeId
    """Empty: whoever is at that address."""
    address: str
    envelope: Envelope


class Applied(Struct, frozen=True, gc=False):
    """The entry at this index is committed, and the machine was told what follows from it."""

    index: int
    entry: Entry
    fact: Fact | None
    """None if nothing follows from it."""


class Restored(Struct, frozen=True, gc=False):
    """The machine has the state of everything before this index, from another's copy."""

    end: int


class Settled(Struct, frozen=True, gc=False):
    """What was proposed under this id is in the log."""

    id: int


class AnswerRead(Struct, frozen=True, gc=False):
    id: int
    end: int
    """How far the machine has come."""


class Led(Struct, frozen=True, gc=False):
    """Who leads, as far as is known here; empty if nobody."""

    leader: NodeId
    term: int


class Departing(Struct, frozen=True, gc=False):
    """By the log I have departed. Every lead of this life is to be given up. I arrive again in another one, unless I
    wanted to go; then `Left` follows when I am not needed any more."""

    life: int


class Left(Struct, frozen=True, gc=False):
    """I wanted to go, and nothing depends on me any more: the process may end. Nothing comes of further events."""


class Strange(Struct, frozen=True, gc=False):
    """Somebody speaks to me who belongs to another cluster. Nothing comes of it, and somebody should know."""

    sender: NodeId
    address: str
    cluster: ClusterId


class Superseded(Struct, frozen=True, gc=False):
    """The majority of this cluster was given up for lost, and it goes on in another incarnation without what we know.
    Nothing comes of further events; this participant has to join anew."""

    cluster: ClusterId


class Refused(Struct, frozen=True, gc=False):
    """I cannot come in as things are, and go on trying. Somebody should know."""

    reason: str


class Outdated(Struct, frozen=True, gc=False):
    """The cluster follows newer rules than I know: I cannot go on."""

    rules: int


Effect = (
    Send
    | Persist
    | Applied
    | Restored
    | Settled
    | AnswerRead
    | Led
    | Departing
    | Left
    | Strange
    | Refused
    | Outdated
    | Superseded
)
