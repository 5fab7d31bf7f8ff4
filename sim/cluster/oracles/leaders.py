"""Each epoch of a bucket has one leader that acknowledges, and a deposed one takes nothing any more: what is given to
it after a later government has opened it never calls stored. (What it was given before may still be acknowledged: the
members had it before they promised to follow the later one, so that one has it too.)

So for keys: whoever leads a bucket in an epoch before it was split takes nothing any more when either half has opened.
And no half takes what is another's, at any moment."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.batch import Batch, bucket_mask
from hansard.consensus.content import Entry, Fact
from hansard.distributor.bucket import Bucket as Record
from hansard.phaser.outcome import Outcome, Stored

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.cluster.bucket import Copy
    from sim.cluster.world import World


class OneAcknowledges(Oracle):
    promise = "one leader acknowledges in each epoch, and no deposed one"

    def __init__(self) -> None:
        self.leaders: dict[tuple[int, int], str] = {}
        """By bucket and epoch."""
        self.opened: dict[int, list[tuple[int, int]]] = {}
        """Of each bucket the epochs that have opened, and when that was in the log."""

    def committed(self, world: "World", index: int, entry: Entry, fact: Fact | None, before: Sequence[Record]) -> None:
        for number, (old, new) in enumerate(zip(before, world.table.distributor.buckets, strict=False)):
            if new.opened != old.opened:
                self.opened.setdefault(number, []).append((new.opened, world.clock.now_us))

    def acknowledges(self, copy: "Copy", number: int, outcome: Outcome, batch: Batch, came_us: int) -> None:
        bucket, phaser = copy.world.number, copy.phaser
        assert phaser is not None
        if phaser.leading is None:
            raise self.broken(f"{copy.name} acknowledges in bucket {bucket}, and does not lead it")
        epoch = phaser.leading.government.epoch
        first = self.leaders.setdefault((bucket, epoch), copy.name)
        if first != copy.name:
            raise self.broken(f"{copy.name} acknowledges in epoch {epoch} of bucket {bucket}, as {first} has")
        places = [bucket, *[birth.heir.number for birth in copy.world.births if birth.heir and birth.epoch > epoch]]
        later = [at_us for place in places for opened, at_us in self.opened.get(place, ()) if opened > epoch]
        later_us = min(later, default=None)
        level = copy.world.level_in(epoch)
        if not bucket_mask(batch, bucket, level).all():
            raise self.broken(f"{copy.name} stores in bucket {bucket} of {level} what is another's: {batch.keys()}")
        if isinstance(outcome, Stored) and later_us is not None and came_us > later_us:
            since = (came_us - later_us) / 1e6
            raise self.broken(f"{copy.name} stores in epoch {epoch} what came {since:.3f} s after a later one opened")
