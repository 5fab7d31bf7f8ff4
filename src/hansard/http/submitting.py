"""The way of a body to its buckets, and what became of it there.

A body is cut by where its keys live, and each piece goes to the core by itself; what comes in one turn of the loop is
merged there, whoever sent it. A piece that is refused because its bucket was split is cut anew here.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from hansard.batch import Batch, build, key_hash
from hansard.batch.keyhash import key_hashes
from hansard.batch.numbering import NO_SERIES
from hansard.distributor.bucket import Bucket
from hansard.participant.effect import Answer
from hansard.phaser import outcome as phaser

from .content import Rows
from .house import House
from .problem import Refusal
from .table import home_of, homes_of
from .workroom import PORTION, Workroom

LOOK_S: Final = 0.02
"""A table that is behind is looked at again after this time."""
ANY: Final = -1
"""Stands for whichever bucket it is."""


class Stream(NamedTuple):
    """What makes a body count once."""

    connection: int
    first: int
    """The series of its first change; the others follow."""
    previous: dict[int, int]
    """By bucket what was sent there before."""


class Piece(NamedTuple):
    bucket: int
    level: int
    batch: Batch
    places: Sequence[int]
    """Of its changes in the body."""


class Fate(NamedTuple):
    """Of one change."""

    outcome: phaser.Outcome
    bucket: int
    place: int
    """Among those of its piece."""
    retry_us: int = 0


class Part(NamedTuple):
    """What became of a piece."""

    outcome: phaser.Outcome
    bucket: int
    places: Sequence[int]
    retry_us: int = 0

    def fate(self, place: int) -> Fate:
        return Fate(self.outcome, self.bucket, place, self.retry_us)


def cut_one(rows: Rows, buckets: Sequence[Bucket], stream: Stream | None) -> Piece:
    """A body of one change, which is the usual case."""
    bucket, level = home_of(key_hash(rows.keys[0]), buckets)
    return Piece(bucket, level, _built(rows, stream, bucket, (0,)), (0,))


def cut(
    rows: Rows, buckets: Sequence[Bucket], stream: Stream | None, places: Sequence[int] | None = None
) -> list[Piece]:
    """`places`: only of these, by now."""
    if len(rows.values) == 1:
        return [cut_one(rows, buckets, stream)]
    chosen = list(range(len(rows.values))) if places is None else list(places)
    hashes = key_hashes([rows.keys[place] for place in chosen])
    found = homes_of(hashes, buckets)
    if stream is not None and ANY in stream.previous and len(found) > 1:
        detail = "its keys live in several buckets: name each with its own, as in `Hansard-Previous: 0=17, 3=20`"
        raise Refusal("bad-request", detail, stored="no")
    pieces = []
    for bucket, (level, own) in found.items():
        its = [chosen[place] for place in own]
        pieces.append(Piece(bucket, level, _built(rows, stream, bucket, its), its))
    return pieces


def _built(rows: Rows, stream: Stream | None, bucket: int, places: Sequence[int]) -> Batch:
    whole = len(places) == len(rows.values)
    keys, values, tags = rows.keys, rows.values, rows.tags
    if not whole:
        keys, values, tags = ([column[place] for place in places] for column in (keys, values, tags))  # type: ignore[assignment]
    if stream is None:
        return build(keys, values, tags)
    previous = stream.previous.get(bucket, stream.previous.get(ANY, NO_SERIES))
    return build(
        keys,
        values,
        tags,
        connection=stream.connection,
        first_series=stream.first + places[0],
        previous_series=previous,
        series=None if whole else [stream.first + place for place in places],
    )


class Submitter:
    """`house` takes the pieces; `now_s` is the loop's clock."""

    def __init__(self, house: House, workroom: Workroom, now_s: Callable[[], float]) -> None:
        self._house = house
        self._workroom = workroom
        self.now_s = now_s
        self.ends: dict[int, int] = {}
        """Of each bucket, behind the last change that was acknowledged here: whoever reads here next expects it."""

    def check_room(self) -> None:
        if not self._house.is_ready:
            raise Refusal("not-ready", "this participant does not take part in a cluster with buckets yet", stored="no")
        if self._house.is_holding():
            raise Refusal("busy", "too much waits already, or this participant is about to stop", stored="no")

    @property
    def buckets(self) -> Sequence[Bucket]:
        return self._house.core.distributor.buckets

    def hand_over(self, pieces: Sequence[Piece], wait_s: float) -> None:
        """Without waiting for what becomes of it."""
        for piece in pieces:
            self.send(piece, self.now_s() + wait_s, lambda _: None)

    def send(self, piece: Piece, deadline_s: float, told: Callable[[Part], None]) -> None:
        def answered(found: Answer) -> None:
            outcome = found.outcome
            if isinstance(outcome, phaser.Stored):
                end = outcome.receipt.offset + len(piece.batch) - outcome.repeated
                self.ends[piece.bucket] = max(end, self.ends.get(piece.bucket, 0))
            told(Part(outcome, piece.bucket, piece.places, found.retry_us))

        wait_us = max(1, int((deadline_s - self.now_s()) * 1e6))
        self._house.submit(piece.bucket, piece.batch, wait_us, piece.level, answered)

    async def submit(self, rows: Rows, pieces: Sequence[Piece], deadline_s: float, stream: Stream | None) -> list[Part]:
        """What became of each piece. Of what was cut anew the new pieces come behind, and count."""
        parts = await asyncio.gather(*[self._one(piece, deadline_s) for piece in pieces])
        return await self.follow_up(rows, parts, deadline_s, stream)

    async def follow_up(
        self, rows: Rows, parts: Sequence[Part], deadline_s: float, stream: Stream | None
    ) -> list[Part]:
        """The same, of pieces that were answered already."""
        settled: list[Part] = []
        while True:
            stale = [part for part in parts if isinstance(part.outcome, phaser.Misplaced)]
            settled += [part for part in parts if not isinstance(part.outcome, phaser.Misplaced)]
            if not stale:
                return settled
            pieces = await self._recut(rows, stale, stream, deadline_s)
            if not pieces:
                return settled + _given_up(stale, stream)
            parts = await asyncio.gather(*[self._one(piece, deadline_s) for piece in pieces])

    def _one(self, piece: Piece, deadline_s: float) -> "asyncio.Future[Part]":
        answered: asyncio.Future[Part] = asyncio.get_running_loop().create_future()

        def told(part: Part) -> None:
            if not answered.done():  # whoever asked may have gone
                answered.set_result(part)

        self.send(piece, deadline_s, told)
        return answered

    async def _recut(self, rows: Rows, stale: Sequence[Part], stream: Stream | None, deadline_s: float) -> list[Piece]:
        """As soon as we know the table by which it was refused; nothing where it cannot be done. What a stream names as
        sent before may be in the other half now, and only its client knows; one that names nothing has everything
        before it answered."""
        if stream is not None and stream.previous:
            return []
        while any(self.buckets[part.bucket].level < _level(part) for part in stale):
            if self.now_s() >= deadline_s:
                return []
            await asyncio.sleep(LOOK_S)
        places = sorted([place for part in stale for place in part.places])
        buckets = tuple(self.buckets)
        if len(places) <= PORTION:
            return cut(rows, buckets, stream, places)
        return await self._workroom.do(lambda: cut(rows, buckets, stream, places))


def _level(part: Part) -> int:
    assert isinstance(part.outcome, phaser.Misplaced)
    return part.outcome.buckets


def _given_up(stale: Sequence[Part], stream: Stream | None) -> list[Part]:
    """What was not cut anew is certainly not stored; what else is of the same body may be."""
    if stream is None or not stream.previous:
        return [part._replace(outcome=phaser.Expired()) for part in stale]
    return list(stale)
