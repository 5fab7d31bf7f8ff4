"""How far a long command has come, on stderr, where that is a terminal."""

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID


class Progress:
    """A bar where the total is known (in bytes), else a count; nothing at all without a terminal, or when hidden."""

    def __init__(self, what: str, unit: str, *, total: int | None = None, hidden: bool = False) -> None:
        self._what, self._unit, self._total = what, unit, total
        self._shown = sys.stderr.isatty() and not hidden
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if self._shown:
            self._bar = _bar(self._unit, self._total)
            self._task = self._bar.add_task(self._what, total=self._total)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, count: int) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task, count)


def _bar(unit: str, total: int | None) -> "Bar":
    from rich.console import Console  # noqa: PLC0415

    from .bar import byte_bar, counter  # noqa: PLC0415

    console = Console(stderr=True)
    # Receipts on the same terminal are printed above the bar; into a pipe they go as they are.
    return byte_bar(console) if total is not None else counter(console, unit, redirect_stdout=sys.stdout.isatty())
