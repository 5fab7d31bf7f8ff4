"""A participant's core that lets itself be watched: what its phasers and its part in the atomic log do is told to the
node that runs it, turn by turn. It changes nothing."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hansard.consensus import effect as atomic
from hansard.participant.copies import Copy
from hansard.participant.participant import Participant
from hansard.phaser import effect as bucket

if TYPE_CHECKING:
    from .node import Node


class Core(Participant):
    def __init__(self, watcher: "Node", *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._watcher = watcher
        self._carried: list[bucket.Effect] = []

    def _take_turn(self, copy: Copy) -> None:
        events = copy.inbox
        self._carried = []
        witness, node = self._watcher.world.witness, self._watcher
        witness.before_turn(node, copy, events)
        super()._take_turn(copy)
        witness.after_turn(node, copy, events, self._carried)

    def _carry_out(self, copy: Copy, effects: Sequence[bucket.Effect]) -> None:
        self._carried += effects
        super()._carry_out(copy, effects)

    def _agreed(self, effect: atomic.Effect) -> None:
        self._watcher.world.agreed(self._watcher, effect)
        super()._agreed(effect)
