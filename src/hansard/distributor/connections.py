"""The numbers of clients' connections: each is given out once.

A participant gets a range of them for its own clients. A *named* connection gets the same number back, until nobody has
asked for it for twice as long as the buckets remember it: a name must not outlive what they know of its series the
wrong way round.
"""

from collections import OrderedDict
from typing import Final

from msgspec import Struct

from .command import Grant, Names
from .member import Member, Node

NAMES_MAX: Final = 200_000
NAME_BYTES_MAX: Final = 200
GRANT_MAX: Final = 1 << 16


class Range(Struct, frozen=True, array_like=True, gc=False):
    """What a participant was granted last."""

    incarnation: int
    number: int
    """Of the grant, as its proposer counts."""
    first: int
    end: int


class Named(Struct, frozen=True, array_like=True, gc=False):
    connection: int
    used_us: int
    """When it was last asked for, by the log."""


class Image(Struct, frozen=True, array_like=True):
    next: int = 1
    wall_us: int = 0
    ranges: tuple[tuple[Node, Range], ...] = ()
    names: tuple[tuple[str, Named], ...] = ()


class Connections:
    def __init__(self, image: Image | None = None) -> None:
        image = image or Image()
        self.next = image.next
        self.wall_us = image.wall_us
        """The latest time that the log has seen. It only grows."""
        self.ranges: dict[Node, Range] = dict(image.ranges)
        self.names: OrderedDict[str, Named] = OrderedDict(image.names)
        """Those that were asked for longest ago first."""
        self._name_of = {named.connection: name for name, named in image.names}

    def name_of(self, connection: int) -> str:
        """Empty if it has none."""
        return self._name_of.get(connection, "")

    def image(self) -> Image:
        return Image(self.next, self.wall_us, tuple(self.ranges.items()), tuple(self.names.items()))

    def grant(self, member: Member, grant: Grant) -> None:
        count = min(max(grant.count, 1), GRANT_MAX)
        self.ranges[member.node] = Range(member.incarnation, grant.number, self.next, self.next + count)
        self.next += count

    def begin_at(self, number: int) -> None:
        """Those before are somebody else's."""
        self.next = max(self.next, number)

    def forget(self, member: Member) -> None:
        """It has departed: what is left of its range is of no use to anybody."""
        self.ranges.pop(member.node, None)

    def name(self, names: Names, memory_us: int) -> None:
        """Nothing comes of a name when there are too many: whoever asked does not find it."""
        self.wall_us = max(self.wall_us, names.wall_us)
        self._expire(memory_us)
        for name, broken in names.names:
            known = self.names.get(name)
            if known is not None and known.connection == broken:
                del self.names[name], self._name_of[known.connection]
                known = None
            if known is None:
                if len(self.names) >= NAMES_MAX or not 0 < len(name.encode()) <= NAME_BYTES_MAX:
                    continue
                known = Named(self.next, 0)
                self.next += 1
                self._name_of[known.connection] = name
            self.names[name] = Named(known.connection, self.wall_us)
            self.names.move_to_end(name)

    def _expire(self, memory_us: int) -> None:
        while self.names:
            name, named = next(iter(self.names.items()))
            if named.used_us >= self.wall_us - 2 * memory_us:
                return
            del self.names[name]
            del self._name_of[named.connection]
