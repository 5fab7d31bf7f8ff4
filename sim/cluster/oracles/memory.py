"""Nothing is forgotten early: the buckets remember connections for an hour at the least, by a time that one wrong clock
does not move. So in a run of a minute no stream is ever broken; unless the wrong clock was all that voted, or half."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.batch import Batch
from hansard.consensus.content import Council, Entry, Fact
from hansard.distributor.bucket import Bucket as Record
from hansard.phaser.outcome import Broken, Outcome

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.cluster.bucket import Bucket
    from sim.cluster.world import World


class LongMemory(Oracle):
    promise = "no stream is forgotten early"

    def __init__(self) -> None:
        self.excused = False

    def committed(self, world: "World", index: int, entry: Entry, fact: Fact | None, before: Sequence[Record]) -> None:
        if isinstance(entry.content, Council) and world.wrong is not None:
            voters = [voter.node for voter in entry.content.voters]
            self.excused |= world.wrong.name in voters and len(voters) <= 2

    def answered(self, bucket: "Bucket", batch: Batch, outcome: Outcome) -> None:
        if isinstance(outcome, Broken) and not self.excused:
            raise self.broken(f"bucket {bucket.number} has forgotten connection {batch.header.connection}")
