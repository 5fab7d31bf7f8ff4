"""The way of a body to its buckets, and of what became of it to an answer.

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

LOOK_S: Final = 0.02
"""A table that is behind is looked at again after this time."""


class Stream(NamedTuple):
    """What makes a body count once."""

    connection: int
    first: int
    """The series of its first change; the others follow."""
    previous: dict[int, int]
    """By bucket what was sent there before; -1 as a bucket stands for whichever it is."""


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


ANY: Final = -1


def cut(rows: Rows, house: House, stream: Stream | None, places: Sequence[int] | None = None) -> list[Piece]:
    """`places`: only of these, by now."""
    buckets = house.core.distributor.buckets
    if len(rows.values) == 1:
        bucket, level = home_of(key_hash(rows.keys[0]), buckets)
        return [Piece(bucket, level, _built(rows, stream, bucket, (0,)), (0,))]
    chosen = list(range(len(rows.values))) if places is None else list(places)
    hashes = key_hashes([rows.keys[place] for place in chosen])
    found = homes_of(hashes, buckets)
    if stream is not None and ANY in stream.previous and len(found) > 1:
        detail = f"its keys live in the buckets {sorted(found)}: name each with its own, as in `Hansard-Previous: 0=17`"
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

    def __init__(self, house: House, now_s: Callable[[], float]) -> None:
        self._house = house
        self._now_s = now_s
        self.ends: dict[int, int] = {}
        """Of each bucket, behind the last change that was acknowledged here: whoever reads here next expects it."""

    def hand_over(self, rows: Rows, wait_s: float, stream: Stream | None) -> None:
        """Without waiting for what becomes of it."""
        self._check_room()
        for piece in cut(rows, self._house, stream):
            self._house.submit(piece.bucket, piece.batch, int(wait_s * 1e6), piece.level, lambda _: None)

    async def submit(self, rows: Rows, wait_s: float, stream: Stream | None) -> list[Fate]:
        """What became of each change, in the order of the body."""
        self._check_room()
        deadline_s = self._now_s() + wait_s
        pieces = cut(rows, self._house, stream)
        if len(rows.values) == 1:  # the usual case, without any lists
            answer = await self._one(pieces[0], deadline_s)
            if not isinstance(answer.outcome, phaser.Misplaced):
                return [Fate(answer.outcome, pieces[0].bucket, 0, answer.retry_us)]
            answers = [answer]
        else:
            answers = await asyncio.gather(*[self._one(piece, deadline_s) for piece in pieces])
        fates: dict[int, Fate] = {}
        while True:
            stale = self._settle(pieces, answers, fates)
            if not stale:
                return [fates[place] for place in range(len(rows.values))]
            pieces = await self._recut(rows, stale, stream, deadline_s)
            if not pieces:
                self._give_up(stale, stream, fates)
                return [fates[place] for place in range(len(rows.values))]
            answers = await asyncio.gather(*[self._one(piece, deadline_s) for piece in pieces])

    def _check_room(self) -> None:
        if not self._house.is_ready:
            raise Refusal("not-ready", "this participant does not take part in a cluster with buckets yet", stored="no")
        if self._house.is_holding():
            raise Refusal("busy", "too much waits already, or this participant is about to stop", stored="no")

    def _one(self, piece: Piece, deadline_s: float) -> "asyncio.Future[Answer]":
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

        def answer(found: Answer) -> None:
            if isinstance(found.outcome, phaser.Stored):
                end = found.outcome.receipt.offset + len(piece.batch) - found.outcome.repeated
                self.ends[piece.bucket] = max(end, self.ends.get(piece.bucket, 0))
            if not answered.done():  # whoever asked may have gone
                answered.set_result(found)

        wait_us = max(1, int((deadline_s - self._now_s()) * 1e6))
        self._house.submit(piece.bucket, piece.batch, wait_us, piece.level, answer)
        return answered

    @staticmethod
    def _settle(pieces: Sequence[Piece], answers: Sequence[Answer], fates: dict[int, Fate]) -> dict[int, int]:
        """Takes the fates in; of what has to be cut anew the places, each with the level that it takes."""
        stale: dict[int, int] = {}
        for piece, answer in zip(pieces, answers, strict=True):
            if isinstance(answer.outcome, phaser.Misplaced):
                stale.update(dict.fromkeys(piece.places, answer.outcome.buckets))
            for place, whole in enumerate(piece.places):
                fates[whole] = Fate(answer.outcome, piece.bucket, place, answer.retry_us)
        return stale

    async def _recut(self, rows: Rows, stale: dict[int, int], stream: Stream | None, deadline_s: float) -> list[Piece]:
        """As soon as we know the table by which it was refused; nothing where it cannot be done. What a stream names as
        sent before may be in the other half now, and only its client knows; one that names nothing has everything
        before it answered."""
        if stream is not None and stream.previous:
            return []
        hashes = {place: key_hash(rows.keys[place]) for place in stale}
        while any(home_of(hashes[place], self._buckets)[1] < level for place, level in stale.items()):
            if self._now_s() >= deadline_s:
                return []
            await asyncio.sleep(LOOK_S)
        return cut(rows, self._house, stream, sorted(stale))

    @staticmethod
    def _give_up(stale: dict[int, int], stream: Stream | None, fates: dict[int, Fate]) -> None:
        """What was not cut anew is certainly not stored; what else is of the same body may be."""
        if stream is None or not stream.previous:
            for place in stale:
                fates[place] = fates[place]._replace(outcome=phaser.Expired())

    @property
    def _buckets(self) -> Sequence[Bucket]:
        return self._house.core.distributor.buckets
