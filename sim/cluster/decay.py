"""Disks that decay: now and then some entries of a copy cannot be read any more, or nobody can say how it ends.

It is drawn from a generator of its own, and only in worlds that ask for it. What a node is mended with must be what was
there; what is damaged is not handed out; and in the end nothing is damaged any more.
"""

from random import Random
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from hansard.batch import Batch
from hansard.participant.effect import Mend
from hansard.participant.event import Damaged, Event, Loaded, Mended
from hansard.phaser.recovered import decode_note
from sim.oracles import Violation

from .reserve import keeps_data

if TYPE_CHECKING:
    from .disk import Disk
    from .node import Node
    from .world import World

EVERY_US: Final = 1_500_000
SCRUB_US: Final = 3_000_000
PROMISE: Final = "what is damaged is mended with what was there"


class Decay:
    def __init__(self, world: "World") -> None:
        self._world = world
        self._random = Random(f"decay {world.plan.seed}")
        self._number = 0
        self.struck = self.spoiled = self.mended = 0
        world.clock.after(3_000_000, self._strike)
        world.clock.after(SCRUB_US, self._scrub)

    def _scrub(self) -> None:
        """What is damaged is met again, sooner or later, by whoever has restarted since."""
        self._world.clock.after(SCRUB_US, self._scrub)
        for node in self._world.living:
            for bucket in list(node.disk.decayed):
                found = decayed(node.disk, bucket)
                if found is not None:
                    node.happen(_damage(bucket, *found))

    def _strike(self) -> None:
        world = self._world
        if not world.producing:
            return
        world.clock.after(self._random.randrange(EVERY_US), self._strike)
        nodes = [node for node in world.living if node.core is not None and node.core.copies.running]
        if not nodes:
            return
        node = self._random.choice(nodes)
        assert node.core is not None
        bucket = self._random.choice(sorted(node.core.copies.running))
        if not self._another(node, bucket):
            return
        self._number += 1
        if self._random.random() < 0.15 and keeps_data(world, [node.name]):
            node.disk.part(bucket).spoiled = True
            self.spoiled += 1
            node.happen(Damaged(bucket, self._number, 0, None, None))
            return
        batches = node.disk.part(bucket).synced.batches
        if batches and keeps_data(world, [node.name]):
            place = self._random.randrange(len(batches))
            lost = tuple(batches[place : place + self._random.randint(1, 3)])
            node.disk.decayed[bucket] = (self._number, lost)
            self.struck += 1
            node.happen(_damage(bucket, self._number, lost))

    def _another(self, node: "Node", bucket: int) -> bool:
        """Whether a full member besides this one is there and whole, and so is this one."""
        world = self._world
        full = [member.node for member in world.table.distributor.buckets[bucket].full]
        whole = [
            name
            for name in full
            if (other := world.by_name[name]).core is not None
            and bucket in other.core.copies.running
            and bucket not in other.disk.decayed
            and not other.disk.part(bucket).spoiled
        ]
        return node.name in whole and len(whole) > 1


def _damage(bucket: int, number: int, lost: tuple[Batch, ...]) -> Damaged:
    length = sum([batch.length for batch in lost])
    return Damaged(bucket, number, lost[0].header.base_offset, lost[-1].header.end_offset, length)


def decayed(disk: "Disk", bucket: int) -> tuple[int, tuple[Batch, ...]] | None:
    """What of a copy cannot be read, if it is there at all any more."""
    found = disk.decayed.get(bucket)
    if found is None:
        return None
    there = disk.part(bucket).current.batches
    if not all(any(batch is lost for batch in there) for lost in found[1]):
        del disk.decayed[bucket]
        return None
    return found


def readable(disk: "Disk", bucket: int, batches: list[Batch]) -> list[Batch]:
    """As far as they can be read."""
    found = decayed(disk, bucket)
    lost = found[1] if found is not None else ()
    whole: list[Batch] = []
    for batch in batches:
        if any(batch is other for other in lost):
            break
        whole.append(batch)
    return whole


def spoil(disk: "Disk", event: Event) -> Event:
    """What a load comes to, where it has to read what cannot be read."""
    if not isinstance(event, Loaded):
        return event
    bucket, recovered = event.bucket, event.recovered
    if disk.part(bucket).spoiled:
        return Damaged(bucket, -bucket - 1, 0, None, None, event.generation)
    found = decayed(disk, bucket)
    if found is None or not any(batch is lost for batch in recovered.batches for lost in found[1]):
        return event
    runs = decode_note(recovered.note).runs
    return replace(_damage(bucket, *found), generation=event.generation, runs=runs)


def mend(node: "Node", mend: Mend) -> Mended:
    found = decayed(node.disk, mend.bucket)
    if found is not None and found[0] == mend.number:
        if [batch.to_bytes() for batch in mend.batches] != [batch.to_bytes() for batch in found[1]]:
            raise Violation(PROMISE, f"{node.name} is given something else for bucket {mend.bucket}")
        del node.disk.decayed[mend.bucket]
        if node.world.decay is not None:
            node.world.decay.mended += 1
    return Mended(mend.bucket, mend.number, fits=True)
