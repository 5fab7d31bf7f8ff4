"""A bookmark taken at any moment of any sequence of doublings leads a reader past nothing, and to nothing twice."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hansard.bookmark import Bookmark

LOG = "6254dbc55e0a82ed"
LEVEL_MAX = 32
INTERNAL = -1
"""The hash of an entry that is no change: a half's own decrees take offsets that the other half does not know of."""


class Reader:
    """Follows all buckets, some of each at a time, and keeps nothing but a token in between."""

    def __init__(self, token: str, seen: list[int]) -> None:
        self.token = token
        self.seen = list(seen)

    def read(self, log: "Doubling", choice: int, count: int) -> None:
        bookmark = Bookmark.parse(self.token).split(LOG, log.buckets)
        bucket = log.buckets[choice % len(log.buckets)]
        offset = bookmark.offsets[bucket]
        entries = log.entries[bucket][offset : offset + count]
        self.seen += [number for number, key in entries if key != INTERNAL and log.home(key) == bucket]
        self.token = str(bookmark.advanced({bucket: offset + len(entries)}))

    def read_all(self, log: "Doubling") -> None:
        for choice in range(len(log.buckets)):
            self.read(log, choice, 1 << 30)


class Doubling(RuleBasedStateMachine):
    """A log as lists: each bucket's entries as (number, hash of the key), where the offset is the place in the list."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 1
        self.levels = {0: 1}
        self.entries: dict[int, list[tuple[int, int]]] = {0: []}
        self.stored: dict[int, int] = {}
        self.readers = [Reader(str(Bookmark(LOG, {})), [])]

    @property
    def buckets(self) -> list[int]:
        return sorted(self.levels)

    def home(self, key: int) -> int:
        [home] = [bucket for bucket, level in self.levels.items() if key % level == bucket]
        return home

    @rule(keys=st.lists(st.integers(0, LEVEL_MAX - 1), min_size=1, max_size=6))
    def append(self, keys: list[int]) -> None:
        for key in keys:
            number = len(self.stored)
            self.stored[number] = key
            self.entries[self.home(key)].append((number, key))

    @rule(choice=st.integers(0, LEVEL_MAX - 1))
    def decree(self, choice: int) -> None:
        self.entries[self.buckets[choice % len(self.levels)]].append((-1, INTERNAL))

    @rule(choice=st.integers(0, LEVEL_MAX - 1))
    def split(self, choice: int) -> None:
        """One bucket of those that are left to split; a doubling begins when there is none."""
        if set(self.levels.values()) == {self.count} and self.count < LEVEL_MAX:
            self.count *= 2
        waiting = [bucket for bucket, level in sorted(self.levels.items()) if level < self.count]
        if waiting:
            parent = waiting[choice % len(waiting)]
            child = parent + self.levels[parent]
            self.levels[parent] = self.levels[child] = self.count
            self.entries[child] = list(self.entries[parent])

    @rule(which=st.integers(0, 7), choice=st.integers(0, LEVEL_MAX - 1), count=st.integers(1, 5))
    def read(self, which: int, choice: int, count: int) -> None:
        self.readers[which % len(self.readers)].read(self, choice, count)

    @rule(which=st.integers(0, 7))
    def keep_a_copy(self, which: int) -> None:
        """Of the token, to go on from it at any later time."""
        if len(self.readers) < 8:
            reader = self.readers[which % len(self.readers)]
            self.readers.append(Reader(reader.token, reader.seen))

    @invariant()
    def nothing_is_skipped_or_seen_twice(self) -> None:
        for reader in self.readers:
            whole = Reader(reader.token, reader.seen)
            whole.read_all(self)
            assert sorted(whole.seen) == list(self.stored), "each change once"
            for key in set(self.stored.values()):
                numbers = [number for number in whole.seen if self.stored[number] == key]
                assert numbers == sorted(numbers), "one key's changes in their order"


TestDoubling = Doubling.TestCase
TestDoubling.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
