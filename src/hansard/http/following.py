"""`GET /changes/stream`: changes as they are committed, as server-sent events.

Each event is one change, and its id the bookmark after it: a browser that reconnects sends it as Last-Event-ID, and
goes on where it was, without a gap and without a repetition. When nothing happens, the bookmark alone is sent now and
then.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import msgspec
from starlette.responses import Response, StreamingResponse

from hansard.bookmark import Bookmark
from hansard.client.page import Page

from .access import READ, Guest
from .metrics import Metrics
from .operation import Call, Operation
from .problem import Refusal
from .reading import PROBLEMS, Filter, Reading, gone_for, place
from .sheet import form_of, places_after
from .source import NotKept, Query, Shared
from .workroom import portions

MEDIA_TYPE: Final = "text/event-stream"
PAUSE_S: Final = 15.0
"""After so long without an event the bookmark is sent: proxies end what is silent, and it is a fresher place."""
PAGE_CHANGES: Final = 500
RETRY_MS: Final = 1000
HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class Following:
    def __init__(self, reading: Reading, metrics: Metrics) -> None:
        self._reading = reading
        self._metrics = metrics
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        """Who follows is told to come again, elsewhere."""
        self._stopped.set()

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "follow",
                "GET",
                "/changes/stream",
                "Changes as they come, as server-sent events; from the end of the log on, unless told from where.",
                self.follow,
                scope=READ,
                whole=False,
                endless=True,
                query=Filter,
                headers={
                    "Last-Event-ID": (
                        "The id of the last event that was seen: it counts before `since`.",
                        {"type": "string", "format": "place"},
                    )
                },
                answers={200: {MEDIA_TYPE: str}},
                problems=PROBLEMS,
            )
        ]

    async def follow(self, call: Call) -> Response:
        self._reading.check_ready()
        guest = call.guest
        self._reading.seats.check(guest)  # what can be refused is refused before the stream begins
        query = self._reading.filtered(call.query, guest)
        resumed = call.request.headers.get("last-event-id")
        if resumed:
            query = query._replace(since=place(resumed, guest))
        if query.since is None:
            query = query._replace(since=await self._reading.source.bookmark(None))
        try:
            first = await self._page(query._replace(limit=PAGE_CHANGES))
        except NotKept as gone:
            raise gone_for(guest, gone) from gone
        return StreamingResponse(self._events(query, first, call), 200, HEADERS, MEDIA_TYPE)

    async def _events(self, query: Query, shared: Shared, call: Call) -> AsyncIterator[bytes]:
        """Whoever loses its rights meanwhile is told nothing more."""
        self._metrics.followers.inc()
        guest = call.guest
        try:
            with self._reading.seats.one(guest):
                yield b"retry: %d\n\n" % RETRY_MS
                while not self._stopped.is_set():
                    await guest.pace()
                    guest = call.again()
                    events = await self._rendered(shared, guest)
                    guest.used(len(shared.page.changes), len(events))
                    yield events
                    shared = await self._next(query._replace(since=shared.page.bookmark))
        except (Refusal, NotKept) as error:
            refusal = gone_for(guest, error) if isinstance(error, NotKept) else error
            yield b"event: problem\ndata: %b\n\n" % refusal.encoded()
        finally:
            self._metrics.followers.dec()

    async def _next(self, query: Query) -> Shared:
        """Something, or nothing after a while, or when everybody has to go."""
        reading = asyncio.ensure_future(self._page(query._replace(limit=PAGE_CHANGES, block_s=PAUSE_S)))
        stopping = asyncio.ensure_future(self._stopped.wait())
        try:
            await asyncio.wait((reading, stopping), return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                return reading.result()
            assert isinstance(query.since, Bookmark)
            return Shared(Page([], query.since, False, False, query.since))
        finally:
            reading.cancel()
            stopping.cancel()

    async def _page(self, query: Query) -> Shared:
        return await self._reading.source.page(query)

    async def _rendered(self, shared: Shared, guest: Guest) -> bytes:
        """Who is not limited sees the same as all others who are not."""
        page = shared.page
        if guest.limited:
            return await self._reading.made(page, lambda: _events_of(page, guest), marked=True)
        if shared.made is None:
            shared.made = asyncio.ensure_future(self._reading.made(page, lambda: _events_of(page, guest), marked=True))
        return await asyncio.shield(shared.made)


def _events_of(page: Page, guest: Guest) -> bytes:
    if not page.changes:
        return f"id: {guest.bookmark(page.bookmark)}\n\n".encode()
    pieces = []
    places = places_after(page)
    for portion in portions(len(page.changes)):
        for change, at in zip(page.changes[portion], places[portion], strict=True):
            data = msgspec.json.encode(form_of(change, guest))
            pieces.append(b"id: %b\nevent: change\ndata: %b\n\n" % (guest.bookmark(at).encode(), data))
    return b"".join(pieces)
