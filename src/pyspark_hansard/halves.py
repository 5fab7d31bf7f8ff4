"""One range of a bucket, page by page, from whichever members have it, through splits of the bucket.

A page of a higher level than the range's shows that the bucket was split: it has one half, from the place on at which
it was asked for, and the other half is read from that same place. Together they have what the whole had. A page of a
lower level is of somebody who has not heard of the split, and is thrown away; so is one that ends before the range
does, from somebody who has not heard of all that is there. A range is read to its end, or fails.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Final, NamedTuple

from hansard.batch import Batch, select
from hansard.client.errors import NotReadable
from hansard.client.reading import Filter, Span
from hansard.client.recut import descendants
from hansard.wire import request as wire

from .entrance import Entrance
from .places import Range

PAGE_BYTES: Final = 4 << 20
CHANGES_MAX: Final = 1 << 30
"""A page is bounded by its bytes."""
BEHIND_S: Final = 0.05


class DataLost(Exception):
    """What was to be read is not retained any more."""

    def __init__(self, bucket: int, offset: int, start: int) -> None:
        super().__init__(bucket, offset, start)

    def __str__(self) -> str:
        bucket, offset, start = self.args
        return (
            f"bucket {bucket} is retained from offset {start} on, and was to be read from {offset}: what lies between "
            "is lost to this query. Start from a checkpoint or an archive; or leave it out, with failOnDataLoss false"
        )


class Piece(NamedTuple):
    """Of a range: batches in the order of their offsets, unless they are of several halves and mixed."""

    batches: list[Batch]
    is_mixed: bool = False


class _Half:
    """The range's bucket itself, or what was split off from it. All before `at` is in `fetched`, or handed on."""

    def __init__(self, bucket: int, level: int, at: int) -> None:
        self.bucket = bucket
        self.level = level
        self.at = at
        self.fetched: list[Batch] = []

    def taken(self, before: int) -> list[Batch]:
        """What lies before an offset."""
        ready = [batch for batch in self.fetched if batch.header.end_offset <= before]
        left = [batch for batch in self.fetched if batch.header.end_offset > before]
        ready += [select(batch, batch.offsets < before) for batch in left if batch.header.base_offset < before]
        self.fetched = [
            select(batch, batch.offsets >= before) if batch.header.base_offset < before else batch for batch in left
        ]
        return [batch for batch in ready if len(batch)]


class Halves:
    """Invariant: everything of the range before the lowest place of the halves is handed on."""

    def __init__(self, entrance: Entrance, whole: Range, wanted: Filter, *, fail_on_loss: bool) -> None:
        self._entrance = entrance
        self._whole = whole
        self._wanted = wanted
        self._fail_on_loss = fail_on_loss
        self._halves = [_Half(whole.bucket, whole.level, whole.start)]
        self._has_read = False

    async def pieces(self) -> AsyncIterator[Piece]:
        end = self._whole.end
        while True:
            half = min(self._halves, key=lambda half: half.at)
            if half.at >= end:
                return
            await self._fetch(half)
            if len(self._halves) == 1:
                batches, half.fetched = half.fetched, []
                if batches:
                    yield Piece(batches)
                continue
            before = min(half.at for half in self._halves)
            parts = [half.taken(before) for half in self._halves]
            batches = [batch for part in parts for batch in part]
            if batches:
                yield Piece(batches, is_mixed=sum(map(bool, parts)) > 1)

    async def _fetch(self, half: _Half) -> None:
        """The next page of a half; it settles something."""
        loop = asyncio.get_running_loop()
        reader, timeout_s = self._entrance.reader, self._entrance.timeout_s
        deadline, refusals, end = loop.time() + timeout_s, 0, self._whole.end
        while True:
            span = Span(half.at, end, CHANGES_MAX, bytes_max=PAGE_BYTES)
            answer = await reader.read(half.bucket, span, self._wanted, timeout_s)
            if isinstance(answer, wire.Gone):
                refusals += 1
                reader.leave(half.bucket)
                if refusals <= len(self._entrance.atlas.members(half.bucket)):
                    continue  # not all members drop the same at the same time
                if half.at == self._missed(half, answer.start):
                    return
                refusals = 0
            elif answer.level >= half.level and answer.end > half.at:
                self._take(half, answer)
                return
            else:
                if loop.time() > deadline:
                    raise NotReadable(
                        f"bucket {half.bucket} from offset {half.at} to {end}",
                        "nobody who was asked shows all that is known to be there",
                    )
                reader.leave(half.bucket)
                await asyncio.sleep(BEHIND_S)

    def _missed(self, half: _Half, start: int) -> int:
        """Where it goes on; the end of the range if nothing is left of it."""
        if self._fail_on_loss and (self._has_read or not self._whole.lenient):
            raise DataLost(half.bucket, half.at, start)
        half.at = min(start, self._whole.end)
        return self._whole.end

    def _take(self, half: _Half, page: wire.Page) -> None:
        if page.level > half.level:
            for bucket, level in descendants(half.bucket, half.level, page.level):
                if bucket != half.bucket:
                    self._halves.append(_Half(bucket, level, half.at))
            half.level = page.level
        if page.at_end and not page.closed and page.end < self._whole.end:
            self._entrance.reader.leave(half.bucket)
        half.fetched += page.batches
        half.at = page.end
        self._has_read = True
