"""A client that checks: it counts up in each of its keys, one change at a time and anywhere, through whatever happens,
and in the end every change that was acknowledged is there once, in the order of its key, at the place of its receipt.
"""

import asyncio
from collections.abc import Mapping
from itertools import count
from random import Random
from typing import Any, Final

from hansard.batch import Change, build
from hansard.batch.keyhash import bucket_of, key_hash
from hansard.wire import request as wire
from hansard.wire import submission
from tests.cluster.company import Company
from tests.cluster.visitor import Visitor

RETRY_S: Final = 0.05
ATTEMPT_US: Final = 2_000_000


class Checker:
    """One stream. Its keys are its own."""

    def __init__(self, company: Company, name: str, seed: int = 0, keys: int = 6) -> None:
        self.company = company
        self.keys = [f"{name} {number}".encode() for number in range(keys)]
        self.name = name
        self.levels: dict[int, int] = {}
        """What is known of buckets."""
        self.acknowledged: dict[bytes, list[tuple[int, int | None]]] = {key: [] for key in self.keys}
        """Of each key what was stored, and at which offset where that was said."""
        self.attempts = 0
        self.longest_s = 0.0
        self._random = Random(seed)
        self._series = count()
        self._previous: dict[int, int] = {}
        self._connection = 0

    async def run(self, changes: int) -> None:
        for number in range(changes):
            await self.change(self._random.choice(self.keys), number)

    async def change(self, key: bytes, value: int) -> None:
        """Until it is stored."""
        series, began = next(self._series), asyncio.get_running_loop().time()
        while True:
            self.attempts += 1
            try:
                if await self._attempt(key, value, series):
                    break
            except (OSError, TimeoutError):
                pass
            await asyncio.sleep(RETRY_S)
        self.longest_s = max(self.longest_s, asyncio.get_running_loop().time() - began)

    async def _attempt(self, key: bytes, value: int, series: int) -> bool:
        address = self._random.choice([self.company.addresses[name] for name in self.company.running])
        async with await Visitor.dial(address) as visitor:
            if not self._connection:
                self._connection = await visitor.connect()
            bucket, level = self._home(key)
            stream = {"connection": self._connection, "first_series": series}
            previous = self._previous.get(bucket, -1)
            batch = build([key], [str(value)], previous_series=previous, **stream)  # type: ignore[arg-type]
            answer = await visitor.submit(bucket, batch, level, ATTEMPT_US)
        match answer:
            case submission.Stored():
                self._stored(key, value, bucket, series, answer.offsets[answer.ids.index(answer.ids[0])])
            case submission.Repeated():
                self._stored(key, value, bucket, series, answer.offset)
            case submission.Misplaced():
                assert answer.buckets > level, f"bucket {bucket} has gone back to {answer.buckets}"
                self._split(bucket, level, answer.buckets)
                return False
            case _:
                assert not isinstance(answer, submission.Invalid | submission.Gap | submission.Broken), answer
                return False
        return True

    def _stored(self, key: bytes, value: int, bucket: int, series: int, offset: int | None) -> None:
        self.acknowledged[key].append((value, offset))
        self._previous[bucket] = series

    def _home(self, key: bytes) -> tuple[int, int]:
        level = self.company.found.buckets
        while (bucket := bucket_of(key_hash(key), level)) in self.levels and self.levels[bucket] > level:
            level = self.levels[bucket]
        return bucket, level

    def _split(self, bucket: int, level: int, to: int) -> None:
        """Nothing is under way, so the halves have nothing to wait for."""
        self._previous.pop(bucket, None)
        self.levels[bucket] = to
        while level < to:
            self.levels.setdefault(bucket + level, 2 * level)
            level *= 2


async def contents(company: Company, name: str, *, linear: bool = False) -> Mapping[int, list[Change]]:
    """All that can be read at a participant, or where it sends its readers. What is `linear` has surely all that was
    acknowledged."""
    table = await company.ask(name, ask="table")
    buckets = [record["bucket"] for record in table["buckets"]]
    return {bucket: await _bucket(company, name, bucket, linear=linear) for bucket in buckets}


async def _bucket(company: Company, name: str, bucket: int, *, linear: bool) -> list[Change]:
    address: Any = company.addresses[name]
    found: list[Change] = []
    offset = 0
    while True:
        async with await Visitor.dial(address) as visitor:
            page = await visitor.read(bucket, offset, linear=linear)
        if isinstance(page, wire.Elsewhere):
            host, _, port = page.address.rpartition(":")
            address = (host, int(port))
            continue
        if linear and isinstance(page, submission.NotLeader):  # not yet, after a restart
            await asyncio.sleep(RETRY_S)
            continue
        assert isinstance(page, wire.Page), page
        found += [change for batch in page.batches for change in batch.changes()]
        offset = page.end
        if page.at_end:
            return found


def check(everything: Mapping[int, list[Change]], checkers: list[Checker]) -> None:
    """All that was acknowledged, and nothing twice; what was not may be there or not."""
    by_key: dict[bytes, list[tuple[int, int]]] = {}
    for changes in everything.values():
        for change in changes:
            assert change.key is not None and change.value is not None
            by_key.setdefault(change.key, []).append((int(change.value), change.offset))
    for checker in checkers:
        for key, stored in checker.acknowledged.items():
            there = by_key.get(key, [])
            assert [value for value, _ in there] == [value for value, _ in stored], key
            for (_, offset), (_, receipt) in zip(there, stored, strict=True):
                assert receipt in (None, offset), key
