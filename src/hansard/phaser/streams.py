"""Submitting once: for each connection, the last series that the bucket has stored.

What is committed is *settled*: a table that is a function of the committed log alone, so that every member has the
same, and a snapshot of it can be handed to a newcomer or to both halves of a split. What is journalled and not
committed lies on top of it, in log order, and is unrolled with the log.

Connections are forgotten by the log's own time, in the order in which they were last heard of. Their numbers rise, so
the highest one forgotten tells a forgotten connection from a new one.
"""

from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np
from msgspec import Struct

from hansard.application import Entries
from hansard.batch import Batch, Flag

from .outcome import Receipt

NAME: Final = "streams"
VERSION: Final = 1
"""As any application's, under which the settled table is stored."""
NO_SERIES: Final = -1
NO_CONNECTION: Final = 0
RECEIPTS_MAX: Final = 32
"""Receipts kept for each connection: of what is older a client learns only that it is stored."""
RECEIPTS_TOTAL_MAX: Final = 100_000
"""Receipts kept in all, so that the table of a bucket with very many connections stays small enough to store."""


_SEVERAL: Final = Flag.CONNECTIONS | Flag.OFFSETS | Flag.TIMESTAMPS


class Piece(Struct, frozen=True, array_like=True, gc=False):
    """Changes of one connection that lie side by side in one batch."""

    connection: int
    first: int
    last: int
    count: int
    offset: int
    timestamp: int

    def receipt(self, first: int) -> Receipt | None:
        """Of a submission that begins with this series, if that can be told."""
        if first == self.first:
            return Receipt(self.offset, self.timestamp)
        if self.last - self.first + 1 == self.count:
            return Receipt(self.offset + first - self.first, self.timestamp)
        return None


def last_series(batch: Batch) -> int:
    """Of a client's batch."""
    header = batch.header
    return int(batch.series[-1]) if header.flags & Flag.SERIES else header.first_series + header.change_count - 1


def pieces(batch: Batch) -> Iterable[Piece]:
    """Of a client's batch one; of a merged one as many as connections follow each other in it. What was imported may
    have been cut otherwise than it was submitted: a piece has one time, and no gap in its offsets."""
    header = batch.header
    base, timestamp, count, flags = header.base_offset, header.first_timestamp, header.change_count, header.flags
    if flags & Flag.INTERNAL or not count:
        return ()
    if not flags & _SEVERAL:
        if header.connection == NO_CONNECTION:
            return ()
        return (Piece(header.connection, header.first_series, last_series(batch), count, base, timestamp),)
    connections, series, offsets, times = batch.connections, batch.series, batch.offsets, batch.timestamps
    breaks = connections[1:] != connections[:-1]
    if flags & (Flag.OFFSETS | Flag.TIMESTAMPS):
        breaks |= (offsets[1:] - offsets[:-1] != 1) | (times[1:] != times[:-1])
    starts = np.concatenate(([0], np.flatnonzero(breaks) + 1))
    lasts = np.concatenate((starts[1:], [count])) - 1
    columns = (connections[starts], series[starts], series[lasts], lasts - starts + 1, offsets[starts], times[starts])
    found = map(Piece, *[column.tolist() for column in columns])
    return [piece for piece in found if piece.connection != NO_CONNECTION]


class Stream(Struct, frozen=True, array_like=True, gc=False):
    """What is settled of one connection, as it is stored and sent."""

    last: int
    timestamp: int
    pieces: tuple[Piece, ...]


class Settled:
    """The same as it grows: with every piece that is committed."""

    __slots__ = ("last", "pieces", "timestamp")

    def __init__(self, last: int, timestamp: int, pieces: list[Piece]) -> None:
        self.last = last
        self.timestamp = timestamp
        self.pieces = pieces


class Fresh(Struct, frozen=True, gc=False):
    """To be appended; changes up to and with series `after` are there already and are left out."""

    after: int = NO_SERIES


class Known(Struct, frozen=True, gc=False):
    """All of it is there: to be answered when everything before `end` is committed."""

    end: int
    receipt: Receipt | None


class Early(Struct, frozen=True, gc=False):
    """Something before it is missing; this is the last that is there."""

    expected: int


class Forgotten(Struct, frozen=True, gc=False):
    pass


Verdict = Fresh | Known | Early | Forgotten


class Image(Struct, frozen=True, array_like=True):
    """The settled table as it is stored and sent."""

    forgotten: int
    streams: tuple[tuple[int, Stream], ...]


class Streams:
    """Invariants: `pending` is in log order; `settled` is in the order in which its connections were last heard of."""

    __slots__ = (
        "by_connection",
        "forgotten",
        "memory_us",
        "pending",
        "receipt_count",
        "recent",
        "settled",
    )

    def __init__(self, memory_us: int) -> None:
        self.memory_us = memory_us
        self.forgotten = 0
        """The highest connection that was forgotten."""
        self.settled: OrderedDict[int, Settled] = OrderedDict()
        self.recent: OrderedDict[int, None] = OrderedDict()
        """Those of the settled ones that still have receipts, in the same order."""
        self.receipt_count = 0
        self.pending: deque[Piece] = deque()
        self.by_connection: dict[int, deque[Piece]] = {}
        """The pending ones again, for each connection."""

    def last(self, connection: int) -> int | None:
        """The last series that is in the log, committed or not; None for a connection that is not known."""
        waiting = self.by_connection.get(connection)
        if waiting:
            return waiting[-1].last
        stream = self.settled.get(connection)
        return stream.last if stream else None

    def judge(self, connection: int, first: int, last: int, previous: int) -> Verdict:
        """Whether a submission is to be appended. The rule needs no contiguous series, so it survives a split."""
        assert connection != NO_CONNECTION
        stored = self.last(connection)
        if stored is None:
            if connection <= self.forgotten:
                return Forgotten()
            stored = NO_SERIES
        if previous > stored:
            return Early(stored)
        if last > stored:
            return Fresh(stored if first <= stored else NO_SERIES)
        return self._known(connection, first, last)

    def judge_continuation(self, connection: int, previous: int) -> Early | Forgotten | None:
        """Whether a stream may go on after this one, of which `previous` was the last series sent here."""
        if previous == NO_SERIES:
            return None
        stored = self.last(connection)
        if stored is None:
            return Forgotten() if connection <= self.forgotten else Early(NO_SERIES)
        return Early(stored) if previous > stored else None

    @property
    def keeps_all(self) -> bool:
        """Whoever is known will still be known when all that is pending is committed."""
        return not self.pending or self.pending[-1].timestamp <= self._oldest_us() + self.memory_us

    def _known(self, connection: int, first: int, last: int) -> Known:
        for piece in reversed(self.by_connection.get(connection, ())):
            if piece.first <= last:  # the last of it is here, and is not committed yet
                whole = piece.first <= first and last <= piece.last
                return Known(piece.offset + 1, piece.receipt(first) if whole else None)
        stream = self.settled.get(connection)
        if stream is None:  # before the first that is known of: only a client that goes back asks for it
            return Known(self.by_connection[connection][0].offset + 1, None)
        for piece in stream.pieces:
            if piece.first <= first and last <= piece.last:
                return Known(0, piece.receipt(first))
        return Known(0, None)

    # The log grows, is committed, is unrolled.

    def append(self, batch: Batch) -> None:
        for piece in pieces(batch):
            self.pending.append(piece)
            waiting = self.by_connection.get(piece.connection)
            if waiting is None:
                self.by_connection[piece.connection] = deque((piece,))
            else:
                waiting.append(piece)

    def commit(self, end: int) -> None:
        """Everything before an offset is committed: what it did is settled, and what is old by now is forgotten."""
        pending, settled, waiting_of, recent = self.pending, self.settled, self.by_connection, self.recent
        if not pending or pending[0].offset >= end:
            return
        forget_us = self._oldest_us() + self.memory_us
        while pending and pending[0].offset < end:
            piece = pending.popleft()
            connection, timestamp = piece.connection, piece.timestamp
            waiting = waiting_of[connection]
            waiting.popleft()
            if not waiting:
                del waiting_of[connection]
            stream = settled.get(connection)
            if stream is None:
                settled[connection] = Settled(piece.last, timestamp, [piece])
                recent[connection] = None
                self.receipt_count += 1
            else:
                stream.last, stream.timestamp = piece.last, timestamp
                settled.move_to_end(connection)
                self._keep(connection, stream.pieces, piece)
            if timestamp > forget_us or self.receipt_count > RECEIPTS_TOTAL_MAX:
                self._forget(timestamp - self.memory_us)
                forget_us = self._oldest_us() + self.memory_us

    def _keep(self, connection: int, pieces: list[Piece], piece: Piece) -> None:
        """As a receipt, the newest of its connection's."""
        pieces.append(piece)
        if len(pieces) > RECEIPTS_MAX:
            del pieces[0]
        else:
            self.receipt_count += 1
        self.recent[connection] = None
        self.recent.move_to_end(connection)

    def _oldest_us(self) -> int:
        """When the connection was heard of that was silent the longest, or will be the first to be."""
        for stream in self.settled.values():
            return stream.timestamp
        return self.pending[0].timestamp if self.pending else 0

    def _forget(self, before: int) -> None:
        """Connections that are too old, and receipts that are too many: those of who was silent the longest."""
        settled = self.settled
        while (oldest := next(iter(settled.items())))[1].timestamp < before:
            connection, stream = oldest
            del settled[connection]
            self.recent.pop(connection, None)
            self.receipt_count -= len(stream.pieces)
            self.forgotten = max(self.forgotten, connection)
        while self.receipt_count > RECEIPTS_TOTAL_MAX:
            connection, _ = self.recent.popitem(last=False)
            stream = settled[connection]
            self.receipt_count -= len(stream.pieces)
            stream.pieces.clear()

    def cut(self, end: int) -> None:
        """Everything from an offset on is unrolled, and what it did with it."""
        pending = self.pending
        while pending and pending[-1].offset >= end:
            connection = pending.pop().connection
            waiting = self.by_connection[connection]
            waiting.pop()
            if not waiting:
                del self.by_connection[connection]

    def entries(self) -> tuple[tuple[bytes | None, bytes], ...]:
        """The settled table as an application's image: both halves of a split need all of it."""
        return ((None, msgspec.msgpack.encode(self.image())),)

    def join(self, version: int, image: Entries) -> None:
        assert version == VERSION, f"a table of version {version}"
        ((_, content),) = image
        self.restore(msgspec.msgpack.decode(content, type=Image))

    def image(self) -> Image:
        streams = [(each, Stream(of.last, of.timestamp, tuple(of.pieces))) for each, of in self.settled.items()]
        return Image(self.forgotten, tuple(streams))

    def restore(self, image: Image) -> None:
        """The settled table becomes the image; nothing is pending."""
        self.forgotten = image.forgotten
        self.settled = OrderedDict(
            [(each, Settled(of.last, of.timestamp, list(of.pieces))) for each, of in image.streams]
        )
        self.recent = OrderedDict((connection, None) for connection, stream in image.streams if stream.pieces)
        self.receipt_count = sum(len(stream.pieces) for _, stream in image.streams)
        self.pending.clear()
        self.by_connection.clear()
