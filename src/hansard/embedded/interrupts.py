"""Ctrl-C that waits until it can do no harm.

Python raises KeyboardInterrupt between any two instructions of the main thread: after a batch is on disk and before
the log in memory knows it, or with a count raised that nobody will lower. While interrupts are held the signal is
remembered, and it takes effect at the end. Other threads are never interrupted, so for them holding does nothing.
"""

import signal
from collections.abc import Callable
from contextlib import suppress
from threading import get_ident, main_thread
from types import FrameType
from typing import Self, TypeVar

Result = TypeVar("Result")
Handler = Callable[[int, FrameType | None], object]


class HeldInterrupts:
    """A context; holds may lie within each other, and the outermost one decides when the interrupt comes through."""

    __slots__ = ("_handler", "_pending")

    def __init__(self) -> None:
        self._handler: Handler | None = None
        self._pending: tuple[int, FrameType | None] | None = None

    def __enter__(self) -> Self:
        if get_ident() == main_thread().ident:
            handler = signal.getsignal(signal.SIGINT)
            # Whoever ignores the signal, or wants the system's own way with it, has nothing to be held.
            if callable(handler) and not isinstance(handler, signal.Handlers):
                with suppress(ValueError):  # the main thread of a second interpreter: signals are not its business
                    signal.signal(signal.SIGINT, self._remember)
                    self._handler = handler
        return self

    def __exit__(self, *_: object) -> None:
        handler, self._handler = self._handler, None
        if handler is None:
            return
        signal.signal(signal.SIGINT, handler)
        pending, self._pending = self._pending, None
        if pending is not None:
            handler(*pending)

    def exposed(self, wait: Callable[[], Result]) -> Result:
        """Calls something that may take long, with Ctrl-C working as usual meanwhile."""
        self.__exit__()
        try:
            return wait()
        finally:
            self.__enter__()

    def _remember(self, number: int, frame: FrameType | None) -> None:
        self._pending = (number, frame)
