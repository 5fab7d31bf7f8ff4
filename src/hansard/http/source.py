"""Where pages come from: a client of this very cluster, in this loop. Any participant reads all buckets that way.

Who asks for the same at the same time shares one read: a thousand who follow the same thing cost as much as one. And
whoever waits, whatever for, waits with all others: our client may read everything, and asks each bucket once for all.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from ssl import SSLContext
from typing import Any, Final, Literal, NamedTuple, TypeVar

from hansard.bookmark import BadPlace, Bookmark, LogError, WrongLog
from hansard.client import AsyncClient
from hansard.client.errors import ClientError, Gone
from hansard.client.page import Page

from .problem import Refusal, Retained

Place = Bookmark | datetime
Found = TypeVar("Found")
PAGE_BYTES_MAX: Final = 16 << 20
"""With the change that reaches it a page ends."""
READ_S: Final = 10.0
"""So long whoever has a bucket may take to answer."""


class Query(NamedTuple):
    """What is asked for, as `AsyncClient.page` has it."""

    since: Place | None = None
    until: Place | None = None
    tags: tuple[str, ...] = ()
    match: Literal["any", "all"] = "any"
    key: bytes | None = None
    buckets: tuple[int, ...] | None = None
    limit: int = 1000
    bytes_max: int = PAGE_BYTES_MAX
    block_s: float = 0.0
    order: Literal["asc", "desc"] = "asc"


class Shared:
    """A page that several may have asked for, with what was made of it for all of them."""

    __slots__ = ("made", "page")

    def __init__(self, page: Page) -> None:
        self.page = page
        self.made: asyncio.Future[bytes] | None = None


class Means(NamedTuple):
    """What the client is made with: where this participant's own binary protocol is spoken, and who we are there."""

    address: str
    token: str
    tls: SSLContext | None


class Source:
    """`means` says how the client would be made now. It reads in the name of this participant: what each may see is
    decided before and after."""

    def __init__(self, means: Callable[[], Means]) -> None:
        self._means = means
        self._used: Means | None = None
        self._client: AsyncClient | None = None
        self._connecting = asyncio.Lock()
        self._running: dict[Query, asyncio.Task[Shared]] = {}
        self._retired: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        for task in list(self._running.values()):
            task.cancel()
        if self._client is not None:
            await self._client.close()

    async def _reader(self) -> AsyncClient:
        means = self._means()
        if self._client is not None and self._used == means:
            return self._client
        async with self._connecting:
            if self._client is None or self._used != means:
                before = self._client
                self._client = await AsyncClient.connect(
                    [means.address], timeout_s=READ_S, token=means.token, tls=means.tls, guarded=False
                )
                self._used = means
                if before is not None:
                    self._retire(before)
        return self._client

    def _retire(self, client: AsyncClient) -> None:
        """Who waits there asks again elsewhere."""
        task = asyncio.get_running_loop().create_task(client.close())
        self._retired.add(task)
        task.add_done_callback(self._retired.discard)

    async def page(self, query: Query) -> Shared:
        running = self._running.get(query)
        if running is None:
            running = self._running[query] = asyncio.get_running_loop().create_task(self._read(query))
            running.add_done_callback(lambda _: self._running.pop(query, None))
        # One who goes away takes nothing from the others.
        return await asyncio.shield(running)

    async def _read(self, query: Query) -> Shared:
        arguments: dict[str, Any] = query._asdict()
        return Shared(await self._asked(lambda reader: reader.page(**arguments)))

    async def bookmark(self, at: datetime | None) -> Bookmark:
        return await self._asked(lambda reader: reader.bookmark(at))

    async def _asked(self, ask: Callable[[AsyncClient], Awaitable[Found]]) -> Found:
        try:
            return await ask(await self._reader())
        except Gone as error:
            raise NotKept(error) from error
        except WrongLog as error:
            raise Refusal("wrong-log", "the bookmark was made by another log than this one") from error
        except BadPlace as error:
            raise Refusal("bad-request", str(error)) from error
        except LogError as error:
            raise Refusal("not-reachable", str(error)) from error
        except ClientError as error:
            raise Refusal("not-reachable", "what has it did not answer in time") from error
        except ValueError as error:
            raise Refusal("bad-request", str(error)) from error


class NotKept(Exception):
    """What is asked for is not retained any more; how that is said depends on who asks."""

    def __init__(self, gone: Gone) -> None:
        super().__init__(str(gone))
        self.start = gone.start
        self.checkpoint = gone.checkpoint
        self.retained = [Retained(bucket, offset) for bucket, offset in sorted(gone.retained.items())]
