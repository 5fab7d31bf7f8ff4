"""Pages of a bucket's log for clients, read by the thread that reads."""

import asyncio
from collections.abc import Callable

import numpy as np

from hansard.batch import Batch, key_hash, key_mask, select
from hansard.distributor.bucket import Bucket
from hansard.participant.sight import visible
from hansard.storage.errors import Corrupt, Trimmed
from hansard.storage.reading import UNLIMITED, Query
from hansard.storage.store import Store
from hansard.wire.request import Gone, Page, Read, Refused

from .damage import Damages
from .journal import Errand

BYTES_MAX = 4 << 20
"""Of one page, whatever is asked for."""
TIME_US_MAX = 1 << 62
MENDING_S = 5.0
"""A reader that meets damage waits so long for it to be mended."""


class Pages:
    """`run` has an errand done; `record` is what the table says of a bucket now."""

    def __init__(self, run: Callable[[Errand], None], record: Callable[[int], Bucket], damages: Damages) -> None:
        self._run = run
        self._record = record
        self._damages = damages

    def empty(self, id: int, read: Read) -> Page:
        return Page(id, [], read.offset, at_end=True, level=self._record(read.bucket).level, first=read.offset)

    def read(self, id: int, read: Read, committed: int, told: Callable[[Page | Gone | Refused], None]) -> None:
        """Up to what is committed. The record is of the same moment as that: a later one may be of a half of it."""
        record, loop, who = self._record(read.bucket), asyncio.get_running_loop(), object()
        until_s = loop.time() + MENDING_S
        late: list[asyncio.TimerHandle] = []

        def go_on() -> None:
            while late:
                late.pop().cancel()
            self._damages.wait_no_more(read.bucket, who)
            if self._record(read.bucket).level != record.level:
                told(Refused(id, "the bucket was split while its damage was mended: read it again"))
            else:
                self._run(errand)

        def found(answer: Page | Gone | Corrupt) -> None:
            if not isinstance(answer, Corrupt):
                told(answer)
            elif loop.time() < until_s:
                late.append(loop.call_at(until_s, go_on))
                self._damages.when_mended(read.bucket, who, go_on)
                self._damages.meet(answer)
            else:
                told(Refused(id, f"{answer}: read it at another member, or again later"))

        errand = Errand(lambda store: page(store, id, read, record, committed), found)
        self._run(errand)


def begins_at_once(read: Read) -> bool:
    """Whether there is something to be said even where nothing is there to be read."""
    return read.descending or not read.changes_max


def page(store: Store, id: int, read: Read, record: Bucket, committed: int) -> Page | Gone | Corrupt:
    try:
        first, stop, closed = _bounds(store, read, committed)
        if not read.changes_max:
            return _place(store, id, read, record, (first, committed))
        found = store.read(read.bucket, _query(read, first, stop))
    except Trimmed as error:
        return Gone(id, error.start)
    except Corrupt as error:
        return error
    batches = list(visible(found.batches, read.bucket, record))
    low, high = found.first, min(found.end, committed)
    if read.key is not None:
        batches, low, high = _with_key(batches, read, low, high)
    start, at_end = store.bounds(read.bucket)[0], high >= committed
    if read.descending:
        return Page(id, batches, high, at_end, record.level, low, low <= start, closed=low <= max(first, start))
    done = high >= stop
    return Page(id, batches, high, at_end or done, record.level, first, first <= start, closed=done and closed)


def _bounds(store: Store, read: Read, committed: int) -> tuple[int, int, bool]:
    """The first offset of what is asked for, where it stops, and whether it will always stop there."""
    first, stop, closed = max(read.offset, 0), committed, False
    if read.since_us >= 0:
        first = max(first, min(store.offset_since(read.bucket, min(read.since_us, TIME_US_MAX)), committed))
    if 0 <= read.end <= stop:
        stop, closed = read.end, True
    if read.until_us >= 0:
        until = store.offset_since(read.bucket, min(read.until_us, TIME_US_MAX))
        if until < stop:
            stop, closed = until, True
    return first, max(first, stop), closed


def _query(read: Read, first: int, stop: int) -> Query:
    return Query(
        first=first,
        end=stop,
        tags=frozenset(read.tags),
        every=read.every,
        descending=read.descending,
        changes_max=max(1, read.changes_max) if read.key is None else UNLIMITED,
        bytes_max=min(max(1, read.bytes_max), BYTES_MAX),
    )


def _place(store: Store, id: int, read: Read, record: Bucket, bounds: tuple[int, int]) -> Page:
    """No changes, and where they would begin: what is not retained any more is not where."""
    first, committed = bounds
    start = store.bounds(read.bucket)[0]
    first = max(first, min(start, committed))
    return Page(id, [], first, first >= committed, record.level, first, first <= start)


def _with_key(batches: list[Batch], read: Read, low: int, high: int) -> tuple[list[Batch], int, int]:
    """The page's changes of one key; it ends where it has enough of them."""
    assert read.key is not None
    hash_, found, left = key_hash(read.key), list[Batch](), max(1, read.changes_max)
    for batch in batches:
        mask = key_mask(batch, read.key, hash_)
        places = np.flatnonzero(mask)
        if not len(places):
            continue
        if len(places) > left:
            mask[places[:-left] if read.descending else places[left:]] = False
        found.append(select(batch, mask))
        left -= min(len(places), left)
        if not left:
            offsets = found[-1].offsets
            return (found, int(offsets[0]), high) if read.descending else (found, low, int(offsets[-1]) + 1)
    return found, low, high
