"""Reading on: all that there is, or for ever; from a bookmark, a time, or where a name was left."""

import asyncio
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from hansard.bookmark import Bookmark

from .cursor import Cursor
from .errors import Gone, NotReadable
from .page import Change

if TYPE_CHECKING:
    from .library import Library, Wish

RUN: Final = 2_000
"""Changes that are taken at a time, before the next ones are looked for."""
HOLD_S: Final = 7 * 24 * 3600.0
BEHIND_S: Final = 0.05
"""Who does not know yet what others know is asked again, or somebody else, after this long."""


class Reading:
    """An asynchronous iterator over all that was acknowledged when it began; `follow` goes on when that is done.

    `bookmark` is always the place after the change that was yielded last, so that a reader which comes again from there
    sees every change once.
    """

    def __init__(self, library: "Library", wish: "Wish", timeout_s: float) -> None:
        self._library = library
        self._wish = wish
        self._timeout_s = timeout_s
        self._cursor: Cursor | None = None
        self._ready: deque[Change] = deque()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change:
        if not await self.fill():
            raise StopAsyncIteration
        return self._ready.popleft()

    async def fill(self) -> bool:
        """Until the next one is ready; False when there is none."""
        try:
            while not self._ready:
                if not await self._more():
                    return False
        except Gone as gone:
            await self._library.point(gone, self._wish)
            raise
        return True

    async def __aenter__(self) -> Self:
        await self.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def ready(self) -> Change | None:
        """The next one if it is here already."""
        return self._ready.popleft() if self._ready else None

    @property
    def bookmark(self) -> Bookmark:
        if self._cursor is None:
            raise RuntimeError("nothing is read yet, so there is no bookmark: `await begin()` first, or read something")
        bookmark = self._cursor.bookmark
        if self._ready:
            places: dict[int, int] = {}
            for change in self._ready:
                places.setdefault(change.bucket, change.offset)
            bookmark = bookmark.advanced(places)
        return bookmark

    async def begin(self) -> None:
        """Finds its place, which the first change does otherwise."""
        if self._cursor is None:
            self._cursor = await self._opened()

    async def _opened(self) -> Cursor:
        return await self._library.cursor(self._wish, to_end=True, chunk=RUN)

    async def _more(self) -> bool:
        """Whether there may be more; what there is now is ready."""
        await self.begin()
        cursor = self._cursor
        assert cursor is not None
        self._ready.extend(await cursor.step(RUN))
        if self._ready or not cursor.is_exhausted:
            return True
        return await self._at_end(cursor)

    async def _at_end(self, cursor: Cursor) -> bool:
        """Who was asked may not have all that was acknowledged: then somebody else is asked."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout_s
        while not cursor.is_closed:
            if loop.time() > deadline:
                raise NotReadable("the rest of the log", "no participant shows all that was acknowledged")
            cursor.look_again(frozenset(cursor.places))
            self._ready.extend(await cursor.step(RUN))
            if self._ready or not cursor.is_exhausted:
                return True
            await asyncio.sleep(BEHIND_S)
        return False


class Follow(Reading):
    """Never ends. Participants may come and go, and buckets be split, meanwhile.

    With a `name` it begins where that name was last committed, and what comes after that is held: no retention drops it
    before the name is committed further, or nothing was committed for `hold_s`.
    """

    def __init__(
        self, library: "Library", wish: "Wish", timeout_s: float, name: str = "", hold_s: float = HOLD_S
    ) -> None:
        super().__init__(library, wish, timeout_s)
        self.name = name
        self._hold_s = hold_s
        self._idle_s = BEHIND_S

    async def _opened(self) -> Cursor:
        library = self._library
        if not self.name:
            return await library.cursor(self._wish, to_end=False, chunk=RUN)
        held = await library.held(self.name)
        if held is not None:
            return await library.cursor(self._wish._replace(since=held), to_end=False, chunk=RUN)
        cursor = await library.cursor(self._wish, to_end=False, chunk=RUN)
        await library.hold(self.name, await library.placed(cursor), self._hold_s)
        return cursor

    async def commit(self) -> Bookmark:
        """Whoever follows under this name goes on after the change that was yielded last."""
        if not self.name:
            raise ValueError("only a follower with a name has a place to commit: follow(name=...)")
        await self.begin()
        bookmark = self.bookmark
        await self._library.hold(self.name, bookmark, self._hold_s)
        return bookmark

    async def _more(self) -> bool:
        while True:
            try:
                return await super()._more()
            except NotReadable:
                await asyncio.sleep(self._idle_s)  # they will be back

    async def _at_end(self, cursor: Cursor) -> bool:
        before = dict(cursor.places)
        cursor.look_again(await self._library.risen(cursor, None))
        self._ready.extend(await cursor.step(RUN))
        if not self._ready and cursor.places == before:  # who was asked does not know of it yet
            await asyncio.sleep(self._idle_s)
        return True

    def __repr__(self) -> str:
        where: Any = self._cursor.bookmark if self._cursor is not None else "not begun"
        return f"<Follow {self.name or '(no name)'} at {where}>"
