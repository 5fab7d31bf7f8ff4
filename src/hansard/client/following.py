"""Reading on: all that there is, or for ever; from a bookmark, a time, or where a name was left."""

import asyncio
from collections import deque
from collections.abc import Collection
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Protocol, Self

from hansard.bookmark import Bookmark
from hansard.checkpoint import Subject

from .checkpoints import Checkpoint
from .errors import Gone, NotReadable, ReadError
from .page import Change
from .wish import Wish

RUN: Final = 2_000
"""Changes that are taken at a time, before the next ones are looked for."""
HOLD_S: Final = 7 * 24 * 3600.0
BEHIND_S: Final = 0.05
"""Who does not know yet what others know is asked again, or somebody else, after this long."""
RENEWALS: Final = 3
"""So often a hold is renewed in the time for which it lasts."""
RENEW_S_MIN: Final = 0.2


class AnyCursor(Protocol):
    """Over the binary protocol (cursor.py), or over HTTP (web/cursor.py)."""

    @property
    def is_exhausted(self) -> bool:
        """There was nothing more when it was last looked at."""

    @property
    def is_closed(self) -> bool:
        """And there never will be."""

    @property
    def position(self) -> object:
        """The same as before where it has not moved."""

    def bookmark_before(self, pending: Collection[Change]) -> Bookmark:
        """The place before these, which were handed out last and not used."""

    async def step(self, limit: int) -> list[Change]:
        """The next ones that are known."""

    def look_again(self, buckets: frozenset[int] | None = None) -> None:
        """There is more in these buckets by now; or elsewhere there may be more than whoever was asked knew."""


class AnyLibrary(Protocol):
    """The same: library.py, and web/library.py. A library is given its own cursors only."""

    async def cursor(self, wish: Wish, *, to_end: bool, chunk: int) -> AnyCursor: ...

    async def risen(self, cursor: Any, timeout_s: float | None) -> frozenset[int]: ...

    async def placed(self, cursor: Any) -> Bookmark: ...

    async def held(self, name: str) -> Bookmark | None: ...

    async def hold(self, name: str, at: Bookmark, lasts_s: float) -> None: ...

    async def checkpoints(self, subject: Subject, limit: int = 1) -> list[Checkpoint]: ...

    async def point(self, gone: Gone, wish: Wish) -> None: ...

    def beginning(self) -> Bookmark | None: ...


class Reading:
    """An asynchronous iterator over all that was acknowledged when it began; `follow` goes on when that is done.

    `bookmark` is always the place after the change that was yielded last, so that a reader which comes again from there
    sees every change once.
    """

    def __init__(self, library: AnyLibrary, wish: Wish, timeout_s: float) -> None:
        self._library = library
        self._wish = wish
        self._timeout_s = timeout_s
        self._cursor: AnyCursor | None = None
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
        return self._cursor.bookmark_before(self._ready)

    async def begin(self) -> None:
        """Finds its place, which the first change does otherwise."""
        if self._cursor is None:
            self._cursor = await self._opened()

    async def _opened(self) -> AnyCursor:
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

    async def _at_end(self, cursor: AnyCursor) -> bool:
        """Who was asked may not have all that was acknowledged: then somebody else is asked."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout_s
        while not cursor.is_closed:
            if loop.time() > deadline:
                raise NotReadable("the rest of the log", "no participant shows all that was acknowledged")
            cursor.look_again()
            self._ready.extend(await cursor.step(RUN))
            if self._ready or not cursor.is_exhausted:
                return True
            await asyncio.sleep(BEHIND_S)
        return False


class Follow(Reading):
    """Never ends. Participants may come and go, and buckets be split, meanwhile.

    With a `name` it begins where that name was last committed, and what comes after that is held: no retention drops it
    before the name is committed further. The hold lasts for `hold_s`, and is renewed as long as somebody asks for the
    next change, whether or not one comes.
    """

    def __init__(
        self, library: AnyLibrary, wish: Wish, timeout_s: float, name: str = "", hold_s: float = HOLD_S
    ) -> None:
        super().__init__(library, wish, timeout_s)
        self.name = name
        self._hold_s = hold_s
        self._held: Bookmark | None = None
        """Where the name is, as far as it is known here."""
        self._renew_at = 0.0
        self._idle_s = BEHIND_S

    async def _opened(self) -> AnyCursor:
        library = self._library
        if not self.name:
            return await library.cursor(self._wish, to_end=False, chunk=RUN)
        held = await library.held(self.name)
        if held is not None:
            cursor = await library.cursor(self._wish._replace(since=held), to_end=False, chunk=RUN)
            await self._hold(held)
            return cursor
        cursor = await library.cursor(self._wish, to_end=False, chunk=RUN)
        await self._hold(await library.placed(cursor))
        return cursor

    async def commit(self) -> Bookmark:
        """Whoever follows under this name goes on after the change that was yielded last."""
        if not self.name:
            raise ValueError("only a follower with a name has a place to commit: follow(name=...)")
        await self.begin()
        bookmark = self.bookmark
        await self._hold(bookmark)
        return bookmark

    async def _hold(self, at: Bookmark) -> None:
        await self._library.hold(self.name, at, self._hold_s)
        self._held = at
        self._renew_at = asyncio.get_running_loop().time() + self._hold_s / RENEWALS

    async def _renew(self) -> None:
        """The hold is over otherwise, of who waits for what is long in coming. Another program may have committed under
        the same name meanwhile: its place stays."""
        loop = asyncio.get_running_loop()
        if self._held is None or loop.time() < self._renew_at:
            return
        self._renew_at = loop.time() + max(RENEW_S_MIN, self._hold_s / RENEWALS / 10)  # unless it comes to something
        with suppress(ReadError):
            await self._hold(await self._library.held(self.name) or self._held)

    async def _more(self) -> bool:
        while True:
            await self._renew()
            try:
                return await super()._more()
            except NotReadable:
                await asyncio.sleep(self._idle_s)  # they will be back

    async def _at_end(self, cursor: AnyCursor) -> bool:
        before = cursor.position
        left_s = None if self._held is None else max(0.0, self._renew_at - asyncio.get_running_loop().time())
        cursor.look_again(await self._library.risen(cursor, left_s))
        self._ready.extend(await cursor.step(RUN))
        if not self._ready and cursor.position == before:  # who was asked does not know of it yet; somebody else may
            cursor.look_again()
            await asyncio.sleep(self._idle_s)
        return True

    def __repr__(self) -> str:
        where: Any = self.bookmark if self._cursor is not None else "not begun"
        return f"<Follow {self.name or '(no name)'} at {where}>"
