"""Reads all buckets of a log, or some, as one sequence: merged by time, bucket and offset as far as it is known.

What is next is known when of each bucket something is fetched, or there is nothing more for now. A bookmark of the
cursor is always the place after what was handed out last, in every bucket: nothing before it is handed out again, and
nothing after it was handed out; also while buckets are split (shelf.py).
"""

import asyncio
from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heapreplace
from typing import Final

from hansard.bookmark import Bookmark
from hansard.wire.request import Gone, Page

from . import errors
from .page import Change
from .reading import Filter, Reader, Span, at_once
from .shelf import Shelf

CHANGES_MAX: Final = 10_000
"""Fetched of one bucket at a time."""
PAGE_BYTES: Final = 16 << 20
"""Taken at a time, and one change more at the most."""
LOW: Final = 4
"""A bucket of which less than this part of a fetch is left is fetched together with one that has nothing left."""
BEHIND_S: Final = 0.02
"""Who has not heard of a split yet has heard of it after a few of these."""


class Cursor:
    """`start` has a place for each of the buckets that are read, and for others, which stay where they are. `lenient`:
    what is not retained any more was not asked for by name, and is left out."""

    def __init__(
        self,
        reader: Reader,
        start: Bookmark,
        wanted: Filter,
        *,
        bounds: Bookmark | None = None,
        buckets: frozenset[int] | None = None,
        lenient: bool = False,
        chunk: int = 2_000,
        timeout_s: float = 10.0,
    ) -> None:
        self._reader = reader
        self.wanted = wanted
        self._bounds = bounds
        """Where each bucket stops: ascending, before this; descending, at this."""
        self._lenient = lenient
        self._chunk = min(max(chunk, 1), CHANGES_MAX)
        self._timeout_s = timeout_s
        self._start = start
        chosen = [bucket for bucket in start.offsets if buckets is None or bucket in buckets]
        self.shelves = [
            Shelf(bucket, reader.atlas.level(bucket), start.offsets[bucket], descending=wanted.descending)
            for bucket in chosen
        ]
        for shelf in self.shelves:
            self._close(shelf)

    # Where it is.

    @property
    def bookmark(self) -> Bookmark:
        return self._marked({shelf.bucket: shelf.place for shelf in self.shelves})

    def bookmark_before(self, pending: Iterable[Change]) -> Bookmark:
        """The place before these, which were handed out last and not used."""
        places: dict[int, int] = {}
        for change in pending:
            places.setdefault(change.bucket, change.offset)
        return self.bookmark.advanced(places) if places else self.bookmark

    @property
    def began(self) -> Bookmark:
        """Where it was at first."""
        return self._marked(
            {shelf.bucket: shelf.place if shelf.began is None else shelf.began for shelf in self.shelves}
        )

    def _marked(self, offsets: Mapping[int, int]) -> Bookmark:
        return Bookmark(self._start.log_id, {**self._start.offsets, **offsets})

    @property
    def at_start(self) -> bool:
        return all(shelf.at_start and (not shelf.descending or not shelf.fetched) for shelf in self.shelves)

    @property
    def at_end(self) -> bool:
        return all(shelf.at_end and (shelf.descending or not shelf.fetched) for shelf in self.shelves)

    @property
    def is_exhausted(self) -> bool:
        """There was nothing more when it was last looked at."""
        return all(shelf.exhausted and not shelf.fetched for shelf in self.shelves)

    @property
    def is_closed(self) -> bool:
        return all(shelf.closed and not shelf.fetched for shelf in self.shelves)

    @property
    def position(self) -> dict[int, int]:
        """The same as before where it has not moved."""
        return self.places

    @property
    def places(self) -> dict[int, int]:
        """Of those buckets that may come to have more."""
        return {shelf.bucket: shelf.ahead for shelf in self.shelves if not shelf.closed}

    @property
    def outdated(self) -> frozenset[int]:
        """Buckets that have been split, as the table says, and not been looked at since."""
        atlas = self._reader.atlas
        return frozenset([shelf.bucket for shelf in self.shelves if atlas.known_level(shelf.bucket) > shelf.level])

    # Going on.

    async def take(self, limit: int, bytes_max: int = PAGE_BYTES) -> list[Change]:
        """The next ones, as many as it takes; fewer only where they are so many bytes, or there are no more for now."""
        taken: list[Change] = []
        byte_count = 0
        while len(taken) < limit and byte_count < bytes_max:
            some = await self.step(limit - len(taken), bytes_max - byte_count)
            taken += some
            byte_count += sum([change.byte_count for change in some])
            if not some and self.is_exhausted:
                break
        return taken

    async def step(self, limit: int, bytes_max: int = PAGE_BYTES) -> list[Change]:
        """The next ones that are known, after a look at where nothing is. Nothing is fetched once they are taken, so
        that the bookmark is the one after all of them."""
        if not all(shelf.is_known for shelf in self.shelves):
            await self.fill()
        taken: list[Change] = []
        self._merge(taken, limit, bytes_max)
        return taken

    def _merge(self, taken: list[Change], limit: int, bytes_max: int) -> None:
        """As far as it is known what comes next. What goes beyond the bytes is the last one."""
        shelves = self.shelves
        if not all(shelf.is_known for shelf in shelves):
            return
        heap = [(shelf.rank, place) for place, shelf in enumerate(shelves) if shelf.fetched]
        heapify(heap)
        left = bytes_max
        while heap and left > 0 and len(taken) < limit:
            place = heap[0][1]
            shelf = shelves[place]
            change = shelf.fetched.popleft()
            taken.append(change)
            left -= change.byte_count
            if shelf.fetched:
                heapreplace(heap, (shelf.rank, place))
            elif shelf.exhausted:
                heappop(heap)
            else:
                return

    async def fill(self) -> None:
        """Fetch of all buckets of which little is left, at once."""
        few = self._chunk // LOW
        low = [shelf for shelf in self.shelves if not shelf.exhausted and len(shelf.fetched) <= few]
        await at_once([self._fetch(shelf) for shelf in low])

    async def _fetch(self, shelf: Shelf) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout_s
        while True:
            bucket = shelf.bucket
            answer = await self._reader.read(bucket, self._span(shelf), self.wanted, self._timeout_s)
            if isinstance(answer, Gone):
                await self._missed(shelf, answer)
            elif answer.level < shelf.level or self._is_behind(shelf, answer):
                if loop.time() > deadline:
                    raise errors.NotReadable(
                        f"bucket {bucket}", "nobody who was asked shows all that is known to be there"
                    )
                self._reader.leave(bucket)
                await asyncio.sleep(BEHIND_S)
            else:
                self._take(shelf, answer)
                return

    def _is_behind(self, shelf: Shelf, page: Page) -> bool:
        """Whoever has stored something reads it afterwards, wherever it asks; up to a time nobody shows it all."""
        if self.wanted.until_us >= 0:
            return False
        if shelf.descending:
            return shelf.ahead < 0 and page.end < self._reader.stored_end(shelf.bucket)
        return page.at_end and not page.closed and page.end < self._reader.stored_end(shelf.bucket)

    def _take(self, shelf: Shelf, page: Page) -> None:
        if page.level > shelf.level:
            halves = shelf.split(page.level)
            self.shelves += halves
            for half in halves:
                self._close(half)
        was_first = shelf.began is None
        shelf.take(page)
        if was_first and self._lenient and not shelf.descending and self.wanted.since_us < 0:
            shelf.at_start = True  # wherever that is: not all members drop the same at the same time
        self._close(shelf)

    def _bound(self, bucket: int) -> int | None:
        return self._bounds.offset(bucket) if self._bounds is not None else None

    def _close(self, shelf: Shelf) -> None:
        """One that has been read up to its bound is not asked again."""
        bound = self._bound(shelf.bucket)
        if bound is None or shelf.ahead < 0:
            return
        if shelf.ahead <= bound if shelf.descending else shelf.ahead >= bound:
            shelf.exhausted = shelf.closed = True
            if shelf.descending:
                shelf.at_start = shelf.at_start or not shelf.ahead
            else:
                shelf.at_end = True

    def _span(self, shelf: Shelf) -> Span:
        bound = self._bound(shelf.bucket)
        if shelf.descending:
            return Span(bound or 0, shelf.ahead, self._chunk)
        return Span(shelf.ahead, -1 if bound is None else bound, self._chunk)

    async def _missed(self, shelf: Shelf, gone: Gone) -> None:
        """Something before the place where the log begins by now was to be read."""
        if self._lenient and shelf.began is None:
            shelf.ahead = gone.start
            return
        raise errors.Gone({shelf.bucket: shelf.ahead}, await self._retained())

    async def _retained(self) -> Bookmark:
        return await self._reader.starts(self._start.log_id, self._timeout_s, self.wanted)

    def look_again(self, buckets: frozenset[int] | None = None) -> None:
        """There is more in these, as whoever was asked last has said since; or elsewhere there may be more than they
        knew, in any."""
        for shelf in self.shelves:
            if (buckets is None or shelf.bucket in buckets) and not shelf.closed:
                shelf.exhausted = False
                if buckets is None:
                    self._reader.leave(shelf.bucket)
