"""One connection to a participant, shared by all who have business there: the handshake, frames out, answers in.

Whoever rides on it registers the ids of what it sends, and is given the answers to those; it knows nothing of what they
mean. Ids are unique among all who ride.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final, Protocol, cast

from hansard.batch import trust
from hansard.wire.codec import Codec
from hansard.wire.errors import MalformedFrame, WireError
from hansard.wire.frame import Frame, FrameReader
from hansard.wire.handshake import Hello, Role, agreed_version, greeting, understood
from hansard.wire.request import Answer, Request
from hansard.wire.submission import Stored

HELLO: Final = Hello(Role.CLIENT)
WRITE_BYTES_MAX: Final = 1 << 20
"""In the transport's buffer: beyond it the client holds back, and what comes gathers into larger batches."""


class Rider(Protocol):
    """Somebody with business at a participant."""

    def answered(self, link: "Link", answers: list[Answer]) -> None: ...

    def lost(self, link: "Link") -> None:
        """There will be no more answers."""

    def writable(self) -> None:
        """There is room again for what is to be sent."""


class Link(asyncio.BufferedProtocol):
    """`ready` is done when both sides have said hello, or has the error that came instead. One that is `kept` stays
    open when nobody has any business there."""

    def __init__(self, hello: Hello = HELLO, *, kept: bool = False) -> None:
        loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[Hello] = loop.create_future()
        self.is_full = False
        """The transport has enough for now."""
        self.heard = loop.time()
        """When anything came last."""
        self._loop = loop
        self._hello = hello
        self._kept = kept
        self._riders: dict[Rider, None] = {}
        self._asked: dict[int, Rider] = {}
        """By ids of what is not answered."""
        self._reader = FrameReader()
        self._codec: Codec[Any] = Codec(Answer, trust)
        self._transport: asyncio.Transport | None = None

    @property
    def is_lost(self) -> bool:
        """Or about to be: nobody should begin anything here."""
        return self._transport is None or self._transport.is_closing()

    @property
    def unwritten(self) -> int:
        """Bytes that wait for the other side to take them."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    # Riding.

    def join(self, rider: Rider) -> None:
        assert self._transport is not None
        self._riders[rider] = None

    def part(self, rider: Rider) -> None:
        """What it still would be answered is nobody's; the last one closes the door, unless it is kept open."""
        if self._riders.pop(rider, self) is self:
            return
        self._asked = {id: other for id, other in self._asked.items() if other is not rider}
        if not self._riders and not self._kept:
            self.drop()

    def send(self, requests: Sequence[Request], rider: Rider) -> None:
        assert self._transport is not None
        for request in requests:
            self._asked[request.id] = rider
        self._transport.writelines(self._codec.encode(requests))

    def drop(self) -> None:
        """At once, and whatever is still to be written with it."""
        if self._transport is not None:
            self._transport.abort()

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(WRITE_BYTES_MAX)
        self._transport.writelines(greeting(self._hello))

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 (the reader knows better how much is to come)
        return self._reader.room()

    def buffer_updated(self, nbytes: int) -> None:
        self.heard = self._loop.time()
        try:
            for frame in self._reader.filled(nbytes):
                self._take(frame)
        except WireError as error:
            self._fail(error)

    def _take(self, frame: Frame) -> None:
        if self.ready.done():
            self._deal(self._codec.decode(frame))
            return
        hello = understood(frame)
        agreed_version(self._hello, hello)
        if hello.role is not Role.PARTICIPANT:
            raise MalformedFrame("the other side is a client as well")
        self.ready.set_result(hello)

    def _deal(self, answers: list[Answer]) -> None:
        """To each its own, in one go. Answers to what was given up are late, and tell nobody anything."""
        dealt: dict[Rider, list[Answer]] = {}
        for answer in answers:
            if isinstance(answer, Stored):
                for rider, part in self._receipts(answer).items():
                    dealt.setdefault(rider, []).append(part)
            else:
                asker = self._asked.pop(answer.id, None)
                if asker is not None:
                    dealt.setdefault(asker, []).append(answer)
        for rider, its in dealt.items():
            rider.answered(self, its)

    def _receipts(self, stored: Stored) -> dict[Rider, Stored]:
        parts: dict[Rider, Stored] = {}
        if not len(stored.ids) == len(stored.offsets) == len(stored.timestamps):
            raise MalformedFrame("receipts whose columns are not of the same length")
        for id, offset, timestamp in zip(stored.ids, stored.offsets, stored.timestamps, strict=True):
            rider = self._asked.pop(id, None)
            if rider is not None:
                part = parts.get(rider)
                if part is None:
                    part = parts[rider] = Stored([], [], [])
                part.ids.append(id)
                part.offsets.append(offset)
                part.timestamps.append(timestamp)
        return parts

    def _fail(self, error: Exception) -> None:
        if not self.ready.done():
            self.ready.set_exception(error)
        self.drop()

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        for rider in list(self._riders):
            rider.writable()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ready.done():
            self.ready.set_exception(exc or ConnectionResetError("the other side hung up"))
        self._transport = None
        riders, self._riders, self._asked = self._riders, {}, {}
        for rider in riders:
            rider.lost(self)
