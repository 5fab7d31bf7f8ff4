"""An event loop in a thread of its own, for callers that have none."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from .errors import ClientClosed

Result = TypeVar("Result")


class Loop:
    """A thread with an event loop, for as long as the client is open."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hansard-client", daemon=True)
        self._thread.start()
        self._lock = threading.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def run(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Until it is done, in the other thread."""
        with self._lock:
            if self._is_closed:
                raise ClientClosed
            future: Future[Result] = asyncio.run_coroutine_threadsafe(work(), self._loop)
        try:
            return future.result()
        except CancelledError:
            raise ClientClosed from None
        finally:
            if not future.done():  # interrupted here, by a signal's handler, while the work goes on over there
                future.cancel()

    def later(self, delay_s: float, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """In the other thread, and nobody waits for it."""

        def begin() -> None:
            if self._is_closed:
                return
            task = self._loop.create_task(work())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        with self._lock:
            if self._is_closed:
                raise ClientClosed
            self._loop.call_soon_threadsafe(self._loop.call_later, delay_s, begin)

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        try:
            asyncio.run_coroutine_threadsafe(self._end(last), self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    @staticmethod
    async def _end(last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Whoever still waits in another thread is told."""
        await last()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others)
