"""What the bodies of requests and answers look like. The OpenAPI description is made from these types.

A key or a value is bytes. In JSON a string stands for its UTF-8, `{"base64": ...}` for any bytes, and null for none: a
change without a value says that its key is deleted. As a value any other JSON may be sent, and is kept as it was
written. On the way out an object or array comes back as such, any other UTF-8 as a string, and the rest in base64.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from hansard.distributor.settings import Shape

Tag = Annotated[str, Meta(min_length=1, max_length=256, extra_json_schema={"format": "tag"})]
Count = Annotated[int, Meta(ge=0)]
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Seconds = Annotated[float, Meta(ge=0)]
TokenName = Annotated[str, Meta(min_length=1, max_length=63, pattern="^[A-Za-z0-9._-]+$")]
Name = Annotated[str, Meta(min_length=1, max_length=200, extra_json_schema={"format": "name"})]


class Closed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing else may be in it, so that a misspelt name is a mistake and not a default."""


# Changes.


class Base64(Closed, frozen=True, kw_only=True):
    base64: Annotated[str, Meta(extra_json_schema={"format": "byte"})]


class NewChange(Closed, frozen=True, kw_only=True):
    key: Annotated[str, Meta(max_length=32_768)] | Base64 | None = None
    value: Raw = field(default_factory=lambda: Raw(b"null"))
    tags: Annotated[list[Tag], Meta(max_length=64)] = []


NewChanges = Annotated[list[NewChange], Meta(min_length=1, max_length=65_536)]


class Receipt(Closed, frozen=True, kw_only=True):
    """Where a change lies. Of one that was stored before, and so long ago that its place is forgotten, nothing is known
    but that; a token that is limited to tags is told neither bucket nor offset."""

    id: str | None
    bucket: int | None
    offset: int | None
    timestamp: Time | None
    repeated: bool


class Receipts(Closed, frozen=True, kw_only=True):
    receipts: list[Receipt]
    """In the order of the body."""


class Accepted(Closed, frozen=True, kw_only=True):
    accepted: Count


class Change(Closed, frozen=True, kw_only=True):
    id: str
    bucket: int | None
    offset: int | None
    timestamp: Time
    key: str | Base64 | None
    value: Raw
    tags: list[str]
    connection: str | None
    series: int | None
    bookmark: str | UnsetType = UNSET
    """The place after it, if that was asked for."""


class Links(Closed, frozen=True, kw_only=True, omit_defaults=True):
    next: str
    previous: str | UnsetType = UNSET


class Page(Closed, frozen=True, kw_only=True):
    changes: list[Change]
    at_start: bool
    at_end: bool
    bookmark: str
    """Go on from here, with `since` (or, descending, with `until`)."""
    links: Links


class Place(Closed, frozen=True, kw_only=True):
    bookmark: str


class NewConnection(Closed, frozen=True, kw_only=True):
    name: Name | None = None
    broken: Annotated[str, Meta(extra_json_schema={"format": "connection"})] | None = None
    """The connection that this name had, if the cluster says that its stream is broken."""


class Connection(Closed, frozen=True, kw_only=True):
    connection: str
    """For the header Hansard-Connection."""
    series_first: int
    series_last: int
    name: str | None
    lanes: int
    """So many requests of this connection may be under way at the same time without Hansard-Previous: one for the keys
    of each remainder of their hash (XXH64, seed 42) by this number, or by a smaller power of two."""


# The cluster.


class Participant(Closed, frozen=True, kw_only=True):
    node: str
    address: str
    incarnation: int
    zone: str


class Atomic(Closed, frozen=True, kw_only=True):
    role: str
    leader: str | None
    term: int
    committed: int
    synced: int
    end: int
    voters: list[str]


class Cluster(Closed, frozen=True, kw_only=True):
    id: str
    log: str
    node: str
    incarnation: int | None
    version: int
    atomic: Atomic
    participants: list[Participant]
    buckets: int
    states: dict[str, int]
    thinned: list[int]
    lost: list[int]
    paused: bool
    drained: list[str]


class Participants(Closed, frozen=True, kw_only=True):
    participants: list[Participant]


class Government(Closed, frozen=True, kw_only=True):
    bucket: int
    state: Literal["idle", "steady", "expanding", "switching", "lost"]
    level: int
    epoch: int
    opened: int
    leader: str | None
    address: str | None
    members: list[str]
    newcomers: list[str]
    full: list[str]


class Settings(Closed, frozen=True, kw_only=True):
    replication: int
    shape: Shape
    moves_max: int
    spares: int
    memory_us: int
    retain_age_us: int
    retain_bytes: int
    retain_changes: int


class Table(Closed, frozen=True, kw_only=True):
    version: int
    log: str
    settings: Settings
    buckets: list[Government]


class Copy(Closed, frozen=True, kw_only=True):
    """A bucket as this participant has it."""

    start: int
    committed: int
    synced: int
    end: int
    leads: bool
    backlog: int


class Bucket(Closed, frozen=True, kw_only=True):
    government: Government
    here: Copy | None


class Health(Closed, frozen=True, kw_only=True):
    live: bool
    ready: bool
    marked_down: bool
    reason: str


class Down(Closed, frozen=True, kw_only=True):
    down: bool


# Orders.


class Drain(Closed, frozen=True, kw_only=True, tag="drain"):
    node: Name


class Undrain(Closed, frozen=True, kw_only=True, tag="undrain"):
    node: Name


class Move(Closed, frozen=True, kw_only=True, tag="move"):
    bucket: Annotated[int, Meta(ge=0, lt=4096)]
    nodes: Annotated[list[Name], Meta(min_length=1, max_length=5)]


class Release(Closed, frozen=True, kw_only=True, tag="release"):
    bucket: Annotated[int, Meta(ge=0, lt=4096)]


class Double(Closed, frozen=True, kw_only=True, tag="double"):
    to: Annotated[int, Meta(ge=1, le=4096)]


class Pause(Closed, frozen=True, kw_only=True, tag="pause"):
    pass


class Resume(Closed, frozen=True, kw_only=True, tag="resume"):
    pass


class Guard(Closed, frozen=True, kw_only=True, tag="guard"):
    """Whether tokens are needed from now on."""

    open: bool


Limit = Annotated[int, Meta(ge=0, le=1 << 62)]


class Changed(Closed, frozen=True, kw_only=True, omit_defaults=True):
    """What is given is changed, and the rest stays."""

    replication: Annotated[int, Meta(ge=1, le=5)] | UnsetType = UNSET
    shape: Shape | UnsetType = UNSET
    moves_max: Annotated[int, Meta(ge=1, le=1024)] | UnsetType = UNSET
    spares: Annotated[int, Meta(ge=0, le=64)] | UnsetType = UNSET
    retain_age_us: Limit | UnsetType = UNSET
    retain_bytes: Limit | UnsetType = UNSET
    retain_changes: Limit | UnsetType = UNSET


class Configure(Changed, frozen=True, kw_only=True, tag="configure"):
    pass


class NewOrder(Closed, frozen=True, kw_only=True):
    id: Name | None = None
    """The same id again gives no second order, and tells what became of the first."""
    wish: Drain | Undrain | Move | Release | Double | Pause | Resume | Configure | Guard


class Order(Closed, frozen=True, kw_only=True):
    id: str
    standing: Literal["done", "running", "refused", "dropped"]
    remark: str
    remaining: int
    wish: dict[str, Any]


# Holds and tokens.


class Hold(Closed, frozen=True, kw_only=True):
    name: str
    offsets: dict[str, int]
    asked_us: int
    expires_us: int


class Holds(Closed, frozen=True, kw_only=True):
    holds: list[Hold]
    retained: dict[str, int]


class Layer(Closed, frozen=True, kw_only=True):
    """Parquet files: the latest change of each key that is in it. What a later layer says of a key counts."""

    path: str
    """A folder below the checkpoint's location."""
    rows: Count
    deleted: Count
    """So many of the rows say that a key is deleted."""
    bytes: Count
    digest: str


class Checkpoint(Closed, frozen=True, kw_only=True):
    number: Count
    time: Time
    bookmark: str
    """To follow from: everything before it is in the checkpoint."""
    location: str
    layers: list[Layer]
    """The oldest first."""
    who: str | None


class Building(Closed, frozen=True, kw_only=True):
    """Somebody makes the next one, or has died over it: after `until` another one may."""

    since: Time
    until: Time
    who: str | None


class Checkpoints(Closed, frozen=True, kw_only=True):
    tags: list[str]
    match: Literal["any", "all"]
    checkpoints: list[Checkpoint]
    building: Building | None


class NewHold(Closed, frozen=True, kw_only=True):
    bookmark: Annotated[str, Meta(extra_json_schema={"format": "bookmark"})]
    lasts_s: Annotated[float, Meta(ge=1, le=31_536_000)]


class Held(Closed, frozen=True, kw_only=True):
    name: str
    expires_us: int


class Rates(Closed, frozen=True, kw_only=True):
    """At each participant; 0 is no limit."""

    changes_per_s: Annotated[int, Meta(ge=0, le=1 << 40)] = 0
    bytes_per_s: Annotated[int, Meta(ge=0, le=1 << 40)] = 0


class NewToken(Closed, frozen=True, kw_only=True):
    """Limited to tags if it has any, or prefixes of them."""

    name: TokenName
    scopes: Annotated[list[Literal["submit", "read", "admin"]], Meta(min_length=1, max_length=3)]
    tags: Annotated[list[Tag], Meta(max_length=64)] = field(default_factory=list)
    prefixes: Annotated[list[Tag], Meta(max_length=64)] = field(default_factory=list)
    expires_s: Annotated[float, Meta(gt=0, le=300_000_000)] | None = None
    rates: Rates = Rates()


class Granted(Closed, frozen=True, kw_only=True):
    name: str
    token: str
    """It is told this once."""
    expires_us: int | None


class Token(Closed, frozen=True, kw_only=True):
    name: str
    id: str
    scopes: list[str]
    tags: list[str]
    prefixes: list[str]
    rates: Rates
    granted_us: int
    expires_us: int | None


class Tokens(Closed, frozen=True, kw_only=True):
    open: bool
    tokens: list[Token]


class Nothing(Closed, frozen=True, kw_only=True):
    pass
