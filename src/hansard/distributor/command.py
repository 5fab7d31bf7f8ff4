"""What participants propose to the log for the distributor to look at.

Each is safe to be there twice: a report names the epoch that it is about, an order has a name and is carried out once,
a grant has its proposer's number. What does not fit the state any more changes nothing.
"""

from enum import StrEnum

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from .entitlement import Entitlement
from .member import Node
from .settings import Keep, Settings, Shape


class Achievement(StrEnum):
    OPENED = "opened"
    """All members follow the new government, and have all that its leader had."""
    EXPANDED = "expanded"
    """The newcomers have everything, and count."""


class Report(Struct, frozen=True, array_like=True, gc=False):
    """By the leader of a bucket. Nothing comes of it unless this is the bucket's newest epoch."""

    bucket: int
    epoch: int
    achievement: Achievement


class Reports(Struct, frozen=True, tag="reports"):
    reports: tuple[Report, ...]


class Grant(Struct, frozen=True, tag="grant"):
    """Connection numbers for the clients of one participant."""

    number: int
    """The proposer's own: by it the proposer knows its answer."""
    count: int


class Names(Struct, frozen=True, tag="names"):
    """A connection number for each name: the same one until it expires, and from here on again."""

    names: tuple[tuple[str, int], ...]
    """Each with the number that it had, if a bucket has forgotten that one's stream: it gets another; else 0."""
    wall_us: int
    """The proposer's idea of the cluster's time."""


class Resign(Struct, frozen=True, tag="resign"):
    """By a participant, of itself: it is about to stop, and others are to lead what it leads. Or it stays."""

    going: bool


class Hold(Struct, frozen=True, tag="hold"):
    """Keep everything from this place on, for so long; the same name again moves and renews it (holds.py)."""

    name: str
    offsets: dict[int, int]
    """Of buckets, as a bookmark has them."""
    lasts_us: int
    wall_us: int
    """The proposer's idea of the cluster's time."""


class LetGo(Struct, frozen=True, tag="let go"):
    """A hold is not needed any more."""

    name: str
    wall_us: int


class Retire(Struct, frozen=True, tag="retire"):
    """By the leader of some buckets: by the settings, what each has before this offset need not be kept."""

    floors: tuple[tuple[int, int], ...]
    keep: Keep
    """Those settings. Under others nothing comes of it."""
    wall_us: int


# Orders: what operators want. Each has an id, so that it is carried out once, and its status can be asked for.


class Found(Struct, frozen=True, tag="found"):
    """The first order: how many buckets there are. They are placed as soon as so many participants are there."""

    buckets: int
    settings: Settings = Settings()
    participants: int = 1
    log: str = ""
    """The log's id. An import keeps the one that the log had."""
    importing: bool = False
    """Nothing opens before the order to finish: what is in the buckets comes from another cluster."""
    open: bool | UnsetType = UNSET
    """False: whoever comes needs a token, and one for admin is there already. Where it is not said it is open."""


class Drain(Struct, frozen=True, tag="drain"):
    """Move everything away from a participant, leads first. It stays drained, whatever becomes of it, until it is
    undrained."""

    node: Node


class Undrain(Struct, frozen=True, tag="undrain"):
    node: Node


class Move(Struct, frozen=True, tag="move"):
    """Have a bucket at these participants, the first of them as its leader. It is not moved again by rebalancing until
    it is released, or one of them departs."""

    bucket: int
    nodes: tuple[Node, ...]


class Release(Struct, frozen=True, tag="release"):
    """A bucket that was moved by hand is like all others again."""

    bucket: int


class Double(Struct, frozen=True, tag="double"):
    """Have so many buckets, by splitting each in two, and again if need be. It cannot be undone."""

    to: int


class Finish(Struct, frozen=True, tag="finish"):
    """All is imported; the buckets may open."""

    connections: int
    """Numbers are given out from here on: those below are the imported log's."""
    ends: tuple[int, ...]
    """Where the log of each bucket ends; one that ends before does not open."""


class Pause(Struct, frozen=True, tag="pause"):
    """No rebalancing from here on. Recovery, drains, doublings and moves by hand go on."""


class Resume(Struct, frozen=True, tag="resume"):
    pass


class Configure(Struct, frozen=True, tag="configure"):
    """Change what is given, leave the rest."""

    replication: int | None = None
    shape: Shape | None = None
    moves_max: int | None = None
    spares: int | None = None
    retain_age_us: int | None = None
    retain_bytes: int | None = None
    retain_changes: int | None = None


class Guard(Struct, frozen=True, tag="guard"):
    """Whether everybody may come in, or only who has a token."""

    open: bool


Wish = Found | Double | Finish | Drain | Undrain | Move | Release | Pause | Resume | Configure | Guard


# Who may do what (tokens.py). A participant makes these for an operator, who never sees or says them as they are.


class GrantToken(Struct, frozen=True, tag="grant token"):
    """The same name again puts this one in the place of the one before."""

    name: str
    id: str
    digest: bytes
    """SHA-256 of the token's secret, which is nowhere in the log."""
    allows: Entitlement
    lasts_us: int
    """0: for ever."""
    wall_us: int
    """The proposer's idea of the cluster's time."""

    def __repr__(self) -> str:
        return f"<GrantToken {self.name} {self.id} {self.allows}>"


class RevokeToken(Struct, frozen=True, tag="revoke token"):
    name: str
    wall_us: int


class Seal(Struct, frozen=True, tag="seal"):
    """The cluster's own key. The first one counts."""

    key: bytes

    def __repr__(self) -> str:
        return "<Seal>"


Entitling = GrantToken | RevokeToken | Seal


class Order(Struct, frozen=True, tag="order"):
    id: str
    wish: Wish | Entitling


def discreet(wish: Wish | Entitling) -> Wish | Entitling:
    """As it is remembered, and told to whoever asks what has become of it."""
    match wish:
        case GrantToken():
            return replace(wish, digest=b"")
        case Seal():
            return Seal(b"")
        case _:
            return wish


Command = Reports | Grant | Names | Hold | LetGo | Retire | Resign | Order


def encode(command: Command) -> bytes:
    return msgspec.msgpack.encode(command)


def decode(content: bytes) -> Command | None:
    """None if it is not one that these rules know."""
    try:
        command: Command = msgspec.msgpack.decode(content, type=Command)
        return command
    except (msgspec.MsgspecError, ValueError):  # the latter where bytes are no text
        return None
