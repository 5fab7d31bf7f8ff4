"""Each change is in the bucket that has its key, and nowhere else: once, however its bucket was split since, and in the
order in which its client submitted it. What a bucket has written since it was split is all its own."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.batch import Batch, Flag, bucket_mask
from hansard.participant.sight import visible
from hansard.phaser import effect as phaser
from hansard.phaser import event
from hansard.phaser.government import epoch_of
from hansard.phaser.outcome import Outcome

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.cluster.bucket import Bucket, Copy
    from sim.cluster.world import World


class OwnKeys(Oracle):
    promise = "each change is once in the bucket that has its key"

    def __init__(self) -> None:
        self._looked: dict[int, int] = {}
        """Up to where each bucket was looked at."""
        self.acknowledged: dict[bytes, None] = {}

    def bucket_turned(self, copy: "Copy", events: Sequence[event.Event], effects: Sequence[phaser.Effect]) -> None:
        if not copy.world.record.level:
            raise self.broken(f"{copy.name} runs bucket {copy.world.number}, which is idle")

    def shown(self, copy: "Copy", batches: Sequence[Batch]) -> None:
        bucket = copy.world
        looked = self._looked.get(bucket.number, 0)
        for batch in batches:
            header = batch.header
            if header.base_offset < looked:
                continue
            looked = header.end_offset
            epoch = epoch_of(header.epoch)
            if header.flags & Flag.INTERNAL or (bucket.split_off and epoch < bucket.births[0].epoch):
                continue
            level = bucket.level_in(epoch)
            if not bucket_mask(batch, bucket.number, level).all():
                keys = batch.keys()
                raise self.broken(f"{copy.name} has {keys} in epoch {epoch} of bucket {bucket.number} of {level}")
        self._looked[bucket.number] = looked

    def acknowledges(self, copy: "Copy", number: int, outcome: Outcome, batch: Batch, came_us: int) -> None:
        self.acknowledged.update(dict.fromkeys([value for value in batch.values() if value is not None]))

    def finish(self, world: "World") -> None:
        places: dict[bytes, int] = {}
        clients = {b"%d" % client.number for client in world.clients}
        for bucket in world.buckets:
            serials: dict[tuple[bytes, bytes], int] = {}
            for key, value in contents(bucket):
                if value in places:
                    raise self.broken(f"{value!r} is in bucket {places[value]} and in {bucket.number}")
                places[value] = bucket.number
                client, _, serial = value.partition(b":")
                if client in clients and int(serial) <= serials.get((client, key), 0):
                    raise self.broken(f"{value!r} comes after {serials[client, key]} in {key!r}")
                serials[client, key] = int(serial)
        lost = [value for value in self.acknowledged if value not in places]
        if lost:
            raise self.broken(f"{lost} were acknowledged, and are in no bucket that has their keys")
        for stranger in [stranger for bucket in world.buckets for stranger in bucket.strangers]:
            stored = sorted(stranger.refused & places.keys())
            if stored:
                raise self.broken(f"{stored} were refused for certain, and are stored")


def contents(bucket: "Bucket") -> list[tuple[bytes, bytes]]:
    """All that a reader of the bucket may see, in its order: keys and values."""
    batches = visible(bucket.sequence.batches, bucket.number, bucket.record)
    return [(key, value) for batch in batches for key, value in zip(batch.keys(), batch.values(), strict=True)]  # type: ignore[misc]
