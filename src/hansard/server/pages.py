"""Pages of a bucket's log for clients, read by the thread that reads."""

import asyncio
from collections.abc import Callable

from hansard.distributor.bucket import Bucket
from hansard.participant.sight import visible
from hansard.storage.errors import Corrupt, Trimmed
from hansard.storage.reading import Query
from hansard.storage.store import Store
from hansard.wire.request import Gone, Page, Read, Refused

from .damage import Damages
from .journal import Errand

BYTES_MAX = 4 << 20
"""Of one page, whatever is asked for."""


MENDING_S = 5.0
"""A reader that meets damage waits so long for it to be mended."""


class Pages:
    """`run` has an errand done; `record` is what the table says of a bucket now."""

    def __init__(self, run: Callable[[Errand], None], record: Callable[[int], Bucket], damages: Damages) -> None:
        self._run = run
        self._record = record
        self._damages = damages

    def empty(self, id: int, read: Read) -> Page:
        return Page(id, [], read.offset, at_end=True, level=self._record(read.bucket).level)

    def read(self, id: int, read: Read, committed: int, told: Callable[[Page | Gone | Refused], None]) -> None:
        """Up to what is committed. The record is of the same moment as that: a later one may be of a half of it."""
        record, loop, who = self._record(read.bucket), asyncio.get_running_loop(), object()
        until_s = loop.time() + MENDING_S
        late: list[asyncio.TimerHandle] = []

        def go_on() -> None:
            while late:
                late.pop().cancel()
            self._damages.wait_no_more(read.bucket, who)
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


def page(store: Store, id: int, read: Read, record: Bucket, committed: int) -> Page | Gone | Corrupt:
    query = Query(
        first=read.offset,
        end=committed,
        tags=frozenset(read.tags),
        every=read.every,
        changes_max=max(1, read.changes_max),
        bytes_max=min(max(1, read.bytes_max), BYTES_MAX),
    )
    try:
        found = store.read(read.bucket, query)
    except Trimmed as error:
        return Gone(id, error.start)
    except Corrupt as error:
        return error
    batches = list(visible(found.batches, read.bucket, record))
    end = min(found.end, committed)
    return Page(id, batches, end, at_end=end >= committed, level=record.level)
