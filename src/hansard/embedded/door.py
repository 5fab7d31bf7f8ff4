"""Who is inside the log: every call enters, and closing waits for those that are still in it."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, get_ident

from .errors import CloseFromInside, OtherProcess
from .interrupts import HeldInterrupts


class Door:
    """Invariant: once `shut` has returned nobody is inside, and nobody gets in any more."""

    def __init__(self, refuse: Callable[[], Exception]) -> None:
        self._refuse = refuse
        self._process = os.getpid()
        self._changed = Condition()
        self._inside: Counter[int] = Counter()
        """How often each thread is inside."""
        self.is_shut = False

    @contextmanager
    def visit(self) -> Iterator[HeldInterrupts]:
        """One call's time inside. Ctrl-C is held meanwhile, or it could leave somebody counted who is long gone."""
        if os.getpid() != self._process:
            raise OtherProcess(self._process)
        thread = get_ident()
        with HeldInterrupts() as hold:
            with self._changed:
                if self.is_shut:
                    raise self._refuse()
                self._inside[thread] += 1
            try:
                yield hold
            finally:
                with self._changed:
                    self._inside[thread] -= 1
                    if not self._inside[thread]:
                        del self._inside[thread]
                    self._changed.notify_all()

    def shut(self) -> None:
        """Lets nobody in any more, and waits until all are out."""
        if self._inside[get_ident()]:
            raise CloseFromInside
        with self._changed:
            self.is_shut = True
            while self._inside:
                self._changed.wait()
