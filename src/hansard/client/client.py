"""The client of a whole cluster: submits each change to the leader of its bucket, and reads all buckets as one log."""

from collections.abc import Collection, Sequence
from datetime import datetime
from random import Random
from ssl import SSLContext
from types import TracebackType
from typing import Any, Self

from msgspec.structs import replace

from hansard.batch import Batch, Text
from hansard.bookmark import Bookmark
from hansard.checkpoint import Subject

from .binary import Binary
from .bootstrap import Bootstrap
from .change import Value, checked
from .checkpoints import Checkpoint
from .columns import checked_columns
from .cursor import PAGE_BYTES
from .errors import InvalidSubmission, NotReachable
from .following import HOLD_S, Follow, Reading
from .library import Library, Place, Wish
from .page import Page
from .producer import LINGER_S, LOT_BYTES_MAX, WINDOW, Producer
from .reading import Match, Order
from .receipts import Receipt
from .settings import Settings
from .submitter import Submitter
from .web import Web, WebLibrary, is_web


class AsyncClient:
    """Made by `connect`, and used from one event loop. What is submitted in one turn of it goes as one batch to each
    bucket.

    It has a connection number of its own, by which every change is stored once, and the changes of each key in the
    order in which they were submitted, whatever happens to connections, leaders and buckets.
    """

    def __init__(self, door: Binary | Web, settings: Settings) -> None:
        self._door = door
        self._settings = settings
        self._name = ""
        self._is_closed = False

    @classmethod
    async def connect(
        cls,
        addresses: Sequence[str],
        *,
        timeout_s: float = 10.0,
        token: str = "",
        tls: SSLContext | None = None,
        name: str = "",
        connection: int | None = None,
        guarded: bool | None = None,
        settings: Settings | None = None,
        random: Random | None = None,
    ) -> Self:
        """To the cluster of whichever of the addresses ("host:port") answers; NotReachable if none does until the
        timeout. Addresses such as "http://host:port" or "https://host" are those of the HTTP API, for places where
        nothing else goes out.

        A `name` gets the same connection number each time, and its program numbers its batches itself: it submits by
        `submit_batch` only, because nobody else knows which numbers were used before.

        A token may allow some tags only, so who has one waits for each choice of tags by itself. Where the token is
        known to allow everything, `guarded=False` lets all readers of this client wait together.

        With a `connection` number (0: none) no table is asked for, and all is sent to one bucket: for `hansard
        skeleton`.
        """
        settings = replace(settings or Settings(), timeout_s=timeout_s)
        random = random or Random()
        if is_web(addresses):
            if connection is not None:
                raise ValueError("over HTTP there are connections that were asked for, and no others")
            client = cls(Web(addresses, settings, random, token, tls), settings)
        else:
            client = cls(Binary(addresses, settings, random, token, tls), settings)
        client._name = name
        is_open = False
        try:
            if connection is None:
                await client._door.join(name, guarded=bool(token) if guarded is None else guarded)
            else:
                assert isinstance(client._door, Binary)
                await client._door.join_skeleton(connection)
            is_open = True
        finally:
            if not is_open:
                await client.close()
        return client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """At once: whoever still waits is told. Closing twice is harmless."""
        if self._is_closed:
            return
        self._is_closed = True
        await self._door.close()

    # Who it is.

    @property
    def connection(self) -> int:
        """The number of its connection; another one after a stream had to be given up."""
        assert self._submitter is not None
        return self._submitter.connection

    @property
    def buckets(self) -> int:
        """So many there are, as far as it is known."""
        return self._door.buckets

    @property
    def log_id(self) -> str:
        """Of the log; bookmarks have it."""
        return self._door.log_id

    async def renew(self) -> int:
        """Go on under another connection number, after StreamBroken or StreamEnded under a name: whoever calls this has
        found out what is stored, and submits what is not. The series begin at 0 again."""
        number = await self._door.connect(self._name, self.connection)
        await self._submits.begin_anew(number, everywhere=True)
        return number

    async def adopt(self, connection: int) -> None:
        """Go on under a number that another client was given, for batches that several processes number alike: whatever
        of them is stored under it is not stored again. Nothing may be on its way."""
        await self._submits.begin_anew(connection, everywhere=True)

    # Submitting.

    @property
    def _submitter(self) -> Submitter | None:
        return self._door.submitter

    @property
    def _submits(self) -> Submitter:
        assert self._submitter is not None, "connect() makes a client"
        if self._door.forbidden:
            raise InvalidSubmission(self._door.forbidden)
        return self._submitter

    def _numbering_submits(self) -> Submitter:
        """It gives the numbers."""
        if self._name:
            raise ValueError(
                f"not stored: the connection {self._name!r} has a name, and who was there before may have used the "
                "same numbers; number the batches in your program and use submit_batch, or connect without a name"
            )
        return self._submits

    async def submit(self, key: Text | None = None, value: Value | None = None, tags: Sequence[str] = ()) -> Receipt:
        """One change. A value of None says that the key is deleted; a dict, list, number or bool is stored as JSON. Who
        is cancelled here may yet have it stored."""
        submitter = self._door.submitter
        if submitter is None or self._name or self._door.forbidden:
            submitter = self._numbering_submits()  # which says why not
        change = checked(key, value, tags)
        future = submitter.offer(change)
        return await (submitter.submit(change) if future is None else future)

    async def submit_many(
        self,
        keys: Sequence[Text | None],
        values: Sequence[Value | None],
        tags: Sequence[Sequence[str]] | None = None,
    ) -> Sequence[Receipt]:
        """Columns of equal length, as one batch for each bucket: what is in one is stored as a whole or not at all.
        Where that came out differently for some of them, PartlyStored says it of each change. What no batch can hold
        (16 MiB for one bucket) is LimitExceeded; a `producer` takes any amount."""
        return await self._numbering_submits().submit_columns(checked_columns(keys, values, tags))

    async def submit_batch(self, batch: Batch) -> Sequence[Receipt]:
        """A batch that the caller built and, if this client has a connection number, gave that and its series.

        Then all batches of this client have to be numbered by the caller, rising. Which of them went to which bucket is
        this client's business. The same batch under the same numbers is stored once, whoever submits it.
        """
        if batch.header.connection != self.connection:
            raise ValueError(
                f"the batch is of connection {batch.header.connection}, and this client of {self.connection}"
            )
        if isinstance(self._door, Web) and not self._name:
            raise ValueError("over HTTP a program that numbers its batches connects with a name")
        return await self._submits.submit_batch(batch, by_caller=True)

    def producer(
        self,
        *,
        window: int = WINDOW,
        linger_s: float = LINGER_S,
        batch_bytes: int | None = None,
        receipts: bool = False,
    ) -> Producer:
        """For many changes, one after the other: see there."""
        self._numbering_submits()
        if batch_bytes is None:
            batch_bytes = min(self._settings.batch_bytes, LOT_BYTES_MAX)
        return Producer(self.submit_many, window, linger_s, batch_bytes, receipts=receipts)

    # Reading.

    @property
    def _library(self) -> Library | WebLibrary | None:
        return self._door.library

    @property
    def _reads(self) -> Library | WebLibrary:
        if self._library is None:
            raise NotReachable("a client with a connection number of its own choice submits, and does not read")
        return self._library

    async def page(
        self,
        *,
        since: Place | None = None,
        until: Place | None = None,
        tags: Collection[str] = (),
        match: Match = "any",
        key: Text | None = None,
        buckets: Collection[int] | None = None,
        limit: int = 1_000,
        block_s: float = 0.0,
        order: Order = "asc",
        bytes_max: int = PAGE_BYTES,
    ) -> Page:
        """The next changes from a place on, or before one in descending order. Places are bookmarks, their tokens, or
        times; without one it begins where the log begins, or at its end. Where there is nothing yet it waits for up to
        `block_s`. It ends after `limit` changes, with the one that reaches `bytes_max`, or where there is no more."""
        wish = Wish(since, until, tags, match, key, buckets, order)
        return await self._reads.page(wish, limit, block_s, bytes_max)

    def read(
        self,
        *,
        since: Place | None = None,
        until: Place | None = None,
        tags: Collection[str] = (),
        match: Match = "any",
        key: Text | None = None,
        buckets: Collection[int] | None = None,
    ) -> Reading:
        """All changes between two places, up to the last one that was acknowledged before this began: `async for`."""
        return Reading(self._reads, Wish(since, until, tags, match, key, buckets), self._settings.timeout_s)

    def follow(
        self,
        *,
        since: Place | None = None,
        tags: Collection[str] = (),
        match: Match = "any",
        key: Text | None = None,
        buckets: Collection[int] | None = None,
        name: str = "",
        hold_s: float = HOLD_S,
    ) -> Follow:
        """All changes from a place on, and those that come, without end: `async for`. Without a place it begins where
        the log begins, or, with a `name`, where that was last committed."""
        return Follow(self._reads, Wish(since, None, tags, match, key, buckets), self._settings.timeout_s, name, hold_s)

    def bootstrap(self, *, tags: Collection[str] = (), match: Match = "any", location: str = "") -> Bootstrap:
        """The state of everything that carries these tags, from the newest checkpoint, and then all changes from there
        on, without end: `async for`. `location` says where the checkpoint's files are, if this machine sees them
        elsewhere than who made it."""
        subject = Subject.of(tags, match)
        wish = Wish(None, None, subject.tags, subject.match)
        return Bootstrap(self._reads, subject, wish, self._settings.timeout_s, location)

    async def checkpoints(
        self, *, tags: Collection[str] = (), match: Match = "any", limit: int = 10
    ) -> list[Checkpoint]:
        """Those that there are of exactly these tags, the newest first."""
        return await self._reads.checkpoints(Subject.of(tags, match), limit)

    async def bookmark(
        self, at: datetime | None = None, *, tags: Collection[str] = (), match: Match = "any"
    ) -> Bookmark:
        """The place after all that was acknowledged before this was called; or before the first change that is not
        before a time. Who may read some tags only says which."""
        return await self._reads.bookmark(at, tags, match)

    async def let_go(self, name: str) -> None:
        """A name that is not followed any more holds nothing."""
        await self._reads.let_go(name)

    async def ask(self, question: dict[str, Any]) -> Any:
        """A question of an operator (docs/reference/wire-protocol.md), of whichever participant answers."""
        return await self._door.ask(question)
