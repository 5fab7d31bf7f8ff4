"""What is dropped need not be kept, by the settings and in the cluster's time, and is held by nobody.

Where no more than two voters' clocks are heard, and one of them is days ahead, nobody can say which one is wrong (see
stamps.py): if the log's time leaps then, holds may be over and changes old.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from hansard.consensus.content import Council, Entry, Fact, Proposed
from hansard.distributor.bucket import Bucket as Record
from hansard.distributor.command import Hold, LetGo, Retire, decode
from sim.cluster.node import WALL_US
from sim.cluster.plan import HOUR_US

from .oracle import Oracle
from .stamps import Stamps

if TYPE_CHECKING:
    from sim.cluster.node import Node
    from sim.cluster.world import World

AHEAD_US: Final = 2_000_000


class KeptWhatIsHeld(Oracle):
    promise = "what is held or to be kept is not dropped"

    def __init__(self, stamps: Stamps) -> None:
        self._stamps = stamps
        self._floors: dict[int, int] = {}
        self._voters = self._fewest = 1
        """How many vote, and the least since the time was said last."""

    def committed(self, world: "World", index: int, entry: Entry, fact: Fact | None, before: Sequence[Record]) -> None:
        if isinstance(entry.content, Council):
            self._voters = len(entry.content.voters)
            self._fewest = min(self._fewest, self._voters)
        command = decode(fact.content) if isinstance(fact, Proposed) else None
        if isinstance(command, Hold | LetGo | Retire):
            self._look_at_time(world, command.wall_us)
        table = world.table.distributor
        if isinstance(command, Retire):
            for bucket, floor in table.holds.floors.items():
                if floor > self._floors.get(bucket, 0):
                    self._rose(world, bucket, floor)
        self._floors = dict(table.holds.floors)

    def _look_at_time(self, world: "World", wall_us: int) -> None:
        """What was proposed long ago may be late, and while few are heard the earlier one of two clocks is believed;
        nothing is ahead of its time."""
        off_us = wall_us - WALL_US - world.clock.now_us
        if off_us > AHEAD_US and self._fewest > 2 and not self._stamps.undecided(world):
            raise self.broken(f"by the log it is {off_us} us later than it is")
        if not -HOUR_US < off_us < AHEAD_US:
            world.leapt = True
        self._fewest = self._voters

    def _rose(self, world: "World", bucket: int, floor: int) -> None:
        keep, counts = world.table.distributor.settings.keep, world.coverage.counts
        counts["floor raised"] += 1
        counts["floor of a half raised"] += bool(world.table.distributor.buckets[bucket].born)
        for holder in world.holders:
            place = holder.holds(bucket)
            if place is not None and place < floor:
                raise self.broken(f"bucket {bucket} may be dropped up to {floor}; {holder.name} holds it from {place}")
            counts["floor stopped by a hold"] += place == floor
        batches = [batch for batch in world.buckets[bucket].sequence.batches if batch.header.base_offset >= floor]
        changes, byte_count = sum([one.header.change_count for one in batches]), sum([one.length for one in batches])
        enough = (keep.change_count and changes >= keep.change_count) or (
            keep.byte_count and byte_count >= keep.byte_count
        )
        old = keep.age_us and world.clock.now_us > HOUR_US
        if not enough and not old and not world.leapt:
            raise self.broken(f"bucket {bucket} may be dropped up to {floor}: {changes} changes are left, of {keep}")

    def dropped(self, node: "Node", bucket: int, start: int) -> None:
        world = node.world
        world.coverage.counts["dropped by retention"] += 1
        floor = world.table.distributor.holds.floor(bucket)
        if start > floor:
            raise self.broken(f"{node.name} has dropped bucket {bucket} up to {start}, and its floor is {floor}")
        for holder in world.holders:
            place = holder.holds(bucket)
            if place is not None and place < start:
                raise self.broken(f"{node.name} has dropped bucket {bucket} to {start}; {holder.name} holds {place}")

    def finish(self, world: "World") -> None:
        for number, record in enumerate(world.table.distributor.buckets if world.holders else ()):
            for member in record.full:
                start = world.by_name[member.node].disk.part(number).start
                for holder in world.holders:
                    place = holder.holds(number)
                    if place is not None and place < start:
                        raise self.broken(f"bucket {number} begins at {start} in {member}; {holder.name} holds {place}")
