"""Where buckets have an application, every member's has just what the log gives of the bucket's own keys in the end:
what was unrolled left nothing, a snapshot lacked nothing, and halves of a split have kept their own alone."""

from typing import TYPE_CHECKING

from sim.counter import Counter

from .halves import contents
from .oracle import Oracle

if TYPE_CHECKING:
    from sim.cluster.world import World


class Counted(Oracle):
    promise = "an application has what its bucket's log gives"

    def finish(self, world: "World") -> None:
        for bucket in world.buckets:
            wanted = Counter()
            for key, value in contents(bucket):
                wanted.count(key, value)
            for member in bucket.record.full:
                phaser = bucket.at(world.by_name[member.node]).phaser
                host = phaser.ledger.derived.host(Counter.name) if phaser is not None else None
                if phaser is None or host is None:
                    continue
                found = {key: content for key, content in host.image().entries if key is not None}
                right = {key: b"%d" % count for key, count in wanted.counts.items()}
                if found != right:
                    raise self.broken(f"{member} has counted {found} in bucket {bucket.number}, and not {right}")
                world.coverage.counts["state of an application compared"] += 1
                world.coverage.counts["state of a half's application compared"] += bool(bucket.births)
