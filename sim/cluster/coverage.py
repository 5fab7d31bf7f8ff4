"""What happened in a run, and how often: a run in which nothing happened has tested nothing."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from hansard.consensus.content import Arrived, Departed, Fact
from hansard.consensus.effect import Departing
from hansard.distributor import fact as inventory
from hansard.distributor.bucket import Bucket as Record
from hansard.distributor.bucket import State
from hansard.distributor.command import Double, Drain, Move
from hansard.distributor.orders import Standing
from hansard.participant.effect import Effect, Fork, Send
from hansard.participant.message import Hop
from hansard.participant.name import named
from hansard.phaser import effect as phaser
from hansard.phaser import event

from .splits import REQUIRED as SPLITS_REQUIRED
from .splits import Splits

if TYPE_CHECKING:
    from .bucket import Copy
    from .node import Node
    from .world import World

REQUIRED: Final[tuple[str, ...]] = (
    "move interrupted before expanded",
    "move interrupted after expanded",
    "bucket lost",
    "lost bucket came back",
    "came back with too little",
    "two departures within a lease",
    "departure while a bucket is not steady",
    "departed alive",
    "down to one member",
    "hop met a newer table",
    "hop passed on",
    "drain finished",
    "move by hand finished",
    "slot refilled by the same",
    "slot refilled by another",
    "spare used at once",
    "replacement chain",
    "arrival during a move",
    "thinned out",
    "copy dropped",
    "newcomer with a head start",
    "opening leader crashed",
    "given up while opening",
    "wrong clock held",
    "named connection got its number back",
    "connection continued",
    "order repeated",
    "answer Busy",
    "linear read ReadAt",
    "plain read ReadAt",
    "state of the log installed",
    "writes lost",
    "told to stop: left",
    "told to stop: stopped as a member",
    "left down for good",
    "left for good",
    "hold granted",
    "hold refused, not retained any more",
    "floor stopped by a hold",
    "floor of a half raised",
    "dropped by retention",
    "state of an application compared",
    "state of a half's application compared",
    *SPLITS_REQUIRED,
)
"""Each batch of 500 seeds must have seen all of these."""
WRONG_US: Final = 1_000_000


class Coverage:
    def __init__(self, world: "World") -> None:
        self.world = world
        self.counts: Counter[str] = Counter()
        self._met: dict[tuple[str, int], int] = {}
        """Hops that met a newer table, by node and process."""
        self._departed_us = -(1 << 60)
        self._slots: dict[int, list[str]] = {}
        """Who has had each slot."""
        self._ahead: set[tuple[int, str]] = set()
        """Copies that began with something, and have not been begun anew."""
        self.splits = Splits(world, self.counts)

    def crashed(self, node: "Node", lost: int) -> None:
        self.counts["crash"] += 1
        self.counts["writes lost"] += lost > 0
        self.splits.crashed(node)

    def after_turn(self, node: "Node", effects: Sequence[Effect]) -> None:
        assert node.core is not None
        if met := node.core.router.met_newer:
            self._met[node.name, node.process] = met
        for effect in effects:
            if isinstance(effect, Send):
                if isinstance(effect.message, Hop):
                    self.counts["hop"] += 1
                    self.counts["hop passed on"] += effect.message.hops > 1
                    self.counts["connection continued"] += effect.message.continues is not None
            elif isinstance(effect, Departing):
                self.counts["departed alive"] += 1
            elif isinstance(effect, Fork):
                self.splits.forked(node, effect)

    # Buckets.

    def loaded(self, copy: "Copy") -> None:
        """A phaser has begun, with what was on disk."""
        assert copy.phaser is not None
        if copy.phaser.ledger.end:
            self._ahead.add((copy.world.number, copy.name))

    def bucket_turned(self, copy: "Copy", events: Sequence[event.Event], effects: Sequence[phaser.Effect]) -> None:
        instance, node, world = copy.phaser, copy.node, self.world
        assert instance is not None
        for effect in effects:
            if not isinstance(effect, phaser.Persist):
                continue
            for write in effect.writes:
                if isinstance(write, phaser.Reset):
                    self._ahead.discard((copy.world.number, copy.name))
                elif isinstance(write, phaser.Put) and node is world.wrong and instance.leading is not None:
                    away_us = abs(node.wall_us - write.batch.header.last_timestamp)
                    self.counts["wrong clock held"] += away_us > WRONG_US

    # The log.

    def committed(self, fact: Fact | None, before: Sequence[Record], after: Sequence[Record]) -> None:
        self.splits.committed(fact, before, after)
        match fact:
            case Departed():
                self._departed(before, after)
            case Arrived():
                self._arrived(fact, before)
            case _:
                pass
        for number, (old, new) in enumerate(zip(before, after, strict=False)):
            if old is not new:
                self._changed(number, old, new)
        self._look_at_slots(left=isinstance(fact, Departed))

    def _changed(self, number: int, old: Record, new: Record) -> None:
        counts = self.counts
        if old.opened:
            counts["bucket lost"] += old.leader is not None and new.leader is None
            counts["lost bucket came back"] += old.leader is None and new.leader is not None
        if new.expanded != old.expanded:
            ahead = [member for member in old.newcomers if (number, named(member)) in self._ahead]
            counts["newcomer with a head start"] += len(ahead)
            counts["newcomer from nothing"] += len(old.newcomers) - len(ahead)
        counts["move begun"] += bool(new.goal) and not old.goal

    def _departed(self, before: Sequence[Record], after: Sequence[Record]) -> None:
        counts, now_us = self.counts, self.world.clock.now_us
        lease_us = self.world.plan.settings.consensus.lease_us
        counts["departure"] += 1
        counts["two departures within a lease"] += now_us - self._departed_us <= lease_us
        self._departed_us = now_us
        counts["departure while a bucket is not steady"] += any(
            old.state in (State.EXPANDING, State.SWITCHING) for old in before
        )
        counts["thinned out"] += any(True for _ in self.world.table.distributor.thinned())
        for old, new in zip(before, after, strict=True):
            if new.epoch == old.epoch:
                continue
            counts["down to one member"] += len(new.members) == 1 < len(old.kept)
            if old.goal and not new.goal and old.opened:
                counts["move interrupted before expanded"] += old.state is State.EXPANDING
                counts["move interrupted after expanded"] += old.state is State.SWITCHING and old.expanded == old.opened

    def _arrived(self, arrived: Arrived, before: Sequence[Record]) -> None:
        self.counts["arrival during a move"] += any(old.goal for old in before)
        after = self.world.table.distributor.buckets
        for copy in inventory.decode(arrived.inventory):
            if 0 <= copy.bucket < len(before) and before[copy.bucket].state is State.LOST:
                self.counts["came back with too little"] += after[copy.bucket].state is State.LOST

    def _look_at_slots(self, *, left: bool) -> None:
        for slot in self.world.table.distributor.slots:
            nodes = self._slots.setdefault(slot.number, [])
            if slot.holder is None:
                if nodes and nodes[-1]:
                    nodes.append("")
                continue
            if not nodes or nodes[-1] != slot.node:
                former = [node for node in nodes if node]
                if former:
                    same = former[-1] == slot.node
                    self.counts[f"slot refilled by {'the same' if same else 'another'}"] += 1
                    self.counts["spare used at once"] += left and not same
                    self.counts["replacement chain"] += len(dict.fromkeys([*former, slot.node])) > 2
                nodes.append(slot.node)

    def finish(self) -> None:
        counts, table = self.counts, self.world.table.distributor
        counts["hop met a newer table"] += sum(self._met.values())
        counts["copy dropped"] += sum([node.disk.dropped for node in self.world.nodes])
        for id in self.world.operator.given:
            status = table.orders.get(id)
            if status is not None and status.standing is Standing.DONE:
                counts["drain finished"] += isinstance(status.wish, Drain)
                counts["doubling finished"] += isinstance(status.wish, Double)
                counts["move by hand finished"] += isinstance(status.wish, Move)
        counts["crash between a fork and what follows it"] += sum([node.disk.torn for node in self.world.nodes])
        counts["untouched by a departure"] += self.world.pauses.untouched
