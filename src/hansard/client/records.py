"""What a library knows of checkpoints, from their records in the log; the same for both libraries."""

from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Final

from hansard.bookmark import Bookmark
from hansard.checkpoint import BadSubject, Docket, Subject

from .checkpoints import docket_of, newest_of
from .errors import Gone, ReadError
from .page import Page
from .wish import Wish

RECORDS_PAGE: Final = 100


class Records(ABC):
    @abstractmethod
    async def _records(self, wish: Wish) -> Page:
        """A page of at most so many."""

    async def docket(self, subject: Subject, ends: int = 1) -> Docket:
        """What is known of the checkpoints of a subject, with the last ones that count."""

        async def before(until: Bookmark | None) -> Page:
            return await self._records(Wish(until=until, tags=(subject.name,), key=subject.key, order="desc"))

        return await docket_of(before, ends)

    async def point(self, gone: Gone, wish: Wish) -> None:
        """Whoever has come too late is told of the newest checkpoint from which it can go on."""
        if gone.checkpoint is None:
            with suppress(ReadError, BadSubject):
                subject = Subject.of(wish.tags, wish.match)
                newest = newest_of(subject, await self.docket(subject))
                if newest is not None and newest.is_followed_from(gone.start):
                    gone.checkpoint = newest
