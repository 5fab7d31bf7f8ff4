"""What a task of a sink is about to store, written down in the log before any of it is: how the first attempt binds all
others.

A record is a change under the key and tag `hansard:sink:<sink>:<partition>`, so all records of one partition lie in one
bucket, in one order. Every attempt that finds none of its batch appends one; of those that are there **the first in the
log counts**, whoever wrote it. It says how many rows the batch has, their digest, and under which connection number
they are stored. An attempt with other rows fails, with nothing stored. One with the same rows goes on under the same
numbers, so that whatever another attempt has stored is not stored again; also beside it, at the same time.

Series are (batch + 1, ordinal): they rise with the batches of a partition, so its connection number is kept from one
batch to the next. After a while another one is taken, long before any bucket forgets it. A batch that comes after a
later one of the same partition fails: what it has stored could not be told from what it has not.
"""

import time
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from hansard.batch import Change, bucket_of, build, key_hash
from hansard.client import AsyncClient
from hansard.client.reading import Filter, Span
from hansard.wire import request as wire

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
"""Records that are looked at; of one batch there are as many as there were attempts at the same moment."""


def base(batch: int) -> int:
    """The series of a batch's first row. There is room below for the record itself."""
    return (batch + 1) << ORDINAL_BITS


class Record(Struct, frozen=True):
    batch: int
    rows: int
    digest: str
    connection: int
    granted_s: float
    """When the number was first used, by somebody's clock."""


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
    def __init__(self, sink: str, partition: int, batch: int, later: int) -> None:
        super().__init__(sink, partition, batch, later)

    def __str__(self) -> str:
        sink, partition, batch, later = self.args
        return (
            f"batch {batch} of the sink {sink!r} comes after batch {later}, which partition {partition} has begun: "
            "nothing of it is stored. Batches of a sink rise; an older checkpoint needs another sinkId"
        )


def check_sink(sink: str) -> None:
    if not 0 < len(sink.encode()) <= SINK_BYTES_MAX or "\0" in sink:
        raise BadOption(f"sinkId is a name of 1 to {SINK_BYTES_MAX} bytes, not {sink!r}")


class Register:
    """Of one partition of a sink."""

    def __init__(self, entrance: Entrance, sink: str, partition: int) -> None:
        self._entrance = entrance
        self._sink = sink
        self._partition = partition
        self._name = f"hansard:sink:{sink}:{partition}"

    async def settle(self, client: AsyncClient, batch: int, rows: int, digest: str) -> Record:
        """What counts for this batch; our own record, if no other attempt came before. `client` has a number of its own
        that nothing was submitted under."""
        known = await self._records()
        if not any(record.batch >= batch for record in known):
            mine = self._proposed(client.connection, known, batch, rows, digest)
            content = msgspec.json.encode(mine)
            await client.submit_batch(build([self._name], [content], [[self._name]], connection=client.connection))
            known = await self._records()
        mine = Record(batch, rows, digest, 0, 0.0)
        of_batch = [record for record in known if record.batch == batch]
        later = [record.batch for record in known if record.batch > batch]
        if later:
            raise Outdated(self._sink, self._partition, batch, max(later))
        first = of_batch[0]
        if (first.rows, first.digest) != (rows, digest):
            raise Differs(self._sink, self._partition, mine, first)
        return first

    @staticmethod
    def _proposed(connection: int, known: Sequence[Record], batch: int, rows: int, digest: str) -> Record:
        now_s = time.time()
        before = known[-1] if known else None
        if before is not None and 0 <= now_s - before.granted_s < NUMBER_S:
            return Record(batch, rows, digest, before.connection, before.granted_s)
        return Record(batch, rows, digest, connection, now_s)

    async def _records(self) -> list[Record]:
        """The last ones, as the log has them in order: all of the last batch among them, and one of each before it that
        they reach back to."""
        wanted = Filter((self._name.encode(),), descending=True)
        found, end = list[Change](), -1
        while True:
            page = await self._page(Span(0, end, LOOK, linear=True), wanted)
            found = [*[change for batch in reversed(page.batches) for change in batch.changes()], *found]
            records = [msgspec.json.decode(change.value or b"", type=Record) for change in found]
            if page.closed or len({record.batch for record in records}) > 1:
                return records
            end = page.first

    async def _page(self, span: Span, wanted: Filter) -> wire.Page:
        """From the bucket where the records are by now, by its leader's word."""
        entrance, hash = self._entrance, key_hash(self._name.encode())
        while True:
            bucket = entrance.atlas.home(hash)
            page = await entrance.reader.read(bucket, span, wanted, entrance.timeout_s)
            assert isinstance(page, wire.Page), "backwards nothing is before the beginning"
            if bucket_of(hash, page.level) == bucket:
                return page
            await entrance.refresh()
