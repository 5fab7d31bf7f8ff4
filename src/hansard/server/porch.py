"""Where requests wait that come before it is known here who may do what: a participant that has just started has yet to
hear that from the others. They wait no longer than whoever asked."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from hansard.wire import request as wire
from hansard.wire import submission

UNKNOWN: Final = "this participant does not take part yet, and does not know who may ask that: ask again"
REQUESTS_MAX: Final = 20_000
BYTES_MAX: Final = 64 << 20
"""Of batches. Of all clients together so much waits; what comes then is answered as if its time were over."""
Who = TypeVar("Who", bound=Hashable)


class Early(Struct, frozen=True):
    request: wire.Request
    deadline_us: int


class Porch(Generic[Who]):
    """Invariant: what waits is neither more nor larger than it may be."""

    def __init__(self) -> None:
        self._waiting: dict[Who, deque[Early]] = {}
        self._count = 0
        self._bytes = 0

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def enter(self, who: Who, request: wire.Request, deadline_us: int) -> bool:
        """Says whether there is room for it."""
        if self._count >= REQUESTS_MAX or self._bytes + _size(request) > BYTES_MAX:
            return False
        self._waiting.setdefault(who, deque()).append(Early(request, deadline_us))
        self._count += 1
        self._bytes += _size(request)
        return True

    def leave(self, who: Who) -> None:
        self._gone(self._waiting.pop(who, ()))

    def _gone(self, several: Iterable[Early]) -> None:
        for early in several:
            self._count -= 1
            self._bytes -= _size(early.request)

    def empty(self, now_us: int, go_on: Callable[[Who, wire.Request], None]) -> None:
        """It is known now. Each goes on with the time that is left to it, in the order in which its client asked."""
        waiting, self._waiting = self._waiting, {}
        self._count = self._bytes = 0
        for who, requests in waiting.items():
            for early in requests:
                request = early.request
                if not isinstance(request, wire.Ask):
                    request = replace(request, wait_us=max(0, early.deadline_us - now_us))
                go_on(who, request)

    def overdue(self, now_us: int, told: Callable[[Who, wire.Answer], None]) -> None:
        for who, requests in list(self._waiting.items()):
            over = [early for early in requests if early.deadline_us <= now_us]
            self._gone(over)
            for early in over:
                told(who, expired(early.request))
            if len(over) == len(requests):
                del self._waiting[who]
            elif over:
                self._waiting[who] = deque([early for early in requests if early.deadline_us > now_us])


def _size(request: wire.Request) -> int:
    return request.batch.length if isinstance(request, submission.Submit) else 0


def expired(request: wire.Request) -> wire.Answer:
    """What is said of one whose time is over, or for which there is no room."""
    if isinstance(request, wire.Ask):
        return wire.Refused(request.id, UNKNOWN)
    if isinstance(request, wire.Connect):
        return wire.Connected(request.id, 0)
    return submission.Expired(request.id)
