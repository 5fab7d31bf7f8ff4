"""What happened in a run, and how often: a run in which nothing happened has tested nothing."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from hansard.consensus.content import Fact
from hansard.distributor.bucket import Bucket as Record
from hansard.participant.effect import Effect
from hansard.phaser import effect as phaser
from hansard.phaser import event

if TYPE_CHECKING:
    from .bucket import Copy
    from .node import Node
    from .world import World

REQUIRED: Final[tuple[str, ...]] = ()
"""Each batch of 500 seeds must have seen all of these."""


class Coverage:
    def __init__(self, world: "World") -> None:
        self.world = world
        self.counts: Counter[str] = Counter()

    def crashed(self, node: "Node", lost: int) -> None:
        self.counts["crash"] += 1
        self.counts["writes lost"] += lost > 0

    def after_turn(self, node: "Node", effects: Sequence[Effect]) -> None: ...

    def bucket_turned(self, copy: "Copy", events: Sequence[event.Event], effects: Sequence[phaser.Effect]) -> None: ...

    def committed(self, fact: Fact | None, before: Sequence[Record], after: Sequence[Record]) -> None: ...

    def finish(self) -> None: ...
