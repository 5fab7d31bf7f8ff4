"""What the distributor is told, in the order of the log."""

import msgspec
from msgspec import Struct

from .command import Command
from .member import Member


class Copy(Struct, frozen=True, array_like=True, gc=False):
    """A bucket that somebody who arrives has on its disk."""

    bucket: int
    counted: int
    """The last epoch in which this copy was one without which nothing was acknowledged."""
    end: int
    """Of its log."""
    intact: bool
    expanded: int = 0
    """The last epoch in which it was a newcomer and had the expanded government in its log. A leader that restarts may
    go on without that entry, so it says something only if the expansion was reported."""
    level: int = 1
    """The copy's own: it may be of the time before a split, and has what both halves have then."""
    promised: int = 0
    """The last epoch that it has promised to follow. It is deaf to any before."""


def encode(copies: tuple[Copy, ...]) -> bytes:
    return msgspec.msgpack.encode(copies) if copies else b""


def decode(inventory: bytes) -> tuple[Copy, ...]:
    try:
        return msgspec.msgpack.decode(inventory, type=tuple[Copy, ...]) if inventory else ()
    except (msgspec.MsgspecError, ValueError):
        return ()


class Arrived(Struct, frozen=True, gc=False):
    member: Member
    zone: str
    copies: tuple[Copy, ...] = ()


class Moved(Struct, frozen=True, gc=False):
    """The same incarnation, in another zone."""

    member: Member
    zone: str


class Departed(Struct, frozen=True, gc=False):
    member: Member


class Proposed(Struct, frozen=True, gc=False):
    member: Member
    command: Command


class Upgraded(Struct, frozen=True, gc=False):
    rules: int


Fact = Arrived | Moved | Departed | Proposed | Upgraded
