"""What the phasers of a cluster do, turn by turn: told to the oracles of their buckets, and to those of the cluster."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.participant.copies import Copy as Running
from hansard.phaser import effect as phaser
from hansard.phaser import event
from hansard.phaser.leader import Phase
from hansard.phaser.outcome import Repeated, Stored

if TYPE_CHECKING:
    from .bucket import Bucket, Copy
    from .node import Node
    from .world import World


class Witness:
    def __init__(self, world: "World") -> None:
        self.world = world

    def before_turn(self, node: "Node", running: Running, events: Sequence[event.Event]) -> None:
        world = self.world
        bucket = world.buckets[running.bucket]
        copy = bucket.at(node)
        assert running.phaser is not None
        if (copy.process, copy.generation) != (node.process, running.generation):
            copy.process, copy.generation, copy.shown = node.process, running.generation, 0
            copy.name = running.phaser.me
            world.coverage.loaded(copy)
            for one in bucket.oracles:
                one.started(copy.cast)
        for oracle in world.oracles:
            oracle.before_bucket_turn(copy, events)
        for what in events:
            if isinstance(what, event.Submit):
                bucket.asked[node.name, node.process, what.id] = (what.batch, world.clock.now_us)

    def after_turn(
        self, node: "Node", running: Running, events: Sequence[event.Event], effects: Sequence[phaser.Effect]
    ) -> None:
        world = self.world
        bucket = world.buckets[running.bucket]
        copy = bucket.at(node)
        assert running.phaser is not None
        for effect in effects:
            if isinstance(effect, phaser.Committed):
                self._show(bucket, copy, effect.end)
        for one in bucket.turn_oracles:
            one.after_turn(copy.cast, events, effects)
        leading = running.phaser.leading
        accepted = any(isinstance(what, event.Accepted) for what in events)
        if accepted and leading is not None and leading.phase is Phase.OPEN:
            epoch = leading.government.epoch
            world.pauses.opened(bucket.number, epoch)
            if world.table.distributor.buckets[bucket.number].opened <= epoch:
                for one in bucket.oracles:
                    one.opened(copy.cast)
            else:  # it has slept, and hears only now that its report was accepted; others went on without it
                world.coverage.counts["leader opened too late"] += 1
        for effect in effects:
            if isinstance(effect, phaser.Answer):
                self._answered(bucket, copy, effect)
        for oracle in world.oracles:
            oracle.bucket_turned(copy, events, effects)
        world.coverage.bucket_turned(copy, events, effects)

    def _show(self, bucket: "Bucket", copy: "Copy", end: int) -> None:
        shown = max(copy.shown, copy.vault.start)
        batches = [batch for batch in copy.vault.fetch(shown, 1 << 40) if batch.header.base_offset < end]
        copy.shown = end
        for one in bucket.oracles:
            one.visible(copy.cast, batches)
        for heir in bucket.heirs_unknown_to(copy):
            heir.sequence.visible(copy.cast, batches)
        for oracle in self.world.oracles:
            oracle.shown(copy, batches)

    def _answered(self, bucket: "Bucket", copy: "Copy", answer: phaser.Answer) -> None:
        batch, came_us = bucket.asked.pop((copy.node.name, copy.node.process, answer.id))
        outcome = answer.outcome
        if not isinstance(outcome, Stored | Repeated):
            return
        values = [value for value in batch.values() if value is not None]
        for one in bucket.oracles:
            one.answered(copy.cast, answer, values)
        if outcome.receipt is not None:
            stored = bucket.sequence.at(outcome.receipt.offset)
            for heir in bucket.heirs_unknown_to(copy) if stored is not None else ():
                assert stored is not None
                heir.durable.end = max(heir.durable.end, stored.header.end_offset)
        for oracle in self.world.oracles:
            oracle.acknowledges(copy, answer.id, outcome, batch, came_us)
