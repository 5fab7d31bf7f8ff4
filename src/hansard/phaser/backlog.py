"""Submissions that wait: for their bucket to be opened, or for room in flight. They have no offset yet."""

from collections import deque

from msgspec import Struct

from .event import Submit
from .settings import Settings


class Waiting(Struct, frozen=True, gc=False):
    submit: Submit
    until_us: int


class Backlog:
    """Invariants: never more than the settings allow, in count and in bytes; first in, first out."""

    __slots__ = ("byte_count", "pressed", "queue", "settings")

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.queue: deque[Waiting] = deque()
        self.byte_count = 0
        self.pressed = False
        """Those who submit were told to hold back."""

    def __len__(self) -> int:
        return len(self.queue)

    def put(self, submit: Submit, now_us: int) -> bool:
        """Says whether there was room."""
        settings, length = self.settings, submit.batch.length
        if len(self.queue) >= settings.backlog_count_max or self.byte_count + length > settings.backlog_bytes_max:
            return False
        self.queue.append(Waiting(submit, min(submit.deadline_us, now_us + settings.patience_us)))
        self.byte_count += length
        return True

    def take(self) -> Waiting:
        waiting = self.queue.popleft()
        self.byte_count -= waiting.submit.batch.length
        return waiting

    def take_meant_for(self, epoch: int) -> list[Submit]:
        """All but those that were sent here for a government that we have not heard of yet."""
        return self._take([waiting for waiting in self.queue if waiting.submit.epoch <= epoch])

    def take_expired(self, now_us: int) -> list[Submit]:
        """Those whose time is over, wherever they stand."""
        return self._take([waiting for waiting in self.queue if waiting.until_us <= now_us])

    def _take(self, chosen: list[Waiting]) -> list[Submit]:
        if chosen:
            ids = {id(waiting) for waiting in chosen}
            self.queue = deque([waiting for waiting in self.queue if id(waiting) not in ids])
            self.byte_count -= sum(waiting.submit.batch.length for waiting in chosen)
        return [waiting.submit for waiting in chosen]

    def pressure_changed(self) -> bool:
        """Whether those who submit are to be told something new: half full is too much, a quarter is fine again."""
        count, byte_count = len(self.queue), self.byte_count
        settings = self.settings
        if self.pressed:
            changed = 4 * count <= settings.backlog_count_max and 4 * byte_count <= settings.backlog_bytes_max
        else:
            changed = 2 * count > settings.backlog_count_max or 2 * byte_count > settings.backlog_bytes_max
        self.pressed ^= changed
        return changed
