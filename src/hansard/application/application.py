"""What an application is to whoever runs it.

Its state must be a function of the changes that it was given, in their order, and of nothing else. Every member of a
bucket has a copy, each goes its own way through crashes and snapshots, and nobody ever compares them: two that differ
by a clock, a random number, the order of a set or a variable of the process stay different.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from hansard.batch import Batch, Change

Entries = Iterable[tuple[bytes | None, bytes]]
"""Of an image: what belongs to a key, with the key; what both halves of a split need, with None."""


class Application(ABC):
    """A state machine that is fed a bucket's committed changes. It is used by one thread at a time."""

    name: ClassVar[str]
    """Small letters, digits and hyphens, 28 at the most. Its state is stored under it, so it stays."""
    version: ClassVar[int] = 1
    """Of what `image` gives. It rises with every image that an older `join` could not read, and with every change of
    what `apply` does."""

    @abstractmethod
    def apply(self, change: Change) -> bytes | None:
        """What a change does, and the result for whoever submitted it. It never raises: the change is in the log, and
        would be applied again at every start."""

    def apply_batch(self, batch: Batch) -> Sequence[bytes | None]:
        """The same for many at once, with a result for each. How changes are cut into batches must make no
        difference."""
        return [self.apply(change) for change in batch.changes()]

    @abstractmethod
    def image(self) -> Entries:
        """All of its state, as entries in an order that follows from the log too. It is taken at once and kept, while
        more is applied."""

    @abstractmethod
    def join(self, version: int, image: Entries) -> None:
        """Become what an image says, whatever was before. Without entries it is as new. `version` is the one that the
        image was made by, never a later one than this."""

    @abstractmethod
    def purge(self, belongs: Callable[[bytes], bool]) -> None:
        """The bucket was split: forget what is of keys that do not belong here any more."""

    @abstractmethod
    def query(self, question: bytes) -> bytes:
        """An answer from what is applied, which it leaves as it is. Raises BadQuestion where there is none."""
