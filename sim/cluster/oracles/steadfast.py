"""A leader that has opened stays open: until the table has a later government, or its participant has departed. So
whatever happens elsewhere, a bucket that it does not touch goes on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.participant.name import named
from hansard.phaser import effect as phaser
from hansard.phaser import event
from hansard.phaser.leader import Phase

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.cluster.bucket import Copy


class Steadfast(Oracle):
    promise = "who is open stays open"

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], tuple[int, int, int]] = {}
        """By node and bucket: the phaser that is open, and in which epoch."""

    def bucket_turned(self, copy: "Copy", events: Sequence[event.Event], effects: Sequence[phaser.Effect]) -> None:
        instance = copy.phaser
        assert instance is not None
        place, leading = (copy.node.name, copy.world.number), instance.leading
        before = self._open.pop(place, None)
        if leading is not None and leading.phase is Phase.OPEN:
            self._open[place] = (copy.process, copy.generation, leading.government.epoch)
        if before is None or before == self._open.get(place) or before[:2] != (copy.process, copy.generation):
            return
        table = copy.world.cluster.table.distributor
        here = any(named(member) == copy.name for member in table.slots.present)
        if copy.world.record.epoch == before[2] and here:
            raise self.broken(f"{copy.name} does not lead bucket {copy.world.number} in {before[2]} any more")
