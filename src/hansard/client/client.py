"""The client: submits changes to a bucket's leader, and returns when they are on the disk of every member."""

import asyncio
from collections.abc import Sequence
from random import Random
from types import TracebackType
from typing import Final, Self

from msgspec.structs import replace

from hansard.batch import Batch, Text, build

from .change import Checked, checked
from .courier import Courier
from .errors import ClientClosed
from .gate import Gate
from .receipts import Receipt, Receipts
from .roster import Backoff, Roster
from .settings import Settings
from .stream import Stream
from .submission import Draft, Parcel

BUCKET: Final = 0
"""There is one bucket so far."""


class AsyncClient:
    """Made by `connect`, and used from one event loop. What is submitted in one turn of it goes as one batch.

    With a `connection` number, which nobody may have used before, changes are stored once and in the order in which
    they were submitted, whatever happens to connections and leaders. Without one a change whose outcome is not known
    is not sent again.
    """

    def __init__(self, addresses: Sequence[str], connection: int, settings: Settings, random: Random) -> None:
        self._settings = settings
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._gate = Gate(settings.gathered_changes, settings.gathered_bytes)
        self._stream = Stream(BUCKET, connection, settings, self._gate.leave)
        self._draft: Draft | None = None
        roster = Roster(addresses, Backoff(settings.backoff_min_s, settings.backoff_max_s, random))
        backoff = Backoff(settings.backoff_min_s, settings.backoff_max_s, random)
        self._courier = Courier(self._stream, roster, backoff, settings)
        self._is_closed = False

    @classmethod
    async def connect(
        cls,
        addresses: Sequence[str],
        *,
        connection: int = 0,
        timeout_s: float = 10.0,
        settings: Settings | None = None,
        random: Random | None = None,
    ) -> Self:
        """To whichever of the addresses ("host:port") answers; NotReachable if none does until the timeout."""
        settings = replace(settings or Settings(), timeout_s=timeout_s)
        client = cls(addresses, connection, settings, random or Random())
        is_open = False
        try:
            await client._courier.open(client._loop.time() + settings.timeout_s)
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
        self._gate.shut(ClientClosed())
        self._stream.close(ClientClosed())
        await self._courier.close()

    # Submitting.

    async def submit(self, key: Text | None = None, value: Text | None = None, tags: Sequence[str] = ()) -> Receipt:
        """One change. A value of None says that the key is deleted. Who is cancelled here may yet have it stored."""
        change = checked(key, value, tags)
        self._check_open(by_caller=False)
        if not self._gate.admits(1, change.byte_count):
            await self._enter(1, change.byte_count)
        future: asyncio.Future[Receipt] = self._loop.create_future()
        self._open_draft(change).add(change, future)
        self._courier.announce()
        return await future

    def _open_draft(self, change: Checked) -> Draft:
        """The one that gathers now, or a new one."""
        draft, settings, now = self._draft, self._settings, self._loop.time()
        if (
            draft is None
            or not self._stream.waiting
            or self._stream.waiting[-1] is not draft
            or draft.change_count >= settings.batch_changes
            or draft.length + change.byte_count > settings.batch_bytes
            or draft.open_until < now
        ):
            draft = self._draft = Draft(now + settings.timeout_s, now + settings.draft_s)
            self._stream.put(draft)
        return draft

    async def submit_many(
        self,
        keys: Sequence[Text | None],
        values: Sequence[Text | None],
        tags: Sequence[Sequence[str]] | None = None,
    ) -> Receipts:
        """One batch from columns of equal length: stored as a whole or not at all."""
        return await self._submit(build(keys, values, tags), by_caller=False)

    async def submit_batch(self, batch: Batch) -> Receipts:
        """A batch that the caller built and, if this client has a connection number, gave its series.

        Then all batches of this client have to be numbered by the caller.
        """
        if batch.header.connection != self._connection:
            raise ValueError(
                f"the batch is of connection {batch.header.connection}, and this client of {self._connection}"
            )
        return await self._submit(batch, by_caller=True)

    async def _submit(self, batch: Batch, *, by_caller: bool) -> Receipts:
        self._check_open(by_caller=by_caller)
        changes, byte_count = len(batch), batch.length
        if not self._gate.admits(changes, byte_count):
            await self._enter(changes, byte_count)
        future: asyncio.Future[Receipts] = self._loop.create_future()
        self._stream.put(Parcel(self._loop.time() + self._settings.timeout_s, batch, future))
        self._courier.announce()
        return await future

    async def _enter(self, changes: int, byte_count: int) -> None:
        await self._gate.enter(changes, byte_count, self._loop.time() + self._settings.timeout_s)
        ended = self._stream.ended
        if ended is not None:
            self._gate.leave(changes, byte_count)
            raise ended.again()

    def _check_open(self, *, by_caller: bool) -> None:
        stream = self._stream
        if self._is_closed:
            raise ClientClosed
        if stream.ended is not None:
            raise stream.ended.again()
        if not stream.connection:
            return
        if stream.by_caller is None:
            stream.by_caller = by_caller
        elif stream.by_caller != by_caller:
            raise ValueError("a stream is numbered by the client (submit, submit_many) or by the caller (submit_batch)")
