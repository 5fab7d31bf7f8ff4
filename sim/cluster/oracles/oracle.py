"""What an oracle of a cluster is told. It does what it needs with it, and nothing with the rest."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.batch import Batch
from hansard.consensus.content import Entry, Fact
from hansard.distributor.bucket import Bucket as Record
from hansard.participant.effect import Effect
from hansard.participant.event import Event
from hansard.phaser import effect as phaser
from hansard.phaser import event
from hansard.phaser.outcome import Outcome
from sim.oracles.oracle import Violation

if TYPE_CHECKING:
    from sim.cluster.bucket import Bucket, Copy
    from sim.cluster.node import Node
    from sim.cluster.world import World


class Oracle:
    promise = ""

    def broken(self, what: str) -> Violation:
        return Violation(self.promise, what)

    def started(self, node: "Node") -> None:
        """A node has started, from its disk."""

    def after_turn(self, node: "Node", events: Sequence[Event], effects: Sequence[Effect]) -> None:
        """Something came of a node's turn."""

    def before_bucket_turn(self, copy: "Copy", events: Sequence[event.Event]) -> None:
        """Of one of its phasers."""

    def bucket_turned(self, copy: "Copy", events: Sequence[event.Event], effects: Sequence[phaser.Effect]) -> None:
        """The same, afterwards."""

    def shown(self, copy: "Copy", batches: Sequence[Batch]) -> None:
        """A phaser has committed these; whoever reads here may see them."""

    def acknowledges(self, copy: "Copy", number: int, outcome: Outcome, batch: Batch, came_us: int) -> None:
        """A phaser says that this is stored; it was given to it at that time."""

    def told_time(self, node: "Node", sender: str, cluster_us: int) -> None:
        """Somebody has told a node what time it is with it, and with the cluster, if it knows that."""

    def answered(self, bucket: "Bucket", batch: Batch, outcome: Outcome) -> None:
        """A client is told what has become of its submission."""

    def connected(self, name: str, connection: int) -> None:
        """A client has got a connection number; perhaps by its name."""

    def committed(self, world: "World", index: int, entry: Entry, fact: Fact | None, before: Sequence[Record]) -> None:
        """For the first time anybody has applied this entry. The table is as it is after it."""

    def dropped(self, node: "Node", bucket: int, start: int) -> None:
        """Retention has dropped what a node had of a bucket before this offset."""

    def finish(self, world: "World") -> None:
        """Everything is healed and has settled."""
