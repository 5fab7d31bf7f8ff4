"""Who is inside the log: every call enters, and closing waits for those that are still in it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition

from .interrupts import HeldInterrupts


class Door:
    """Invariant: once `shut` has returned nobody is inside, and nobody gets in any more."""

    def __init__(self, refuse: Callable[[], Exception]) -> None:
        self._refuse = refuse
        self._changed = Condition()
        self._inside = 0
        self.is_shut = False

    @contextmanager
    def visit(self) -> Iterator[HeldInterrupts]:
        """One call's time inside. Ctrl-C is held meanwhile, or it could leave somebody counted who is long gone."""
        with HeldInterrupts() as hold:
            with self._changed:
                if self.is_shut:
                    raise self._refuse()
                self._inside += 1
            try:
                yield hold
            finally:
                with self._changed:
                    self._inside -= 1
                    self._changed.notify_all()

    def shut(self) -> None:
        """Lets nobody in any more, and waits until all are out."""
        with self._changed:
            self.is_shut = True
            while self._inside:
                self._changed.wait()
