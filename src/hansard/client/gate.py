"""How much may gather before it is sent: whoever submits more waits here, first come, first served."""

from asyncio import Future, get_running_loop, timeout_at
from collections import deque

from .errors import ClientError, Overloaded


class Gate:
    """Invariants: nobody waits while there is room; what is inside is never more than the bounds, but for a single
    one that is larger than they are."""

    def __init__(self, changes_max: int, bytes_max: int) -> None:
        self._changes_max = changes_max
        self._bytes_max = bytes_max
        self._changes = 0
        self._bytes = 0
        self._resuming = 0
        """Who was let in and has not gone on yet: nobody passes them."""
        self._waiters: deque[tuple[int, int, Future[None]]] = deque()

    def admits(self, changes: int, byte_count: int) -> bool:
        """Takes it in at once, if there is room and nobody waits, or was let in and is about to go on."""
        if self._waiters or self._resuming or not self._has_room(changes, byte_count):
            return False
        self._changes += changes
        self._bytes += byte_count
        return True

    def _has_room(self, changes: int, byte_count: int) -> bool:
        return not self._changes or (
            self._changes + changes <= self._changes_max and self._bytes + byte_count <= self._bytes_max
        )

    async def enter(self, changes: int, byte_count: int, deadline: float) -> None:
        future: Future[None] = get_running_loop().create_future()
        waiter = (changes, byte_count, future)
        self._waiters.append(waiter)
        get_running_loop().call_soon(self._let_in)  # after those who were let in, if it was only for them
        is_in = False
        try:
            async with timeout_at(deadline):
                await future
            is_in = True
            self._resuming -= 1
        except TimeoutError:
            raise Overloaded("too much was waiting in this client until its deadline") from None
        finally:
            if not is_in:
                self._turn_away(waiter)

    def _turn_away(self, waiter: tuple[int, int, "Future[None]"]) -> None:
        changes, byte_count, future = waiter
        if waiter in self._waiters:
            self._waiters.remove(waiter)
            self._let_in()
        elif not future.cancelled() and future.exception() is None:
            self._resuming -= 1
            self.leave(changes, byte_count)  # it was let in, and gave up at the same moment

    def leave(self, changes: int, byte_count: int) -> None:
        self._changes -= changes
        self._bytes -= byte_count
        assert self._changes >= 0 and self._bytes >= 0
        self._let_in()

    def _let_in(self) -> None:
        waiters = self._waiters
        while waiters and self._has_room(waiters[0][0], waiters[0][1]):
            changes, byte_count, future = waiters.popleft()
            if not future.done():
                self._changes += changes
                self._bytes += byte_count
                self._resuming += 1
                future.set_result(None)

    def shut(self, error: ClientError) -> None:
        """Nobody who waits is let in any more."""
        while self._waiters:
            _, _, future = self._waiters.popleft()
            if not future.done():
                future.set_exception(error.again())
