"""Clients are held back because of a bucket's backlog as long as there is one, and no longer: who has stopped leading a
bucket does not keep anybody waiting for it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.participant.effect import Effect, Pressure
from hansard.participant.event import Event

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.cluster.node import Node


class HeldForAReason(Oracle):
    promise = "clients are held back for a reason"

    def __init__(self) -> None:
        self._pressed: dict[tuple[str, int], set[int]] = {}
        """The buckets that a process has said to be pressed."""

    def after_turn(self, node: "Node", events: Sequence[Event], effects: Sequence[Effect]) -> None:
        pressed = self._pressed.setdefault((node.name, node.process), set())
        for effect in effects:
            if isinstance(effect, Pressure):
                node.world.coverage.counts["clients held back"] += effect.high
                (pressed.add if effect.high else pressed.discard)(effect.bucket)
        assert node.core is not None
        for bucket in pressed:
            copy = node.core.copies.running.get(bucket)
            if copy is None or copy.phaser is None or not copy.phaser.desk.backlog.pressed:
                raise self.broken(
                    f"{node.name} holds its clients back for bucket {bucket}, of which nothing waits there"
                )
