"""One bucket as it is being read: what was fetched of it and is not handed out yet, and the place between the two.

It does no IO. A place is an offset: ascending, of the first change that is not handed out; descending, the one before
which everything is still to be handed out.

A bucket that was split is found out by a page: its level is another than it was thought to be. The page has the
bucket's own half only, from the place on at which it was asked for; so the other half begins at that same place. What
was fetched before is of both, and is shared out by key, so that each half's place is its own.
"""

from collections import deque
from collections.abc import Iterable

from hansard.batch import Batch, bucket_of, key_hash
from hansard.wire.request import Page

from .page import Change
from .recut import descendants


class Shelf:
    """Invariant: `fetched` is in the order of reading, and all of it lies between `place` and `ahead`."""

    def __init__(self, bucket: int, level: int, place: int, *, descending: bool = False) -> None:
        self.bucket = bucket
        self.level = level
        self.descending = descending
        self.fetched: deque[Change] = deque()
        self.ahead = place
        """Where the next page is asked for; -1 backwards from the end."""
        self.began: int | None = None
        """Where it was at first; None as long as nothing was read."""
        self.at_start = False
        self.at_end = False
        self.exhausted = False
        """There was nothing more when it was last looked at."""
        self.closed = False
        """And there never will be."""

    @property
    def place(self) -> int:
        if not self.fetched:
            return self.ahead
        offset = self.fetched[0].offset
        return offset + 1 if self.descending else offset

    @property
    def rank(self) -> tuple[int, int, int]:
        """Of what comes next, among all buckets."""
        timestamp, bucket, offset = self.fetched[0][:3]
        return (-timestamp, -bucket, -offset) if self.descending else (timestamp, bucket, offset)

    @property
    def is_known(self) -> bool:
        """It is known what comes next, or that there is nothing."""
        return bool(self.fetched) or self.exhausted

    def fits(self, page: Page) -> bool:
        """Whether it can be taken. One from a participant that has not heard of a split has changes of both halves."""
        return page.level >= self.level

    def split(self, to: int) -> list["Shelf"]:
        """The halves that the bucket has become, but for itself: it goes on as one of them."""
        halves: list[Shelf] = []
        for bucket, level in descendants(self.bucket, self.level, to):
            if bucket != self.bucket:
                half = Shelf(bucket, level, self.ahead, descending=self.descending)
                half.began, half.at_start, half.at_end = self.began, self.at_start, self.at_end
                half.fetched.extend(self._of(bucket, level))
                halves.append(half)
        self.fetched = deque(self._of(self.bucket, to))
        self.level = to
        return halves

    def _of(self, bucket: int, level: int) -> Iterable[Change]:
        for change in self.fetched:
            if bucket_of(key_hash(change.key), level) == bucket:
                yield change._replace(bucket=bucket)

    def take(self, page: Page) -> None:
        assert page.level == self.level, "it is split first"
        is_first = self.began is None
        if self.descending:
            self.fetched.extend(change for batch in page.batches for change in reversed(self._changes(batch)))
            self.ahead, self.at_start, self.exhausted = page.first, page.at_start, page.closed
            if is_first:
                self.began, self.at_end = page.end, page.at_end
        else:
            self.fetched.extend(change for batch in page.batches for change in self._changes(batch))
            self.ahead, self.at_end, self.exhausted = max(self.ahead, page.end), page.at_end, page.at_end
            if is_first:
                self.began, self.at_start = page.first, page.at_start
        self.closed = page.closed

    def _changes(self, batch: Batch) -> list[Change]:
        bucket = self.bucket
        return [
            Change(timestamp, bucket, offset, key, value, tags, connection, series)
            for offset, timestamp, key, value, tags, connection, series in batch.changes()
        ]
