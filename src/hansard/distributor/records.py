"""All that the distributor knows: the table of buckets, the places, the orders, the connections; and its image."""

from collections.abc import Iterator
from typing import Final

import msgspec
import xxhash
from msgspec import Struct

from .bucket import Bucket
from .command import Found
from .connections import Connections
from .connections import Image as ConnectionsImage
from .member import Member
from .orders import Orders, Status
from .settings import Settings
from .slots import Image as SlotsImage
from .slots import Slots

NO_SETTINGS: Final = Settings()


class Image(Struct, frozen=True, array_like=True):
    version: int = 0
    rules: int = 1
    settings: Settings = NO_SETTINGS
    founding: Found | None = None
    paused: bool = False
    buckets: tuple[Bucket, ...] = ()
    slots: SlotsImage = SlotsImage()
    orders: tuple[tuple[str, Status], ...] = ()
    connections: ConnectionsImage = ConnectionsImage()


NOTHING: Final = Image()


class Thinned(Struct, frozen=True):
    """A bucket with fewer copies than it should have. One that was moved to fewer by hand is not said to be."""

    bucket: int
    copies: int
    """How many have all of it; none if it is lost."""
    wanted: int


class Records:
    def __init__(self) -> None:
        self.touched: dict[int, None] = {}
        """Buckets whose record has changed since whoever looks at this emptied it."""
        self._set(NOTHING)

    def _set(self, image: Image) -> None:
        self.version = image.version
        """Of the table: it grows with each fact that changes a bucket."""
        self.rules = image.rules
        self.settings = image.settings
        self.founding = image.founding
        """The order to found, until there are enough participants."""
        self.paused = image.paused
        self.buckets: list[Bucket] = list(image.buckets)
        self.slots = Slots(image.slots)
        self.orders = Orders(image.orders)
        self.connections = Connections(image.connections)
        self._changed = False

    def image(self) -> bytes:
        image = Image(
            self.version,
            self.rules,
            self.settings,
            self.founding,
            self.paused,
            tuple(self.buckets),
            self.slots.image(),
            self.orders.image(),
            self.connections.image(),
        )
        return msgspec.msgpack.encode(image) if image != NOTHING else b""

    def restore(self, image: bytes) -> None:
        self._set(msgspec.msgpack.decode(image, type=Image) if image else NOTHING)
        self.touched.clear()
        self.touched.update(dict.fromkeys(range(len(self.buckets))))

    @property
    def hash(self) -> int:
        """Of the whole state: the same at the same index of the same log, everywhere."""
        return xxhash.xxh3_64_intdigest(self.image())

    # Buckets.

    def put(self, number: int, bucket: Bucket) -> None:
        if bucket is not self.buckets[number] and bucket != self.buckets[number]:
            self.buckets[number] = bucket
            self.touched[number] = None
            self._changed = True

    def make(self, count: int) -> None:
        """The first buckets, without anything."""
        assert not self.buckets
        self.buckets = [Bucket() for _ in range(count)]
        self.touched.update(dict.fromkeys(range(count)))
        self._changed = True

    def count_version(self) -> None:
        """At the end of a fact."""
        if self._changed:
            self.version += 1
            self._changed = False

    @property
    def wanted(self) -> int:
        """How many copies a bucket should have: a slot that waits for somebody counts, so that nothing shrinks."""
        return min(self.settings.replication, self.slots.standing)

    @property
    def room(self) -> int:
        """How many more may be on the move."""
        return self.settings.moves_max - sum([1 for bucket in self.buckets if bucket.goal])

    def has_buckets(self, member: Member) -> bool:
        return any(has(bucket, member) for bucket in self.buckets)

    def thinned(self) -> Iterator[Thinned]:
        wanted = self.wanted
        for number, bucket in enumerate(self.buckets):
            copies = 0 if bucket.leader is None else len(bucket.kept)
            if copies < wanted and not bucket.pinned:
                yield Thinned(number, copies, wanted)


def has(bucket: Bucket, member: Member) -> bool:
    """Whether it has something to do with the bucket, or will have."""
    return any(member in those for those in (bucket.members, bucket.newcomers, bucket.full, bucket.goal))
