"""How far the next batch of a stream goes, where only so many rows or bytes are wanted.

Without a filter a row is an offset at most, so nothing has to be read. With one, how far so many rows go is found by
reading as many. Bytes are estimated from the first changes of each bucket.
"""

from collections.abc import Sequence
from typing import Final

from hansard.client.reading import Filter, Span
from hansard.wire import request as wire

from .entrance import Entrance
from .halves import PAGE_BYTES
from .offsets import shared
from .places import Place, Places, Range

SAMPLE_CHANGES: Final = 500
SAMPLE_BYTES: Final = 256 << 10


class Admission:
    def __init__(self, entrance: Entrance, wanted: Filter, rows_max: int | None, bytes_max: int | None) -> None:
        self._entrance = entrance
        self._wanted = wanted
        self._rows_max = rows_max
        self._bytes_max = bytes_max

    async def places(self, behind: Sequence[Range], ends: Places) -> Places:
        """Of all buckets: those that go on by less than they could, and the others as they are."""
        allowed = {each.bucket: each.offsets for each in behind}
        if self._rows_max is not None:
            is_filtered = bool(self._wanted.tags) or self._wanted.key is not None
            rows = shared(allowed, self._rows_max)
            allowed = await self._by_reading(behind, rows) if is_filtered else rows
        if self._bytes_max is not None:
            allowed = await self._by_bytes(behind, allowed, self._bytes_max)
        starts = {each.bucket: each.start for each in behind}
        return {
            bucket: Place(place.level, starts[bucket] + allowed[bucket]) if bucket in allowed else place
            for bucket, place in ends.items()
        }

    async def _by_reading(self, behind: Sequence[Range], rows: dict[int, int]) -> dict[int, int]:
        """The offsets that have so many rows at the most."""
        allowed = {}
        for each in behind:
            share = rows[each.bucket]
            page = await self._page(each, share, PAGE_BYTES) if share else None
            is_whole = page is not None and page.level == each.level and page.end > each.start
            allowed[each.bucket] = min(page.end, each.end) - each.start if page is not None and is_whole else share
        return allowed

    async def _by_bytes(self, behind: Sequence[Range], allowed: dict[int, int], bytes_max: int) -> dict[int, int]:
        cost: dict[int, float] = {}
        for each in behind:
            page = await self._page(each, SAMPLE_CHANGES, SAMPLE_BYTES)
            covered = 0 if page is None else page.end - each.start
            size = 0 if page is None else sum([batch.header.raw_length for batch in page.batches])
            cost[each.bucket] = size / covered if covered > 0 else 0.0
        total = sum([cost[bucket] * count for bucket, count in allowed.items()])
        if total <= bytes_max:
            return allowed
        part = bytes_max / total
        reduced = {bucket: int(count * part) if cost[bucket] else count for bucket, count in allowed.items()}
        if not any(reduced.values()):
            most = max(allowed, key=lambda bucket: allowed[bucket])
            reduced[most] = 1
        return reduced

    async def _page(self, each: Range, changes_max: int, bytes_max: int) -> wire.Page | None:
        span = Span(each.start, each.end, changes_max, bytes_max=bytes_max)
        answer = await self._entrance.reader.read(each.bucket, span, self._wanted, self._entrance.timeout_s)
        return answer if isinstance(answer, wire.Page) else None
