"""What a client says to submit changes, and what it is told of them.

A frame from a client is a list of `Submit`; a frame to it a list of the others. Receipts of one turn of the server come
together, as columns. Every submission gets one answer, by its id, unless the connection ends before: then its outcome
is unknown to the client, and with a stream (a connection number in its batch) it may be submitted again.

    Stored, StoredInPart, Repeated     on every member's disk
    Unknown                            journalled, and may yet turn up: the same series may be submitted again
    all others                         certainly not stored by this attempt
"""

from msgspec import Struct

from hansard.batch import Batch


class Continues(Struct, frozen=True, array_like=True, gc=False):
    """The stream goes on from another connection, whose last series sent to this bucket was `previous`."""

    connection: int
    previous: int


class Submit(Struct, frozen=True, array_like=True, tag=1, gc=False):
    id: int
    """The client's own number for it, to be found in the answer."""
    bucket: int
    batch: Batch
    wait_us: int
    """How long an answer is of use."""
    buckets: int = 1
    """How many buckets there were when it was cut."""
    epoch: int = 0
    """Under which the client believes that it has reached the leader; 0 if it does not say."""
    continues: Continues | None = None


class Stored(Struct, frozen=True, array_like=True, tag=1, gc=False):
    """Submissions that were stored whole: of each the offset of its first change, and its time."""

    ids: list[int]
    offsets: list[int]
    timestamps: list[int]


class StoredInPart(Struct, frozen=True, array_like=True, tag=2, gc=False):
    """The first `repeated` changes had been stored before; the receipt is of the rest."""

    id: int
    repeated: int
    offset: int
    timestamp: int


class Repeated(Struct, frozen=True, array_like=True, tag=3, gc=False):
    """All of it had been stored before: there, if that is still known."""

    id: int
    offset: int | None
    timestamp: int | None


class Unknown(Struct, frozen=True, array_like=True, tag=4, gc=False):
    id: int


class Gap(Struct, frozen=True, array_like=True, tag=5, gc=False):
    """Something earlier of the stream is missing: `expected` is the last series that is there, -1 if none is."""

    id: int
    expected: int


class Broken(Struct, frozen=True, array_like=True, tag=6, gc=False):
    """The bucket has forgotten the stream: connect anew."""

    id: int


class Invalid(Struct, frozen=True, array_like=True, tag=7, gc=False):
    id: int
    reason: str


class Expired(Struct, frozen=True, array_like=True, tag=8, gc=False):
    """Its time was over before it could be journalled."""

    id: int


class Busy(Struct, frozen=True, array_like=True, tag=9, gc=False):
    """There is no room for it now."""

    id: int


class Misplaced(Struct, frozen=True, array_like=True, tag=10, gc=False):
    """Some of its keys live in another bucket: there are so many now."""

    id: int
    buckets: int


class NotLeader(Struct, frozen=True, array_like=True, tag=11, gc=False):
    """Another participant leads: the one of this name, at this address, as far as it is known."""

    id: int
    leader: str | None
    address: str | None
    epoch: int


class ReadOnly(Struct, frozen=True, array_like=True, tag=12, gc=False):
    """The disk of a participant that it must be on takes nothing for now: try it again later."""

    id: int
    node: str
    reason: str


Refusal = Gap | Broken | Invalid | Expired | Busy | Misplaced | NotLeader | ReadOnly
Answer = Stored | StoredInPart | Repeated | Unknown | Refusal
