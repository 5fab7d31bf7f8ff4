"""What phasers of one bucket say to each other. Every message carries a term; a lower one than was promised is refused.

Down the government (from the leader; in a chain, from each to the next):
    Wedge, Append, Commit, Confirm, Part
Back up:
    Wedged, Acknowledge, Confirmed, Estranged, PartKept, Refuse

They may be lost, doubled, delayed and reordered; each is safe to handle at any time and any number of times.
"""

from msgspec import Struct

from hansard.batch import Batch

from .government import Government, Term
from .lineage import Run


class Collection(Struct, frozen=True, array_like=True, gc=False):
    """A snapshot of the state at an offset, known by what it is: parts of another one are never taken for its own."""

    offset: int
    start: int
    """Where the log of a copy that begins with it begins."""
    start_term: Term
    """Of the entry before that."""
    total: int
    """The number of its parts."""
    crc: int
    """CRC32C of all of it."""


class Wedge(Struct, frozen=True, array_like=True, tag=1, gc=False):
    """Follow this term and no earlier one, and unroll what its leader never had."""

    term: Term
    government: Government
    expanded: bool
    """Whether the newcomers count: the leader's log has the expanded government."""
    start: int
    end: int
    runs: tuple[Run, ...]
    """The leader's log as it was when the term began."""


class Wedged(Struct, frozen=True, array_like=True, tag=2, gc=False):
    """I follow this term, on disk; here is what I have."""

    term: Term
    end: int | None
    """Where my log ends, unrolled; None if it has nothing in common with the leader's."""
    through: int
    stated: bool
    """I have a state, and need none to go on with the log."""
    collection: Collection | None
    """The snapshot that I have parts of."""
    parts: int


class Append(Struct, frozen=True, array_like=True, tag=3, gc=False):
    """The batch that follows the entry of `previous_term` which ends at `previous_end`; NO_TERM where that was so long
    ago that nobody remembers."""

    term: Term
    previous_term: Term
    previous_end: int
    batch: Batch
    committed: int


class Commit(Struct, frozen=True, array_like=True, tag=4, gc=False):
    """The commit point by itself. If it is no news, it is a question: what do you have?"""

    term: Term
    committed: int


class Acknowledge(Struct, frozen=True, array_like=True, tag=5, gc=False):
    """Everything before `through` is on my disk, and on the disks of all to whom I pass it on."""

    term: Term
    end: int
    """Where my log ends, on disk or not."""
    through: int
    committed: int
    """What I know to be committed."""
    missing: bool
    """I was sent something that does not follow: go on from `end`."""


class Estranged(Struct, frozen=True, array_like=True, tag=6, gc=False):
    """I have restarted, and do not know this government yet: send the Wedge again."""

    term: Term


class Refuse(Struct, frozen=True, array_like=True, tag=7, gc=False):
    """I have promised to follow a newer term."""

    term: Term
    newer: Term


class Confirm(Struct, frozen=True, array_like=True, tag=8, gc=False):
    """Do you still follow this term? Asked for all reads that wait."""

    term: Term
    round: int


class Confirmed(Struct, frozen=True, array_like=True, tag=9, gc=False):
    term: Term
    round: int


class Part(Struct, frozen=True, array_like=True, tag=10, gc=False):
    """A part of a snapshot, for a copy whose own log is of no use: it begins anew, and the log follows as batches."""

    term: Term
    collection: Collection
    number: int
    content: bytes


class PartKept(Struct, frozen=True, array_like=True, tag=11, gc=False):
    """So many parts of a snapshot are on my disk."""

    term: Term
    collection: Collection
    parts: int


Message = Append | Acknowledge | Commit | Confirm | Confirmed | Wedge | Wedged | Estranged | Refuse | Part | PartKept
