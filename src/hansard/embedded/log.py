"""The log in one process: appending, reading, following and keeping it, from any number of threads."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import Lock
from time import monotonic
from types import TracebackType
from typing import Self

import pyarrow as pa

from hansard.application import Application
from hansard.batch import SCHEMA, Batch, BatchError, Change, Text, build, to_arrow
from hansard.batch.errors import BadInput
from hansard.bookmark import Bookmark, LogError
from hansard.storage.errors import Corrupt, ReadOnly, StorageError
from hansard.storage.filer import Filer
from hansard.storage.manifest import Hold
from hansard.storage.reading import Page as StoredPage
from hansard.storage.retention import Retention
from hansard.storage.scrub import Report, scrub, total_bytes
from hansard.storage.store import Store

from .attached import Applications, Attached
from .changes import Changes, CheckedChange, batches_of, batches_of_arrow, checked
from .commit import Committer, Watch
from .door import Door
from .errors import LogClosed, PartlyAppended
from .growth import Growth
from .info import Info, info_of
from .interrupts import HeldInterrupts
from .places import BUCKET, Place, first_offset, timestamp_of
from .reading import (
    PAGE_BYTES,
    PAGE_CHANGES,
    SCAN_BYTES,
    SCAN_CHANGES,
    Match,
    Order,
    Page,
    Selection,
    read_page,
    selection,
)
from .receipts import Receipt, Receipts, Run


class Log:
    """Made by `hansard.open`. Every method may be called from any thread; `with` closes it at the end.

    An append returns when its changes are on disk. Calls from several threads share the cost of that.
    """

    def __init__(self, store: Store, *, path: str, clock_ns: Callable[[], int]) -> None:
        self.path = path
        self._store = store
        self._clock_ns = clock_ns
        self._door = Door(lambda: LogClosed(path))
        self._growth = Growth(store.bounds(BUCKET)[1])
        self._applications = Applications(store)
        self._committer = Committer(store, clock_ns, self._grown)
        self._filer = None if self.is_read_only else Filer(store)
        self._closing = Lock()
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<hansard.Log {self.path!r}{' (closed)' if self._door.is_shut else ''}>"

    @property
    def id(self) -> str:
        """Made with the log, and part of every bookmark."""
        return self._store.identity.log_id

    @property
    def is_read_only(self) -> bool:
        return self._store.shelf.read_only

    def close(self) -> None:
        """Waits for calls that are under way in other threads. Closing twice is harmless."""
        self._door.shut()
        with HeldInterrupts(), self._closing:
            if self._is_closed:
                return
            self._is_closed = True
            self._growth.finish()
            if self._filer is not None:
                self._applications.checkpoint(at_all=True)
                self._filer.stop()
            self._store.close()

    # Appending.

    def append(self, key: Text | None = None, value: Text | None = None, tags: Sequence[str] = ()) -> Receipt:
        """One change. A value of None says that the key is deleted."""
        change = checked(key, value, tags)
        with self._writing() as hold:
            return self._committer.submit(change, hold)[0]

    def append_many(self, changes: Changes) -> Receipts:
        """Any number of changes: (key, value), (key, value, tags), a dict of these, or `NewChange`.

        They are stored in batches of up to 10,000 changes or 8 MiB. Each batch is stored as a whole or not at all, and
        has consecutive offsets; between two batches of one call there may be other threads' changes. When a batch after
        the first fails, `PartlyAppended` says what is stored.
        """
        return self._submit_all(batches_of(changes))

    def append_columns(
        self, keys: Sequence[Text | None], values: Sequence[Text | None], tags: Sequence[Sequence[str]] | None = None
    ) -> Receipts:
        """One batch from columns of equal length, the fastest way in: stored as a whole or not at all."""
        batch = build(keys, values, tags)
        with self._writing() as hold:
            return self._committer.submit(batch, hold)

    def append_arrow(self, data: pa.RecordBatch | pa.Table, *, keep_times: bool = False) -> Receipts:
        """The columns `key`, `value` and, if there, `tags` of a record batch or table; cut as `append_many` does.

        With `keep_times` the column `timestamp` is kept, as for the import of another log: its times must not go
        back, nor lie before the log's last change or in the future.
        """
        return self._submit_all(batches_of_arrow(data, keep_times=keep_times))

    def _submit_all(self, batches: Iterator[Batch]) -> Receipts:
        runs: list[Run] = []
        try:
            for batch in batches:
                with self._writing() as hold:
                    runs += self._committer.submit(batch, hold).runs
        except (BatchError, StorageError, LogError) as error:
            if not runs:
                raise
            raise PartlyAppended(Receipts(runs), str(error)) from error
        return Receipts(runs)

    @contextmanager
    def _writing(self) -> Iterator[HeldInterrupts]:
        with self._door.visit() as hold:
            if self._filer is None:
                raise ReadOnly
            self._filer.check()
            yield hold
            self._applications.checkpoint()

    def _grown(self, batches: Sequence[Batch]) -> None:
        self._applications.take(batches)
        self._growth.announce(batches[-1].header.end_offset)
        assert self._filer is not None
        self._filer.look()

    def attach(self, application: Application) -> Attached:
        """Run an application on this log: it is given what is there, from its last checkpoint on, and then whatever is
        appended, by anybody. It is this log's from now on, and detached when the log is closed."""
        with self._door.visit() as hold:
            return self._applications.attach(application, self._door.visit, self._update, hold)

    def _update(self, change: CheckedChange, watch: Watch) -> bytes | None:
        with self._writing() as hold:
            return self._committer.submit_watched(change, hold, watch)

    # Reading.

    def read(
        self,
        *,
        since: Place | None = None,
        until: Place | None = None,
        tags: Collection[str] | None = None,
        match: Match = "any",
        key: Text | None = None,
        limit: int | None = None,
        order: Order = "asc",
    ) -> Iterator[Change]:
        """The changes from `since` up to, not including, `until`, as they are now: later ones are not included.

        Both are a bookmark, an offset, or a time (a datetime with a time zone, or RFC 3339). `tags` selects changes
        with any, or all, of the tags. Raises Trimmed if `since` is no longer retained.
        """
        wanted = self._selection(since, until, tags, match, key, limit, order)
        return (change for page in self._pages(wanted) for change in page.changes())

    def page(
        self,
        *,
        since: Place | None = None,
        until: Place | None = None,
        tags: Collection[str] | None = None,
        match: Match = "any",
        key: Text | None = None,
        limit: int = 100,
        order: Order = "asc",
    ) -> Page:
        """Up to `limit` changes, and the bookmark to go on from: as `since`, or as `until` in descending order."""
        if limit < 1:
            raise BadInput("limit", f"a page has at least one change, not {limit}")
        wanted = self._selection(since, until, tags, match, key, limit, order)
        start, end = self._bounds()
        changes: list[Change] = []
        low = high = max(wanted.first, wanted.end) if wanted.descending else wanted.first
        for page in self._pages(wanted):
            changes += page.changes()
            low, high = (page.first, high) if wanted.descending else (low, page.end)
        at_end = high >= end and wanted.doubt is None
        return Page(changes, self._bookmark(low if wanted.descending else high), low <= start, at_end)

    def scan_arrow(
        self,
        *,
        since: Place | None = None,
        until: Place | None = None,
        tags: Collection[str] | None = None,
        match: Match = "any",
        key: Text | None = None,
        limit: int | None = None,
        order: Order = "asc",
    ) -> pa.RecordBatchReader:
        """What `read` gives, as Arrow record batches (`hansard.SCHEMA`), which are views of the stored bytes.

        In descending order the batches descend; within each, changes rise.
        """
        wanted = self._selection(since, until, tags, match, key, limit, order)
        return pa.RecordBatchReader.from_batches(SCHEMA, self._record_batches(wanted))

    def _record_batches(self, wanted: Selection) -> Iterator[pa.RecordBatch]:
        """Lets go of each page before it reads the next, so that the next can have its memory."""
        while not wanted.is_done:
            with self._door.visit():
                page = read_page(self._store, wanted, SCAN_CHANGES, SCAN_BYTES)
            wanted = wanted.after(page)
            batches = page.batches[::-1]
            del page
            while batches:
                yield to_arrow(batches.pop())
        wanted.raise_doubt()

    def follow(
        self,
        since: Place | None = None,
        *,
        tags: Collection[str] | None = None,
        match: Match = "any",
        key: Text | None = None,
        timeout: float | None = None,
    ) -> Iterator[Change]:
        """Existing changes, then new ones as they come; `since=log.bookmark()` begins with the next.

        Ends when the log is closed, or after `timeout` seconds of waiting without a change.
        """
        wanted = self._selection(since, None, tags, match, key, None, "asc")
        return self._follow(wanted, timeout)

    def _follow(self, wanted: Selection, timeout: float | None) -> Iterator[Change]:
        waits_since = monotonic()
        while True:
            try:
                wanted = wanted._replace(end=self._bounds()[1])
                for page in self._pages(wanted):
                    wanted = wanted.after(page)
                    if page.change_count:
                        yield from page.changes()
                        waits_since = monotonic()
            except LogClosed:
                return
            deadline = None if timeout is None else waits_since + timeout
            if self.is_read_only or not self._growth.wait_beyond(wanted.first, deadline):
                return

    def _selection(
        self,
        since: Place | None,
        until: Place | None,
        tags: Collection[str] | None,
        match: Match,
        key: Text | None,
        limit: int | None,
        order: Order,
    ) -> Selection:
        with self._door.visit():
            return selection(
                self._store, since=since, until=until, tags=tags, match=match, key=key, limit=limit, order=order
            )

    def _pages(self, wanted: Selection) -> Iterator[StoredPage]:
        while not wanted.is_done:
            with self._door.visit():
                page = read_page(self._store, wanted, PAGE_CHANGES, PAGE_BYTES)
            yield page
            wanted = wanted.after(page)
        wanted.raise_doubt()

    def _bounds(self) -> tuple[int, int]:
        with self._door.visit():
            return self._store.bounds(BUCKET)

    # Places.

    def bookmark(self) -> Bookmark:
        """The end of the log now: reading since it gives what comes later."""
        return self._bookmark(self._bounds()[1])

    def bookmark_at(self, time: datetime | str) -> Bookmark:
        """Before the first change at or after a time."""
        with self._door.visit():
            return self._bookmark(self._store.offset_since(BUCKET, timestamp_of(time)))

    def _bookmark(self, offset: int) -> Bookmark:
        return Bookmark(self.id, {BUCKET: offset})

    # Keeping.

    def retain(
        self, *, max_age: timedelta | None = None, max_bytes: int | None = None, max_changes: int | None = None
    ) -> None:
        """Drops what is older than `max_age`, or more than enough, now and once: call it as often as you like.

        Whole segments go, oldest first, so a little more is kept than asked for; and nothing that is held goes.
        """
        age_us = None if max_age is None else max_age // timedelta(microseconds=1)
        with self._writing():
            self._applications.checkpoint(at_all=True)  # or else what they have seen would be held
            self._store.retain({BUCKET: Retention(age_us, max_bytes, max_changes)}, self._now())

    def hold(self, name: str, bookmark: Place, *, expires: timedelta | datetime) -> None:
        """Keeps everything from a place on until a reader releases it, or until it expires. The same name again moves
        the hold."""
        with self._writing():
            offset = first_offset(self._store, bookmark)
            if isinstance(expires, timedelta):
                expires_at = self._now() + expires // timedelta(microseconds=1)
            else:
                expires_at = timestamp_of(expires)
            self._store.hold(Hold(name, BUCKET, offset, expires_at))

    def release(self, name: str) -> None:
        """A hold that is not there is released already."""
        with self._writing():
            self._store.release(name)

    def info(self) -> Info:
        with self._door.visit():
            return info_of(self._store, self.path)

    def verify(self, *, deep: bool = False, progress: Callable[[int, int], None] | None = None) -> Report:
        """Looks at every stored byte; `deep` at every column and key hash too. `progress` is told the bytes that are
        done and the bytes there are. Damage is in the report, not raised."""
        with self._door.visit() as hold:
            total, done = total_bytes(self._store), 0

            def advance(byte_count: int) -> None:
                nonlocal done
                done += byte_count
                if progress is not None:
                    progress(done, total)

            return hold.exposed(lambda: scrub(self._store, deep=deep, progress=advance))

    def give_up_damaged(self) -> list[Corrupt]:
        """The last resort, where nobody has another copy: go on without what is damaged. Returns what is lost; its
        offsets are not used again."""
        with self._door.visit() as hold:
            damage = hold.exposed(lambda: scrub(self._store).damage)
            if damage:
                self._store.give_up(damage)
                if self._filer is not None:
                    self._filer.resume()
            return damage

    def _now(self) -> int:
        return self._clock_ns() // 1_000
