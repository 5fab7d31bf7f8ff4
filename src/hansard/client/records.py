"""What a library knows of checkpoints, from their records in the log; the same for both libraries."""

from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Final

from hansard.bookmark import Bookmark
from hansard.checkpoint import BadSubject, Docket, Subject

from .checkpoints import Checkpoint, checkpoint_of, docket_of
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

    async def checkpoints(self, subject: Subject, limit: int = 1) -> list[Checkpoint]:
        """Of exactly these tags, the newest first."""
        found = [checkpoint_of(subject, end) for end in (await self.docket(subject, limit)).ends]
        return [checkpoint for checkpoint in reversed(found) if checkpoint is not None][:limit]

    async def point(self, gone: Gone, wish: Wish) -> None:
        """Whoever has come too late is told of the newest checkpoint from which it can go on."""
        if gone.checkpoint is None:
            with suppress(ReadError, BadSubject):
                subject = Subject.of(wish.tags, wish.match)
                for newest in await self.checkpoints(subject):
                    if newest.is_followed_from(gone.start):
                        gone.checkpoint = newest
