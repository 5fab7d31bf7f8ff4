"""All that the distributor knows: the table of buckets, places, orders, connections, holds, tokens; and its image."""

from collections.abc import Iterator
from typing import Final

import msgspec
import xxhash
from msgspec import Struct
from msgspec.structs import asdict

from .bucket import Bucket, State
from .census import Census
from .command import Found
from .connections import Connections
from .connections import Image as ConnectionsImage
from .holds import Holds
from .holds import Image as HoldsImage
from .member import Member, Node
from .orders import Orders, Status
from .settings import Settings
from .slots import Image as SlotsImage
from .slots import Slots
from .tokens import Image as TokensImage
from .tokens import Tokens

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
    log: str = ""
    importing: bool = False
    ends: tuple[int, ...] = ()
    retiring: tuple[Member, ...] = ()
    holds: HoldsImage = HoldsImage()


class FullImage(Image, frozen=True, array_like=True):
    """Of a cluster with tokens. Without any the image is what it was before there were such."""

    tokens: TokensImage = TokensImage()


NO_TOKENS: Final = TokensImage()
NOTHING: Final = Image()


class Thinned(Struct, frozen=True):
    """A bucket with fewer copies than it should have. One that was moved to fewer by hand is not said to be."""

    bucket: int
    copies: int
    """How many have all of it; none if it is lost."""
    wanted: int


class Lost(Struct, frozen=True):
    """A bucket that nobody has who is there."""

    bucket: int
    opened: int
    """The epoch in which, or after which, a copy must have counted to bring it back."""
    nodes: tuple[Node, ...]
    """Who had everything when it was lost."""


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
        self.census = Census(self.buckets)
        self.slots = Slots(image.slots)
        self.orders = Orders(image.orders)
        self.connections = Connections(image.connections)
        self.holds = Holds(image.holds)
        self.tokens = Tokens(image.tokens if isinstance(image, FullImage) else None)
        self.log = image.log
        """Its id; empty until it is founded."""
        self.importing = image.importing
        """Nothing opens before all of it is there."""
        self.ends = image.ends
        """Where the log of each bucket ended that was imported; empty if it was not, or still is."""
        self.retiring: dict[Member, None] = dict.fromkeys(image.retiring)
        """Who is about to stop, and leads nothing that others can lead."""
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
            self.log,
            self.importing,
            self.ends,
            tuple(self.retiring),
            self.holds.image(),
        )
        tokens = self.tokens.image()
        whole = image if tokens == NO_TOKENS else FullImage(**asdict(image), tokens=tokens)
        return msgspec.msgpack.encode(whole) if whole != NOTHING else b""

    def restore(self, image: bytes) -> None:
        self._set(msgspec.msgpack.decode(image, type=FullImage) if image else NOTHING)
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
            self.census.note(number, bucket)
            self.touched[number] = None
            self._changed = True

    def make(self, founding: Found) -> None:
        """The first buckets, without anything."""
        assert not self.buckets
        self.log, self.importing = founding.log, founding.importing
        self._add([Bucket(level=founding.buckets)] * founding.buckets)

    def extend(self) -> None:
        """To twice as many. They are idle until they are split off."""
        self._add([Bucket()] * len(self.buckets))

    def _add(self, buckets: list[Bucket]) -> None:
        count = len(self.buckets)
        self.buckets += buckets
        self.census = Census(self.buckets)
        self.touched.update(dict.fromkeys(range(count, len(self.buckets))))
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
        """How many more may be on the move, or split: two halves count as one."""
        return self.settings.moves_max - len(self.census.moving) - self._splits

    @property
    def _splits(self) -> int:
        """How many are under way."""
        half, led = len(self.buckets) // 2, [n for n in self.census.splitting if self.buckets[n].leader is not None]
        return len(dict.fromkeys([number % half for number in led]))

    @property
    def doubling(self) -> bool:
        """There is something to split, or a split is under way. What waits for a lost bucket waits for nobody else."""
        return self._splits > 0 or any(self.buckets[number].leader is not None for number in self.whole)

    @property
    def whole(self) -> list[int]:
        """Those that are still to be split."""
        half = len(self.buckets) // 2
        return sorted([number - half for number in self.census.idle])

    def precious(self, number: int) -> bool:
        """There may be something in it that must not be lost: it has opened, or was imported."""
        bucket = self.buckets[number]
        return bucket.opened > 0 or (bucket.epoch > 0 and (self.importing or any(self.ends[number : number + 1])))

    @property
    def connecting(self) -> bool:
        """Whether connection numbers are given out: not before it is known which are an imported log's."""
        return bool(self.buckets) and not self.importing

    def home(self, hash: int) -> int:
        """The bucket of a key, by its hash: as long as that one is idle it is in the one that will be split."""
        mask = len(self.buckets) - 1
        while self.buckets[hash & mask].level == 0:
            assert mask > 0, "nobody has it"
            mask >>= 1
        return hash & mask

    def has_buckets(self, member: Member) -> bool:
        return any(has(bucket, member) for bucket in self.buckets)

    def thinned(self) -> Iterator[Thinned]:
        wanted = self.wanted
        for number, bucket in enumerate(self.buckets):
            copies = 0 if bucket.leader is None else len(bucket.kept)
            if copies < wanted and not bucket.pinned and bucket.level:
                yield Thinned(number, copies, wanted)

    def lost(self) -> Iterator[Lost]:
        for number, bucket in enumerate(self.buckets):
            if bucket.state is State.LOST and self.precious(number):
                yield Lost(number, bucket.opened, tuple([member.node for member in bucket.full]))


def has(bucket: Bucket, member: Member) -> bool:
    """Whether it has something to do with the bucket, or will have."""
    return any(member in those for those in (bucket.members, bucket.newcomers, bucket.full, bucket.goal))
