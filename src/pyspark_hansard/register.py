"""What a task of a sink is about to store, written down in the log before any of it is: how the first attempt binds all
others.

A record is a change under the key and tag `hansard:sink:<sink>:<partition>`, so all records of one partition lie in one
bucket, in one order. Every attempt that finds none of its batch appends one; of those that bind **the first in the log
counts**, whoever wrote it. It says how many rows the batch has, their digest, and under which connection number they
are stored. An attempt with other rows fails, with nothing stored. One with the same rows goes on under the same
numbers, so that whatever another attempt has stored is not stored again; also beside it, at the same time.

A batch that is run again, by a query that was restarted, may be cut into partitions in another way. So each run writes
its number under `hansard:run:<sink>`, and a task that finds there another run beside its own stores nothing before it
is sure that both mean the same by their partitions (`agreement.py`).

Series are (batch + 1, ordinal): they rise with the batches of a partition, so its connection number is kept from one
batch to the next. After a while another one is taken, long before any bucket forgets it. A batch that comes after a
later one of the same partition fails: what it has stored could not be told from what it has not.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from msgspec import Struct, structs

from hansard.batch import Change, bucket_of, build, key_hash
from hansard.client import AsyncClient
from hansard.client.reading import Filter, Span
from hansard.wire import request as wire

from .agreement import Record, missing
from .entrance import Entrance
from .options import BadOption

ORDINAL_BITS: Final = 32
ROWS_MAX: Final = 1 << ORDINAL_BITS
"""Of one partition in one batch."""
BATCHES_MAX: Final = (1 << 63 - ORDINAL_BITS) - 1
NUMBER_S: Final = 1800.0
"""A connection number is used for so long; a bucket remembers each for an hour at the least."""
SINK_BYTES_MAX: Final = 128
LOOK: Final = 64
"""Records that are looked at; of one batch there are as many as there were runs, and attempts at the same moment."""
LOOK_S: Final = 0.2
"""Between two looks whether another partition has come."""


def base(batch: int) -> int:
    """The series of a batch's first row. There is room below for the record itself."""
    return (batch + 1) << ORDINAL_BITS


class Run(Struct, frozen=True):
    batch: int
    run: str


class Differs(Exception):
    """Another attempt has begun to store other rows as this batch."""

    def __init__(self, sink: str, partition: int, mine: Record, first: Record) -> None:
        super().__init__(sink, partition, mine, first)

    def __str__(self) -> str:
        sink, partition, mine, first = self.args
        return (
            f"batch {mine.batch} of the sink {sink!r} was begun before with {first.rows} rows in partition {partition} "
            f"(digest {first.digest}), and this attempt has {mine.rows} (digest {mine.digest}): nothing of it is "
            "stored. A query must give the same rows when a batch is tried again: look for rand(), current_timestamp() "
            "or another number of partitions; for other data take another batchId, or another sinkId"
        )


class Outdated(Exception):
    def __init__(self, sink: str, batch: int, later: int) -> None:
        super().__init__(sink, batch, later)

    def __str__(self) -> str:
        sink, batch, later = self.args
        return (
            f"batch {batch} of the sink {sink!r} comes after batch {later}, which has begun: nothing of it is stored. "
            "Batches of a sink rise; an older checkpoint needs another sinkId"
        )


class Postponed(Exception):
    """The batch was begun in another run, and parts that were begun there have not come in this one yet."""

    def __init__(self, sink: str, batch: int, partition: int, waited_for: Sequence[int]) -> None:
        super().__init__(sink, batch, partition, tuple(waited_for))

    def __str__(self) -> str:
        sink, batch, partition, waited_for = self.args
        some = ", ".join(map(str, waited_for[:10])) + (" and more" if len(waited_for) > 10 else "")
        return (
            f"batch {batch} of the sink {sink!r} was begun before, by another run, and partition {partition} waited in "
            f"vain for partition {some}, which must have the same rows in this one: nothing of it is stored. Run it "
            "again as it is: what was seen is noted. If it has other partitions than it had then, run it with those"
        )


def check_sink(sink: str) -> None:
    if not 0 < len(sink.encode()) <= SINK_BYTES_MAX or "\0" in sink:
        raise BadOption(f"sinkId is a name of 1 to {SINK_BYTES_MAX} bytes, not {sink!r}")


class Register:
    """Of one partition of a sink, as one run has it."""

    def __init__(self, entrance: Entrance, client: AsyncClient, sink: str, partition: int, run: str) -> None:
        """The client has a number of its own that nothing was submitted under."""
        self._entrance = entrance
        self._client = client
        self._sink = sink
        self._partition = partition
        self._run = run
        self._name = f"hansard:sink:{sink}:{partition}"
        self._all = f"hansard:sinks:{sink}"
        """The tag of all partitions' records."""
        self._runs = f"hansard:run:{sink}"
        self._written = 0

    async def settle(self, batch: int, rows: int, digest: str) -> Record:
        """What counts for this batch; our own record, if no other attempt came before."""
        mine = Record(batch, rows, digest, 0, 0.0, self._partition, self._run)
        runs = await self._runs_of(batch)
        if self._run not in runs:
            await self._write(self._runs, [self._runs], Run(batch, self._run))
            runs = await self._runs_of(batch)
        known = await self._checked(mine)
        if not any(record.binds for record in known if record.batch == batch) and len(runs) > 1:
            await self._write(self._name, [self._name, self._all], structs.replace(mine, binds=False))
            await self._agree(mine)
        if not any(record.batch == batch and record.binds and record.run == self._run for record in known):
            await self._write(self._name, [self._name, self._all], self._proposed(known, mine))
            known = await self._checked(mine)
        if len(await self._runs_of(batch)) > 1:
            await self._agree(mine)
        return next(record for record in known if record.batch == batch and record.binds)

    def _proposed(self, known: Sequence[Record], mine: Record) -> Record:
        now_s = time.time()
        before = known[-1] if known else None
        if before is not None and before.connection and 0 <= now_s - before.granted_s < NUMBER_S:
            return structs.replace(mine, connection=before.connection, granted_s=before.granted_s)
        return structs.replace(mine, connection=self._client.connection, granted_s=now_s)

    async def _checked(self, mine: Record) -> list[Record]:
        """The last records of the partition, none of which is against ours."""
        known = await self._records()
        self._check_order(mine.batch, [record.batch for record in known])
        first = next((record for record in known if record.batch == mine.batch and record.binds), None)
        if first is not None and first.content != mine.content:
            raise Differs(self._sink, self._partition, mine, first)
        return known

    def _check_order(self, batch: int, known: Sequence[int]) -> None:
        if max(known, default=batch) > batch:
            raise Outdated(self._sink, batch, max(known))

    async def _agree(self, mine: Record) -> None:
        """Wait until what is begun of the batch is known to be the same in a run that has our partition as it is."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._entrance.timeout_s
        while absent := missing(await self._everywhere(mine.batch), mine):
            if loop.time() > deadline:
                raise Postponed(self._sink, mine.batch, self._partition, absent)
            await asyncio.sleep(LOOK_S)

    async def _write(self, key: str, tags: list[str], record: Struct) -> None:
        content, number = msgspec.json.encode(record), self._client.connection
        batch = build([key], [content], [tags], connection=number, first_series=self._written)
        self._written += 1
        await self._client.submit_batch(batch)

    # What the log has.

    async def _runs_of(self, batch: int) -> set[str]:
        changes = await self._last(self._runs, lambda change: msgspec.json.decode(change.value or b"", type=Run).batch)
        runs = [msgspec.json.decode(change.value or b"", type=Run) for change in changes]
        self._check_order(batch, [each.batch for each in runs])
        return {each.run for each in runs if each.batch == batch}

    async def _records(self) -> list[Record]:
        """The last ones, as the log has them in order: all of the last batch among them, and one of each before it that
        they reach back to."""
        return [_record(change) for change in await self._last(self._name, lambda change: _record(change).batch)]

    async def _last(self, name: str, batch_of: Callable[[Change], int]) -> list[Change]:
        """From the bucket where the changes of a key are by now, by its leader's word: those of the last batch, and of
        one before it at the least."""
        entrance, hash = self._entrance, key_hash(name.encode())
        wanted = Filter((name.encode(),), descending=True)
        while True:
            bucket = entrance.atlas.home(hash)
            found, level = await self._back(bucket, wanted, lambda found: len({*map(batch_of, found)}) > 1)
            if bucket_of(hash, level) == bucket:
                return found
            await entrance.refresh()

    async def _everywhere(self, batch: int) -> list[Record]:
        """Of all partitions of the batch; those of each in their order."""
        entrance, wanted = self._entrance, Filter((self._all.encode(),), descending=True)
        while True:
            levels = {bucket: entrance.atlas.level(bucket) for bucket in entrance.atlas.buckets}
            read = [self._back(bucket, wanted, lambda found: _record(found[0]).batch < batch) for bucket in levels]
            parts = await asyncio.gather(*read)
            if [level for _, level in parts] == list(levels.values()):
                records = [_record(change) for found, _ in parts for change in found]
                return [record for record in records if record.batch == batch]
            await entrance.refresh()

    async def _back(
        self, bucket: int, wanted: Filter, is_enough: Callable[[list[Change]], bool]
    ) -> tuple[list[Change], int]:
        """What a bucket has, from its end back as far as needed, in order; and the bucket's level."""
        entrance, found, end = self._entrance, list[Change](), -1
        while True:
            span = Span(0, end, LOOK, linear=True)
            page = await entrance.reader.read(bucket, span, wanted, entrance.timeout_s)
            assert isinstance(page, wire.Page), "backwards nothing is before the beginning"
            found = [*[change for batch in reversed(page.batches) for change in batch.changes()], *found]
            if page.closed or (found and is_enough(found)):
                return found, page.level
            end = page.first


def _record(change: Change) -> Record:
    return msgspec.json.decode(change.value or b"", type=Record)
