"""The check of the demo and of the soak test: nothing lost, nothing doubled, nothing reordered.

Whoever submits counts up in each of its keys, and notes what was acknowledged. Whoever reads sees each key's numbers
rise, and in the end all that were acknowledged; a number that was refused, or whose outcome is unknown, may be missing.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Broken(AssertionError):
    """A promise of the log, as a reader found it."""


class Missing(NamedTuple):
    key: str
    number: int


class Audit:
    """What was acknowledged."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, set[int]] = defaultdict(set)
        self._last: dict[str, int] = {}
        self.count = 0

    def acknowledge(self, key: str, number: int) -> None:
        assert number not in self._numbers[key], f"{key} {number} was acknowledged twice"
        self._numbers[key].add(number)
        self._last[key] = max(number, self.last(key))
        self.count += 1

    def last(self, key: str) -> int:
        """The highest number; -1 if there is none."""
        return self._last.get(key, -1)

    def of(self, key: str) -> set[int]:
        return self._numbers.get(key, set())

    def __iter__(self) -> Iterator[str]:
        """Its keys."""
        return iter(self._numbers)


class Watch:
    """What one reader has seen. Raises Broken at once where that cannot be. Only `wanted` numbers are looked for."""

    def __init__(self, audit: Audit, who: str, wanted: Callable[[int], bool] | None = None) -> None:
        self._audit = audit
        self._who = who
        self._wanted = wanted or (lambda _: True)
        self._apart = 0 if wanted is None else 1
        """So many numbers in a row may be there that are not wanted."""
        self._last: dict[str, int] = {}
        self._missed: dict[str, set[int]] = {}
        """Numbers that were passed over, and were not acknowledged by then."""
        self.count = 0

    def see(self, key: str, number: int) -> None:
        last = self._last.get(key, -1)
        if number <= last:
            what = "twice" if number == last or number not in self._missed.get(key, ()) else "after later ones"
            raise Broken(f"{self._who} sees {key} {number} {what}: it has seen {last}")
        if number > last + 1:
            passed = {each for each in range(last + 1, number) if self._wanted(each)}
            skipped = passed & self._audit.of(key)
            if skipped:
                raise Broken(f"{self._who} has skipped {key} {min(skipped)}, which was acknowledged: it sees {number}")
            self._missed.setdefault(key, set()).update(passed)
        self._last[key] = number
        self.count += 1

    def behind(self) -> bool:
        """Whether there is more to come: quick to say, other than what is missing."""
        return any(self._audit.last(key) - self._last.get(key, -1) > self._apart for key in self._audit)

    def missing(self) -> list[Missing]:
        """What was acknowledged, and is not seen yet."""
        found = []
        for key in self._audit:
            last, passed = self._last.get(key, -1), self._missed.get(key, set())
            wanted = [number for number in self._audit.of(key) if self._wanted(number)]
            found += [Missing(key, number) for number in wanted if number > last or number in passed]
        return sorted(found)
