"""What becomes of a submission, and of a linearizable read.

The answers differ in what the client may conclude. *Stored* and *Repeated*: it is on every member's disk. *Unknown*: it
was journalled, and may yet turn up; the same series may be submitted again. Everything else: certainly not stored, and
it will not be. That is said of this attempt: it tells nothing of an earlier one whose outcome is unknown.

    Outcome
    ├── Stored          here is its place
    ├── Repeated        it was stored before, here is where if that is still known
    ├── Unknown         journalled, not committed in time, or the leader changed
    └── Refusal         certainly not stored
        ├── Gap         something earlier of this stream is missing: here is what is expected
        ├── Broken      the bucket has forgotten this stream: connect anew
        ├── Invalid     no client may submit such a batch
        ├── Expired     its deadline, or our patience, ended in the backlog
        ├── Busy        there is no room in the backlog
        ├── Misplaced   some of its keys live in another bucket: cut it anew
        └── NotLeader   another participant leads, perhaps this one
"""

from msgspec import Struct

from .government import NodeId


class Receipt(Struct, frozen=True, array_like=True, gc=False):
    """Where a submission lies: its first change's offset and the time that the leader gave it."""

    offset: int
    timestamp: int


class Stored(Struct, frozen=True, gc=False):
    receipt: Receipt
    repeated: int = 0
    """Changes at its beginning that were stored before; the receipt is of the rest."""


class Repeated(Struct, frozen=True, gc=False):
    receipt: Receipt | None
    """The first one; None where it is no longer known."""


class Unknown(Struct, frozen=True, gc=False):
    pass


class Gap(Struct, frozen=True, gc=False):
    expected: int
    """The last series of this connection that the bucket has; -1 if none. The next batch has to name it as its previous
    one, or an earlier one."""


class Broken(Struct, frozen=True, gc=False):
    pass


class Invalid(Struct, frozen=True, gc=False):
    reason: str


class Expired(Struct, frozen=True, gc=False):
    pass


class Busy(Struct, frozen=True, gc=False):
    pass


class Misplaced(Struct, frozen=True, gc=False):
    buckets: int
    """How many there are now."""


class NotLeader(Struct, frozen=True, gc=False):
    leader: NodeId | None
    """None where it is not known here."""
    epoch: int


Refusal = Gap | Broken | Invalid | Expired | Busy | Misplaced | NotLeader
Outcome = Stored | Repeated | Unknown | Refusal


class ReadFrom(Struct, frozen=True, gc=False):
    """A linearizable read may be answered from everything before this offset."""

    committed: int


ReadOutcome = ReadFrom | NotLeader | Expired | Busy
