"""A cluster of one participant that does as it is told: buckets in memory that can be split, and connection numbers."""

from itertools import count
from typing import Any

from msgspec.structs import replace

from hansard.batch import bucket_mask, bucket_of, key_hash
from hansard.client import AsyncClient
from hansard.client.recut import descendants
from hansard.wire.request import Connect, Connected, Request, Table, Tabled, Whereabouts
from hansard.wire.submission import Answer, Misplaced, Submit
from tests.client.fake import QUICK, Bucket, FakeParticipant, Step


class Town(FakeParticipant):
    """A step of its script is given the bucket that a submission is for."""

    requests = Request

    def __init__(self, *script: Step, buckets: int = 2) -> None:
        super().__init__(*script)
        self.buckets = {bucket: Bucket() for bucket in range(buckets)}
        self.levels = dict.fromkeys(range(buckets), buckets)
        self.version = 1
        self.tells = True
        """Newer tables to who asks."""
        self.connections_given = count(100)
        self.gives = True
        """Connection numbers to who asks."""
        self.asked_for_numbers = 0

    async def connect(self, timeout_s: float = 10.0, window: int = 64) -> AsyncClient:
        settings = replace(QUICK, window_batches=window)
        return await AsyncClient.connect([self.address], timeout_s=timeout_s, settings=settings)

    def answer(self, request: Any) -> Any:
        match request:
            case Connect():
                self.asked_for_numbers += 1
                return Connected(request.id, next(self.connections_given)) if self.gives else None
            case Table(version=known):
                return self.table(request.id) if known < 0 or (known < self.version and self.tells) else None
            case Submit():
                self.submits.append(request)
                bucket = self.buckets[request.bucket]
                step = self.script.popleft() if self.script else None
                return step(request, bucket) if step is not None else self.take(request)
            case _:
                raise AssertionError(f"nobody asks for {request}")

    def take(self, submit: Submit) -> Answer:
        level = self.levels[submit.bucket]
        if submit.buckets != level:
            return Misplaced(submit.id, level)
        assert bucket_mask(submit.batch, submit.bucket, level).all(), "a key that is not the bucket's"
        return self.buckets[submit.bucket].store(submit)

    def table(self, id: int) -> Tabled:
        size = max(self.levels.values())
        where = [Whereabouts(self.levels.get(bucket, 0), 0, (0,)) for bucket in range(size)]
        return Tabled(id, self.version, "a-log", [("fake", self.address)], where)

    def split(self, bucket: int) -> None:
        """Both halves know of the streams what the whole knew."""
        for half, level in descendants(bucket, self.levels[bucket], 2 * self.levels[bucket]):
            self.levels[half] = level
            if half != bucket:
                self.buckets[half] = self.buckets[bucket].fork()
        self.version += 1

    @property
    def values(self) -> list[bytes | None]:
        """What every bucket shows of its own, one after the other."""
        found: list[bytes | None] = []
        for bucket, level in self.levels.items():
            log = self.buckets[bucket]
            rows = zip(log.keys, log.values, strict=True)
            found += [value for key, value in rows if bucket_of(key_hash(key), level) == bucket]
        return found
