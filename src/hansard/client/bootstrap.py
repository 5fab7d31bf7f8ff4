"""Starting from a checkpoint: the state at its bookmark first, and then every change from there on, without end."""

import asyncio
from collections import deque
from typing import Final

from hansard.bookmark import Bookmark
from hansard.checkpoint import RECORDS, Subject

from .checkpoints import Checkpoint
from .following import RUN, AnyCursor, AnyLibrary, Follow
from .page import Change
from .state import State
from .wish import Wish

NOT_YET: Final = "the state is not loaded yet, and has no bookmark: read on until `is_loaded`"


class Bootstrap(Follow):
    """An asynchronous iterator: first the latest change of each key as the newest checkpoint has it, in no particular
    order, and without those that are deleted; then, in order, everything that comes after it. `is_loaded` says when the
    first part is over, and `state()` ends there.

    Who puts value after value under its key, and drops those that become None, has what somebody has who followed from
    the beginning. Where there is no checkpoint yet it does follow from the beginning; if that is not retained any more,
    that is `Gone`.
    """

    def __init__(self, library: AnyLibrary, subject: Subject, wish: Wish, timeout_s: float, location: str = "") -> None:
        super().__init__(library, wish, timeout_s)
        self.subject = subject
        self.checkpoint: Checkpoint | None = None
        """What it begins with; None before it has begun, and where there is none."""
        self._location = location
        self._state: State | None = None

    @property
    def is_loaded(self) -> bool:
        """All of the state was yielded: what comes now are changes, as they are made."""
        return self._cursor is not None and self._state is None

    @property
    def bookmark(self) -> Bookmark:
        """The place after the change that was yielded last; there is none before the state is loaded."""
        if self._state is not None:
            raise RuntimeError(NOT_YET)
        return super().bookmark

    async def commit(self) -> Bookmark:
        raise ValueError("who bootstraps has no name; go on from `bookmark` with follow(name=...)")

    async def _opened(self) -> AnyCursor:
        library = self._library
        newest = next(iter(await library.checkpoints(self.subject)), None)
        since = newest.bookmark if newest is not None else library.beginning()
        cursor = await library.cursor(self._wish._replace(since=since), to_end=False, chunk=RUN)
        self.checkpoint = newest
        self._state = State(newest, self._location) if newest is not None else None
        return cursor

    async def fill(self) -> bool:
        while await super().fill():
            if not self.subject.tags and self._state is None:
                # Who follows everything would see what checkpointers tell each other, which is nobody's state.
                self._ready = deque([change for change in self._ready if RECORDS not in change.tags])
            if self._ready:
                return True
        return False

    async def _more(self) -> bool:
        await self.begin()
        if self._state is None:
            return await super()._more()
        changes = await asyncio.to_thread(self._state.next)
        if changes is None:
            self._state = None
        else:
            self._ready.extend(changes)
        return True

    async def state(self) -> list[Change]:
        """All of the state at once: what it begins with, and nothing that came later. Iterating goes on after it."""
        await self.begin()
        found: list[Change] = []
        while self._state is not None:
            found += self._ready
            self._ready.clear()
            await self._more()
        return found
