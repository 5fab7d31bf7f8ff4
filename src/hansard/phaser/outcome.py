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
        ├── ReadOnly    a member's disk takes nothing for now
        ├── Importing   the bucket is filled with another log, and is not open yet
        ├── Misplaced   some of its keys live in another bucket: cut it anew
        └── NotLeader   another participant leads, perhaps this one
"""

from msgspec import Struct

from .government import NodeId


class Receipt(Struct, frozen=True, array_like=True, gc=False):
    """Where a submission lies: its first change's offset and the time that the leader gave it."""

    offset: int
    timestamp: int


class Stored(Struct, frozen=True, array_like=True, tag=1, gc=False):
    receipt: Receipt
    repeated: int = 0
    """Changes at its beginning that were stored before; the receipt is of the rest."""
    results: tuple[bytes | None, ...] = ()
    """What the applications said to the rest, change by change, if there are any: the first one that said anything."""


class Repeated(Struct, frozen=True, array_like=True, tag=2, gc=False):
    receipt: Receipt | None
    """The first one; None where it is no longer known."""


class Unknown(Struct, frozen=True, array_like=True, tag=3, gc=False):
    pass


class Gap(Struct, frozen=True, array_like=True, tag=4, gc=False):
    expected: int
    """The last series of this connection that the bucket has; -1 if none. The next batch has to name it as its previous
    one, or an earlier one. To somebody who imports: where the log ends."""


class Broken(Struct, frozen=True, array_like=True, tag=5, gc=False):
    pass


class Invalid(Struct, frozen=True, array_like=True, tag=6, gc=False):
    reason: str


class Expired(Struct, frozen=True, array_like=True, tag=7, gc=False):
    pass


class Busy(Struct, frozen=True, array_like=True, tag=8, gc=False):
    pass


class ReadOnly(Struct, frozen=True, array_like=True, tag=13, gc=False):
    node: str
    """Whose disk it is."""
    reason: str


class Importing(Struct, frozen=True, array_like=True, tag=12, gc=False):
    pass


class Misplaced(Struct, frozen=True, array_like=True, tag=9, gc=False):
    buckets: int
    """How many there are now."""


class NotLeader(Struct, frozen=True, array_like=True, tag=10, gc=False):
    leader: NodeId | None
    """None where it is not known here."""
    epoch: int


Refusal = Gap | Broken | Invalid | Expired | Busy | ReadOnly | Importing | Misplaced | NotLeader
Outcome = Stored | Repeated | Unknown | Refusal


class ReadFrom(Struct, frozen=True, array_like=True, tag=11, gc=False):
    """A linearizable read may be answered from everything before this offset."""

    committed: int
    answer: bytes | None = None
    """To its question, if it has one, by an application that has seen just that."""


ReadOutcome = ReadFrom | NotLeader | Expired | Busy | Misplaced | Invalid
