"""What else a client asks for, besides submitting (submission.py), and what it is told.

A frame from a client is a list of requests of any kind; a frame to it a list of answers. Each request gets one answer,
by its id.

    Connect    a connection number                       Connected
    Read       a page of a bucket's log, or to wait      Page, Elsewhere, Gone, or a refusal of submission.py
    Ask        something for operators (admin.py)        Told, Refused
    Table      where the buckets are, or to wait         Tabled
    Import     a batch of another log, as it is          Stored, Repeated, Gap and so on of submission.py
"""

from msgspec import Struct

from hansard.batch import Batch

from . import submission


class Connect(Struct, frozen=True, array_like=True, tag=2, gc=False):
    """A number for a client's stream. A name gets the same one back, until nobody has asked for it for long."""

    id: int
    wait_us: int
    name: str = ""
    broken: int = 0
    """The number that the name had, if a bucket has forgotten that stream: it gets another one."""


class Read(Struct, frozen=True, array_like=True, tag=3, gc=False):
    """What a bucket has from an offset on. Where there is nothing yet, it is waited for.

    Backwards it is read from `end` down to `offset`, and nothing is waited for. Who wants no changes (`changes_max` 0)
    is told where it would begin, so that the offset of a time can be found."""

    id: int
    bucket: int
    offset: int
    wait_us: int
    """How long, if nothing is there; 0: an empty page at once."""
    bytes_max: int = 1 << 20
    changes_max: int = 10_000
    tags: tuple[bytes, ...] = ()
    every: bool = False
    """All of the tags, not any."""
    linear: bool = False
    """Everything must be there that was acknowledged before this came."""
    key: bytes | None = None
    """Changes of this key only."""
    since_us: int = -1
    """Nothing from before this time; microseconds since 1970 as the log has them. -1: whatever the time."""
    until_us: int = -1
    """Nothing from this time on."""
    end: int = -1
    """Nothing from this offset on. -1: up to where the log ends."""
    descending: bool = False


class Ask(Struct, frozen=True, array_like=True, tag=4, gc=False):
    id: int
    question: bytes
    """JSON, as admin.py has it."""


class Table(Struct, frozen=True, array_like=True, tag=5, gc=False):
    """Where the buckets are, as soon as there is a later version of that than the one which is known."""

    id: int
    version: int = -1
    wait_us: int = 0
    """How long, if there is none; 0: what there is, at once."""


class Import(Struct, frozen=True, array_like=True, tag=6, gc=False):
    """While a log is imported, for administrators: a batch of it is to be had as it is. Each bucket is sent all of the
    bucket that it was, or was part of, in order."""

    id: int
    bucket: int
    batch: Batch
    wait_us: int
    buckets: int
    """How many there are here."""
    follows: int
    """Where the batch before it ends; 0 if it is the first."""


Request = submission.Submit | Connect | Read | Ask | Table | Import


class Connected(Struct, frozen=True, array_like=True, tag=32, gc=False):
    id: int
    connection: int
    """0: there was none to be had in that time."""


class Page(Struct, frozen=True, array_like=True, tag=33, gc=False):
    id: int
    batches: list[Batch]
    """In order, the last one first where it is read backwards; changes within a batch rise, and those that were not
    asked for are left out."""
    end: int
    """Every offset before it is settled by this page: go on from here."""
    at_end: bool
    """There is nothing more for now."""
    level: int
    """The bucket has the keys that are its own where there are this many."""
    first: int = 0
    """The page settles every offset from here on; who reads backwards goes on before it."""
    at_start: bool = False
    """Nothing that is retained comes before."""
    closed: bool = False
    """There is nothing more of what was asked for, and there never will be."""


class Elsewhere(Struct, frozen=True, array_like=True, tag=34, gc=False):
    """This participant has no copy of the bucket; that one has."""

    id: int
    node: str
    address: str


class Gone(Struct, frozen=True, array_like=True, tag=35, gc=False):
    """The log begins later by now."""

    id: int
    start: int


class Told(Struct, frozen=True, array_like=True, tag=36, gc=False):
    id: int
    answer: bytes
    """JSON, as admin.py has it."""


class Refused(Struct, frozen=True, array_like=True, tag=37, gc=False):
    """What was asked for cannot be had, and why."""

    id: int
    reason: str


class Whereabouts(Struct, frozen=True, array_like=True, gc=False):
    """Of one bucket. Nodes are said by their places in the list of them."""

    level: int
    """0: it is not split off yet."""
    leader: int
    """-1: nobody leads it now."""
    members: tuple[int, ...]
    """Those who have all of it."""


class Tabled(Struct, frozen=True, array_like=True, tag=38, gc=False):
    id: int
    version: int
    log: str
    """The log's id, as bookmarks have it."""
    nodes: list[tuple[str, str]]
    """Names and addresses of all who take part."""
    buckets: list[Whereabouts]


Answer = submission.Answer | Connected | Page | Elsewhere | Gone | Told | Refused | Tabled
