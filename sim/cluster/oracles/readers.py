"""Whoever follows the log by bookmarks sees every change once, and those of a key in the order in which they are
stored: whatever is moved or split between two pages, and however old the bookmark is."""

from typing import TYPE_CHECKING

from sim.cluster.reader import Reader, shows

from .halves import contents
from .oracle import Oracle

if TYPE_CHECKING:
    from sim.cluster.world import World


class SeenOnce(Oracle):
    promise = "a reader sees everything once, and in order"

    def finish(self, world: "World") -> None:
        stored: dict[bytes, list[bytes]] = {}
        for bucket in world.buckets:
            for key, value in contents(bucket):
                stored.setdefault(key, []).append(value)
        for reader in world.readers:
            self._read_on(reader)
            seen: dict[bytes, list[bytes]] = {}
            for one in reader.seen:
                assert one.key is not None and one.value is not None
                seen.setdefault(one.key, []).append(one.value)
            for key in {**stored, **seen}:
                if seen.get(key) != stored.get(key):
                    raise self.broken(f"reader {reader.number} has seen {seen.get(key)} of {key!r}: {stored.get(key)}")
            world.coverage.counts["changes read"] += len(reader.seen)

    def _read_on(self, reader: Reader) -> None:
        """To the end."""
        world = reader.world
        reader.read_table(world.random.choice(world.living))
        for number, record in enumerate(world.table.distributor.buckets):
            there = [world.by_name[member.node] for member in record.full]
            node = world.random.choice(there)
            if shows(node, number, record.level) is None:
                raise self.broken(f"{node.name} does not show bucket {number}")
            reader.turn_page(node, number, record.level, 1 << 40)
