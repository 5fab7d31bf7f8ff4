"""A counter for each key: the application that simulations and tests attach to buckets.

A value that is a number is added to what its key has; a value of None removes the key; anything else counts as one. The
result is what the key has then. Beside the counters, under the null key, it has how many changes it has seen, which a
split leaves to both halves.
"""

from collections.abc import Callable, Sequence

from hansard.application import Application, BadQuestion, Entries
from hansard.batch import Batch, Change


class Counter(Application):
    name = "counter"
    version = 2

    def __init__(self) -> None:
        self.seen = 0
        self.counts: dict[bytes, int] = {}

    def apply(self, change: Change) -> bytes | None:
        return self.count(change.key, change.value)

    def apply_batch(self, batch: Batch) -> Sequence[bytes | None]:
        """The same, without making changes of it first."""
        return [self.count(key, value) for key, value in zip(batch.keys(), batch.values(), strict=True)]

    def count(self, key: bytes | None, value: bytes | None) -> bytes | None:
        self.seen += 1
        if key is None:
            return None
        if value is None:
            self.counts.pop(key, None)
            return b"0"
        count = self.counts[key] = self.counts.get(key, 0) + _amount(value)
        return b"%d" % count

    def image(self) -> Entries:
        if self.seen:
            yield None, b"%d" % self.seen
        for key in sorted(self.counts):
            yield key, b"%d" % self.counts[key]

    def join(self, version: int, image: Entries) -> None:
        self.seen, self.counts = 0, {}
        for key, content in image:
            if key is None:
                self.seen = int(content)
            else:
                self.counts[key] = int(content)
        if version < 2:  # which did not count what it had seen
            self.seen = sum(self.counts.values())

    def purge(self, belongs: Callable[[bytes], bool]) -> None:
        self.counts = {key: count for key, count in self.counts.items() if belongs(key)}

    def query(self, question: bytes) -> bytes:
        """Of one key; the empty question is for the number of changes seen."""
        if not question:
            return b"%d" % self.seen
        if question not in self.counts:
            raise BadQuestion(f"nothing was counted under {question!r}")
        return b"%d" % self.counts[question]


def _amount(value: bytes) -> int:
    try:
        return int(value)
    except ValueError:
        return 1
