"""Reading on over HTTP, from page to page. A page is one sequence of all buckets already."""

from collections.abc import Callable, Collection, Coroutine
from typing import Any, Final, NamedTuple

from hansard.bookmark import Bookmark
from hansard.client.page import Change

from .form import SealedBookmark, bookmark_of

LIMIT_MAX: Final = 10_000
SEALED_LIMIT: Final = 500
"""Where each change comes with its bookmark, fewer at a time."""


class Sheet(NamedTuple):
    """A page as it came."""

    changes: list[Change]
    marks: list[str]
    """The bookmark after each change, where those were asked for."""
    bookmark: Bookmark
    at_start: bool
    at_end: bool
    previous: Bookmark


Fetch = Callable[[Bookmark | None, int, float], Coroutine[Any, Any, Sheet]]
"""A page from a place on, of so many changes at the most, after so much waiting."""


class Part(NamedTuple):
    """Which buckets are read; all where neither is said."""

    key_hash: int | None = None
    bucket: int | None = None

    def reaches(self, at: Bookmark, until: Bookmark) -> bool:
        """Whether all up to there was read: buckets that are not read stay where they are."""
        if self.bucket is not None:
            return (at.offset(self.bucket) or 0) >= (until.offset(self.bucket) or 0)
        if self.key_hash is not None:
            home, before = _home(at, self.key_hash), _home(until, self.key_hash)
            return (at.offset(home) or 0) >= (until.offset(before) or 0)
        return all((at.offset(bucket) or 0) >= offset for bucket, offset in until.offsets.items())


def _home(bookmark: Bookmark, key_hash: int) -> int:
    """Of the buckets that a bookmark has, the one where a key lives."""
    mask = (1 << max(bookmark.offsets, default=0).bit_length()) - 1
    while mask and key_hash & mask not in bookmark.offsets:
        mask >>= 1
    return key_hash & mask


class WebCursor:
    """`since` is None where it begins with what there is, or at a time that `fetch` knows. `until`: it ends there."""

    def __init__(self, fetch: Fetch, since: Bookmark | None, until: Bookmark | None, chunk: int, part: Part) -> None:
        self._fetch = fetch
        self._since = since
        self._until = until
        self._part = part
        self._chunk = min(chunk, LIMIT_MAX)
        self._waited: Sheet | None = None
        """What came while it was waited for, and is not handed out yet."""
        self._last: Sheet | None = None
        """What was handed out last."""
        self.position = 0
        """Moves on with each page that moves it on."""
        self.is_exhausted = False

    @property
    def is_closed(self) -> bool:
        """All up to where it ends was read."""
        if self._until is None or self._since is None:
            return False
        if isinstance(self._until, SealedBookmark):  # nobody but the cluster knows, which says less only at the end
            return self.is_exhausted
        return self._part.reaches(self._since, self._until)

    def bookmark_before(self, pending: Collection[Change]) -> Bookmark:
        """The place before these, which were handed out last and not used; after all where there are none."""
        if self._since is None:
            raise RuntimeError("nothing is read yet, so there is no bookmark")
        if not pending or self._last is None:
            return self._since
        handed, marks = len(self._last.changes), self._last.marks
        if marks:
            done = handed - len(pending)
            return bookmark_of(marks[done - 1]) if done else self._last.previous
        places: dict[int, int] = {}
        for change in pending:
            places.setdefault(change.bucket, change.offset)
        return self._since.advanced(places)

    async def begin(self) -> None:
        """So that there is a place."""
        if self._since is None and self._waited is None:
            self._waited = await self._fetch(None, self._chunk, 0.0)
            self._since = self._waited.previous

    async def wait(self, wait_s: float) -> None:
        """Until there is more, or for so long."""
        if self._waited is None:
            self._waited = await self._fetch(self._since, self._chunk, wait_s)

    async def step(self, limit: int) -> list[Change]:
        """The next ones; none where there are none for now."""
        sheet, self._waited = self._waited, None
        if sheet is None:
            sheet = await self._fetch(self._since, min(limit, self._chunk), 0.0)
        self._last, self._since = sheet, sheet.bookmark
        self.position += bool(sheet.changes)
        self.is_exhausted = not sheet.changes
        return sheet.changes

    def look_again(self, buckets: frozenset[int] | None = None) -> None:
        """The next step does."""
