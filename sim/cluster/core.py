"""A participant's core that lets itself be watched: what its phasers and its part in the atomic log do is told to the
node that runs it, turn by turn. It changes nothing."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hansard.consensus import effect as atomic
from hansard.participant.copies import Copy
from hansard.participant.participant import Participant
from hansard.participant.turns import Turns
from hansard.phaser import effect as bucket
from hansard.phaser import event

if TYPE_CHECKING:
    from .node import Node


class Core(Participant):
    def __init__(self, watcher: "Node", *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._watcher = watcher
        parts = (self.copies, self.time, self.router, self.reading, self.proposing.reports)
        self.turns = _Watched(watcher, self.here, *parts)

    def _agreed(self, effect: atomic.Effect) -> None:
        self._watcher.world.agreed(self._watcher, effect)
        super()._agreed(effect)


class _Watched(Turns):
    """A turn is told of when it is finished: half of one is nothing to be judged by."""

    def __init__(self, watcher: "Node", *arguments: Any) -> None:
        super().__init__(*arguments)
        self._watcher = watcher
        self._seen: dict[int, tuple[Sequence[event.Event], list[bucket.Effect]]] = {}
        """Of each bucket whose turn is begun: what happened, and what was wanted so far."""

    def begin(self, copy: Copy) -> None:
        """However patient: two turns are not to be judged as one."""
        begun = self._begun.pop(copy.bucket, None)
        if begun is not None:
            self._finish(begun)
        super().begin(copy)

    def _begin(self, copy: Copy) -> None:
        self._seen[copy.bucket] = copy.inbox, []
        self._watcher.world.witness.before_turn(self._watcher, copy, copy.inbox)
        super()._begin(copy)

    def _finish(self, copy: Copy) -> None:
        running = self._copies.running.get(copy.bucket) is copy
        assert running, "stopped in the middle of its turn, which has never happened: nobody knows how to judge it"
        super()._finish(copy)
        self._watcher.world.witness.after_turn(self._watcher, copy, *self._seen.pop(copy.bucket))

    def _carry_out(self, copy: Copy, effects: Sequence[bucket.Effect]) -> None:
        self._seen[copy.bucket][1].extend(effects)
        super()._carry_out(copy, effects)
