"""The job `load`: an archive, or a checkpoint, comes to a cluster that goes on, as new changes.

They get new offsets and times; keys, values, tags and the order of each key's changes stay. What is brought is settled
under a name, in the log that takes it: a record says what, and one more for each batch that is stored. Batches go
through the data source's sink, under an id made of the name. So one that is killed goes on when it is started again,
and each change is stored once:

    before the first record   it begins anew
    within a batch            that batch is written again, and the sink stores of it what is not there yet
    after a batch             the next one follows

Two at once under one name do the same work, and no harm.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec
from crc32c import crc32c
from msgspec import Struct
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as fn

from hansard.client import Client

from .cargo import Cargo
from .columns import OFFSET
from .source import FORMAT, Source

RECORD: Final = "hansard:load:"
HOLD_S: Final = 7 * 86_400.0
NAME_BYTES_MAX: Final = 96


class LoadError(Exception):
    """Why nothing more is loaded, and what to do."""


class Settled(Struct, frozen=True, kw_only=True, tag="settled", tag_field="record"):
    """The first of a name counts."""

    asked: str
    """In the words of whoever asked."""
    place: str
    """A bookmark before this record: from there on the log is held while there is something to do."""
    cargo: Cargo


class Stored(Struct, frozen=True, kw_only=True, tag="stored", tag_field="record"):
    batch: int
    rows: int


class Loaded(NamedTuple):
    name: str
    cargo: Cargo
    rows: int
    """Of all batches."""
    ours: int
    """Of those that were not there when this began."""


class Progress:
    """What the records of one name say."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self._tag = f"{RECORD}{name}"
        self.settled: Settled | None = None
        self.rows: list[int] = []
        """Of each batch that is stored."""
        self.read()

    def read(self) -> None:
        self.settled, self.rows = None, []
        for change in self._client.read(tags=[self._tag]):
            record = msgspec.json.decode(change.value or b"", type=Settled | Stored)
            if isinstance(record, Settled):
                self.settled = self.settled or record
            elif record.batch == len(self.rows):
                self.rows.append(record.rows)

    def write(self, record: Settled | Stored) -> None:
        self._client.submit(self._tag, msgspec.json.encode(record), [self._tag])
        self.read()


@dataclass(frozen=True, slots=True)
class Loader:
    spark: SparkSession
    target: Source
    name: str
    """Under which it is stored once."""
    asked: str
    """What is wanted, in words: who comes again under the name must want the same."""
    settle: Callable[[], Cargo]
    """Called by the first who comes."""
    reached: Callable[[str], None] = lambda _: None

    def load(self) -> Loaded:
        if not 0 < len(self.name.encode()) <= NAME_BYTES_MAX:
            raise LoadError(f"a name has 1 to {NAME_BYTES_MAX} bytes, and {self.name!r} has not")
        with self.target.client() as client:
            progress = Progress(client, self.name)
            settled = self._settled(client, progress)
            there = len(progress.rows)
            while len(progress.rows) < settled.cargo.batches:
                self._hold(client, settled.place)
                self._next(progress, settled.cargo)
            client.ask({"ask": "let go", "name": self._hold_name})
            return Loaded(self.name, settled.cargo, sum(progress.rows), sum(progress.rows[there:]))

    def _settled(self, client: Client, progress: Progress) -> Settled:
        if progress.settled is None:
            place = str(client.bookmark())
            self._hold(client, place)
            progress.write(Settled(asked=self.asked, place=place, cargo=self.settle()))
            self.reached("settled")
        settled = progress.settled
        assert settled is not None, "a record was written, and it is not there"
        if settled.asked != self.asked:
            raise LoadError(
                f"under the name {self.name!r} something else was begun ({settled.asked}): give another name"
            )
        return settled

    def _next(self, progress: Progress, cargo: Cargo) -> None:
        batch = len(progress.rows)
        self.reached(f"batch {batch + 1} of {cargo.batches}")
        try:
            rows = self._store(cargo, batch)
        except (PySparkException, Py4JJavaError):
            progress.read()
            if len(progress.rows) > batch:
                return  # somebody else under this name was quicker, and has gone on
            raise
        self.reached("stored")
        progress.write(Stored(batch=batch, rows=rows))

    def _store(self, cargo: Cargo, batch: int) -> int:
        observed = Observation()
        rows = cargo.rows(self.spark, batch).observe(observed, fn.count(fn.lit(1)).alias("rows"))
        options = {"sinkId": f"load:{self.name}", "batchId": str(batch), "orderBy": OFFSET}
        rows.write.format(FORMAT).options(**self.target.options(), **options).mode("append").save()
        return int(observed.get["rows"])

    @property
    def _hold_name(self) -> str:
        return f"load-{crc32c(self.name.encode()):08x}"

    def _hold(self, client: Client, place: str) -> None:
        client.ask({"ask": "hold", "name": self._hold_name, "lasts_s": HOLD_S, "bookmark": place})


def name_for(words: Sequence[str]) -> str:
    """The same for whoever asks for the same."""
    said = "\0".join(words)
    return f"{crc32c(said.encode()):08x}"
