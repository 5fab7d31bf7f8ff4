"""Reaching a cluster over the binary protocol: joining it, and keeping up with the table of buckets."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from random import Random
from ssl import SSLContext
from typing import Any, Final

from msgspec.structs import replace

from hansard.wire.request import Table, Tabled

from .atlas import Atlas
from .correspondence import GRACE_S, Correspondence
from .courier import Courier
from .errors import NotReachable, NotReadable, ReadError, Refused
from .library import Library
from .link import HELLO
from .numbering import Numbering
from .reading import Reader
from .roster import Backoff, Roster, Way
from .settings import Settings
from .stream import Stream
from .submitter import Submitter
from .switchboard import Switchboard

TABLE_S: Final = 25.0
"""A newer table is waited for so long, and then asked for again."""
TABLE_PAUSE_S: Final = 0.1
"""While much is moved, not every version of it is asked for."""


class Binary:
    """`submitter` and `library` are there once it has joined. It has no library for a skeleton."""

    def __init__(
        self, addresses: Sequence[str], settings: Settings, random: Random, token: str, tls: SSLContext | None
    ) -> None:
        self._settings = settings
        self._random = random
        self._seats = Roster(addresses, self._backoff())
        hello = replace(HELLO, token=token) if token else HELLO
        self._switchboards = [Switchboard(settings.timeout_s, hello, tls, kept=kept) for kept in (False, True)]
        """For submissions, and for all else: who reads a large page does not hold up a receipt."""
        self.atlas = Atlas(addresses)
        self._correspondence = Correspondence(self.atlas, self._switchboards[1], self._backoff)
        self.submitter: Submitter | None = None
        self.library: Library | None = None
        self.forbidden = ""
        """Why it may not submit."""
        self._watching: asyncio.Task[None] | None = None

    def _backoff(self) -> Backoff:
        return Backoff(self._settings.backoff_min_s, self._settings.backoff_max_s, self._random)

    @property
    def buckets(self) -> int:
        return len(self.atlas.buckets)

    @property
    def log_id(self) -> str:
        return self.atlas.log_id

    async def join(self, name: str, *, guarded: bool) -> None:
        settings, loop = self._settings, asyncio.get_running_loop()
        deadline = loop.time() + settings.timeout_s
        try:
            table = await self._correspondence.table(settings.timeout_s, settings.timeout_s / 3)
            number = await self._numbered(name, max(0.1, deadline - loop.time()))
        except NotReadable as error:
            raise NotReachable(str(error)) from error
        self.atlas.begin(table)
        submitter = self.submitter = Submitter(
            self.atlas, Numbering(number), settings, self._courier, None if name else self._new_number
        )
        submitter.halved = self._halved
        reader = Reader(self.atlas, self._correspondence, self._backoff, self._random)
        reader.stored_end = submitter.stored_end
        self.library = Library(self.atlas, self._correspondence, reader, self._refresh, settings.timeout_s)
        self.library.guarded = guarded
        self._watching = loop.create_task(self._watch(submitter))

    async def _numbered(self, name: str, timeout_s: float) -> int:
        """A connection number; 0 for who may only read."""
        try:
            return await self._correspondence.connect(name, 0, timeout_s)
        except Refused as error:
            self.forbidden = error.reason
            return 0

    async def join_skeleton(self, connection: int) -> None:
        """With a connection number (0: none) of its own choice, and no table: all is sent to one bucket."""
        self.submitter = Submitter(
            self.atlas, Numbering(connection), self._settings, self._skeleton_courier, is_skeleton=True
        )
        deadline = asyncio.get_running_loop().time() + self._settings.timeout_s
        await self.submitter.lane(0).courier.open(deadline)

    def _courier(self, stream: Stream) -> Courier:
        way = Way(stream.bucket, self.atlas, self._backoff())
        return Courier(stream, way, self._backoff(), self._switchboards[0], self._settings)

    def _skeleton_courier(self, stream: Stream) -> Courier:
        return Courier(stream, self._seats, self._backoff(), self._switchboards[0], self._settings)

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        if self.submitter is not None:
            await self.submitter.close()
        if self.library is not None:
            await self.library.close()
        for switchboard in self._switchboards:
            await switchboard.close()

    # The table.

    async def _watch(self, submitter: Submitter) -> None:
        """Whoever knows of a newer one says so at once."""
        while True:
            with suppress(ReadError):
                await self._ask_for_table(submitter, TABLE_S)
            await asyncio.sleep(TABLE_PAUSE_S)

    async def _refresh(self) -> None:
        assert self.submitter is not None
        with suppress(ReadError):
            await self._ask_for_table(self.submitter, 0)

    async def _ask_for_table(self, submitter: Submitter, wait_s: float) -> None:
        version, wait_us = self.atlas.version, int(wait_s * 1_000_000)
        timeout_s = wait_s + self._settings.timeout_s
        tabled = await self._correspondence.ask_anybody(
            lambda id: Table(id, version, wait_us), Tabled, "the table of buckets", timeout_s, wait_s + GRACE_S
        )
        for bucket, level in self.atlas.update(tabled):
            submitter.split(bucket, level)
        submitter.reroute()

    def _halved(self, bucket: int) -> None:
        """A bucket was split."""
        if self.library is not None:
            self.library.wake(bucket)

    # Asking.

    async def connect(self, name: str, broken: int) -> int:
        """Another connection number."""
        return await self._correspondence.connect(name, broken, self._settings.timeout_s)

    async def _new_number(self) -> int:
        try:
            return await self.connect("", 0)
        except ReadError as error:
            raise NotReachable(str(error)) from error

    async def ask(self, question: dict[str, Any]) -> Any:
        return await self._correspondence.question(question, self._settings.timeout_s)
