"""Readers that follow the whole log by bookmarks, page by page, from any member; and go back now and then to a
bookmark that they have kept.

A page takes two steps, between which anything may happen: some node says which buckets there are, by its table; then
members are asked for what comes after the bookmark in some of them. A member shows a bucket only as what it is asked
for: one whose own table has another level for it is of no use. What a bookmark may still need is not dropped from the
disks.
"""

from collections import deque
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from hansard.batch import Batch
from hansard.bookmark import Bookmark, TableBehind
from hansard.distributor.bucket import Bucket as Record
from hansard.participant.sight import visible

if TYPE_CHECKING:
    from .node import Node
    from .world import World

PAGE_US: Final = 150_000
KEPT_MAX: Final = 6
"""Bookmarks to which a reader may go back."""
WITHIN_US: Final = 4_000
"""From one step of a page to the other, at the most."""


class Kept(Struct, frozen=True):
    token: str
    count: int
    """Of the changes that were seen before it."""


class Seen(Struct, frozen=True):
    bucket: int
    """Where it was read; it may have moved to another since."""
    offset: int
    key: bytes | None
    value: bytes | None


class Reader:
    def __init__(self, world: "World", number: int) -> None:
        self.world = world
        self.number = number
        self.seen: list[Seen] = []
        self.bookmark: Bookmark | None = None
        """None until there is a log."""
        self.kept: deque[Kept] = deque(maxlen=KEPT_MAX)

    def hold(self, bucket: int) -> int:
        """What comes from here on in a bucket may be asked for."""
        if self.bookmark is None:
            return 0
        bookmarks = [self.bookmark, *[Bookmark.parse(kept.token) for kept in self.kept]]
        return min([bookmark.offset(bucket) or 0 for bookmark in bookmarks])

    # A page.

    def read(self) -> None:
        world, random = self.world, self.world.random
        if world.producing:
            world.clock.after(PAGE_US + random.randrange(3 * PAGE_US), self.read)
        nodes = [node for node in world.living if _serves(node)]
        if not nodes:
            return
        if self.kept and random.random() < 0.05:
            self._go_back()
        table = self.read_table(random.choice(nodes))
        if table:
            several = random.sample(list(table), random.randint(1, len(table)))
            asked = [(bucket, table[bucket].level) for bucket in several]
            world.clock.after(random.randrange(WITHIN_US), lambda: self._read(asked, random.choice((1, 3, 1000))))

    def _go_back(self) -> None:
        kept = self.world.random.choice(self.kept)
        while self.kept[-1] is not kept:
            self.kept.pop()
        before = self.bookmark
        self.bookmark = Bookmark.parse(kept.token)
        del self.seen[kept.count :]
        assert before is not None
        counts = self.world.coverage.counts
        counts["reader went back"] += 1
        counts["reader went back across a split"] += len(before.offsets) > len(self.bookmark.offsets)

    def read_table(self, node: "Node") -> dict[int, Record]:
        """What the node says there is; the bookmark is of that from here on. Nothing if it is behind."""
        assert node.core is not None
        distributor, counts = node.core.distributor, self.world.coverage.counts
        there = {number: record for number, record in enumerate(distributor.buckets) if record.level}
        before = self.bookmark if self.bookmark is not None else Bookmark(distributor.log, {})
        try:
            self.bookmark = before.split(distributor.log, there)
        except TableBehind:
            counts["reader met an older table"] += 1
            return {}
        counts["bookmark split"] += 0 < len(before.offsets) < len(there)
        self.kept.append(Kept(str(before), len(self.seen)))
        return there

    def _read(self, asked: list[tuple[int, int]], count_max: int) -> None:
        """Of each bucket so many changes at the most."""
        world, random = self.world, self.world.random
        for bucket, level in asked:
            there = [node for node in world.living if _serves(node) and shows(node, bucket, level) is not None]
            older = [node for node in world.living if _serves(node) and _level(node, bucket) not in (level, 0)]
            world.coverage.counts["page asked of another level"] += bool(older)
            if there:
                self.turn_page(random.choice(there), bucket, level, count_max)

    def turn_page(self, node: "Node", bucket: int, level: int, count_max: int) -> None:
        """The next changes of a bucket, as a node shows them."""
        record = shows(node, bucket, level)
        assert record is not None and self.bookmark is not None
        offset, committed = self.bookmark.offsets[bucket], _committed(node, bucket)
        part = node.disk.part(bucket)
        if not part.start <= offset < committed:
            return
        batches = [one for one in _from(part.current.batches, offset) if one.header.base_offset < committed]
        found: list[Seen] = []
        for batch in visible(batches, bucket, record):
            for change in batch.changes():
                if change.offset >= offset and len(found) < count_max:
                    found.append(Seen(bucket, change.offset, change.key, change.value))
                    offset = change.offset + 1
        if len(found) < count_max:
            offset = max(offset, batches[-1].header.end_offset)
        self.seen += found
        self.bookmark = self.bookmark.advanced({bucket: offset})


def _from(batches: list[Batch], offset: int) -> list[Batch]:
    return [batch for batch in batches if batch.header.end_offset > offset]


def _serves(node: "Node") -> bool:
    core = node.core
    return core is not None and not node.paused and core.here.member is not None and bool(core.distributor.buckets)


def _level(node: "Node", bucket: int) -> int:
    assert node.core is not None
    records = node.core.distributor.buckets
    return records[bucket].level if bucket < len(records) else 0


def _committed(node: "Node", bucket: int) -> int:
    assert node.core is not None
    instance = node.core.copies.running[bucket].phaser
    assert instance is not None
    return instance.ledger.committed


def shows(node: "Node", bucket: int, level: int) -> Record | None:
    """What the node's table says of a bucket, if it may show it as that of a level: it is a full member."""
    assert node.core is not None
    if _level(node, bucket) != level:
        return None
    record, running = node.core.distributor.buckets[bucket], node.core.copies.running.get(bucket)
    there = running is not None and running.phaser is not None and node.core.here.member in record.full
    return record if there else None
