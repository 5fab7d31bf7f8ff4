"""The first frame of each side: who it is, and which versions of the protocol it speaks.

Both send their Hello at once, without waiting for the other's. The version is the highest that both speak. The Hello
itself never changes but by fields added at its end, so that any two sides can at least tell why they cannot talk.
"""

from enum import IntEnum
from typing import Final

import msgspec
from msgspec import Struct

from .errors import MalformedFrame, NoCommonVersion, WrongCluster
from .frame import Buffer, Frame, pack

MAGIC: Final = "hansard"
VERSION_MIN: Final = 1
VERSION_MAX: Final = 1
HELLO_BYTES_MAX: Final = 4096
"""More is not taken from somebody who has not said who it is."""


class Role(IntEnum):
    CLIENT = 1
    PARTICIPANT = 2


class Hello(Struct, frozen=True, array_like=True):
    role: Role
    cluster: str = ""
    """The cluster's id; a client that does not know it yet says nothing."""
    node: str = ""
    """The participant's own name."""
    magic: str = MAGIC
    version_min: int = VERSION_MIN
    version_max: int = VERSION_MAX
    token: str = ""
    """A client's, where the cluster takes none without."""

    def __repr__(self) -> str:
        shown = ", with a token" if self.token else ""
        versions = f"{self.version_min}..{self.version_max}"
        return f"<Hello {self.role.name} {self.node!r} of {self.cluster!r}, {self.magic} {versions}{shown}>"


def greeting(hello: Hello) -> list[Buffer]:
    return pack(msgspec.msgpack.encode(hello), ())


def understood(frame: Frame) -> Hello:
    """The other side's Hello."""
    try:
        hello = msgspec.msgpack.decode(frame.header, type=Hello)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedFrame(f"the other side does not begin with a Hello: {error}") from error
    if hello.magic != MAGIC or frame.payload:
        raise MalformedFrame("the other side speaks another protocol")
    return hello


def agreed_version(ours: Hello, theirs: Hello) -> int:
    """The highest version that both speak. Raises where the two sides should not talk at all."""
    version = min(ours.version_max, theirs.version_max)
    if version < max(ours.version_min, theirs.version_min):
        raise NoCommonVersion((ours.version_min, ours.version_max), (theirs.version_min, theirs.version_max))
    if ours.cluster and theirs.cluster and ours.cluster != theirs.cluster:
        raise WrongCluster(ours.cluster, theirs.cluster)
    return version
