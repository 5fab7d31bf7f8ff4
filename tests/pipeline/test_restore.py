"""An archive becomes a log again: the same changes at the same places, in more buckets, and no change twice."""

from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import hansard
from hansard.batch import build, logged_from_arrow, to_arrow
from hansard.bookmark import Bookmark
from hansard.pipeline import read, restore
from hansard.pipeline.archive import Archiver
from hansard.pipeline.folder import Folder
from hansard.pipeline.manifest import ArchiveError
from hansard.pipeline.restore import Restorer
from hansard.pipeline.source import Source
from hansard.testing import cluster
from tests.pipeline.rows import Row, frame_of, in_frame, in_log, some_rows


class Ended(BaseException):
    """As if the process were gone."""


class Kept(NamedTuple):
    """What a log was, before its cluster was gone."""

    root: str
    log: str
    rows: list[Row]
    middle: Bookmark
    after_middle: list[Row]
    when: datetime
    before_when: list[Row]
    end: Bookmark
    connection: int


@pytest.fixture(scope="module")
def kept(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    root = str(tmp_path_factory.mktemp("archive"))
    with cluster(participants=1, buckets=2) as town, hansard.Client.connect(town.addresses) as client:
        keys = [None if number % 10 == 9 else f"k{number}" for number in range(80)]

        def submit(word: str) -> None:
            values = [None if number % 7 == 6 else f"{word}{number}" for number in range(80)]
            client.submit_many(keys, values, [["t:a", word]] * 80)

        submit("one")
        middle = client.bookmark()
        town.double()
        submit("two")
        when = datetime.now(UTC)
        submit("three")
        client.submit_many(["other"] * 3, [1, 2, 3])
        Archiver(spark, Source.of(town.addresses), root).catch_up()
        return Kept(
            root,
            client.log_id,
            in_log(client),
            middle,
            in_log(client, since=middle),
            when,
            in_log(client, until=when),
            client.bookmark(),
            client.connection,
        )


def content(rows: list[Row]) -> list[Row]:
    """Without the bucket, which is another one where there are more of them."""
    return sorted((row[1:] for row in rows), key=lambda row: (row[0], row[2] or b"", row[1]))


def test_into_as_many_buckets_it_is_the_same_log_and_goes_on(spark: SparkSession, kept: Kept) -> None:
    with cluster(participants=3, buckets=4, importing=kept.log) as town:
        target = Source.of(town.addresses)

        def reached(step: str) -> None:
            if step == "sent":
                raise Ended

        with pytest.raises(Ended):
            Restorer(spark, target, kept.root, reached=reached).restore()
        town.kill("b")
        town.start("b")
        done = Restorer(spark, target, kept.root).restore()
        assert (done.rows, done.was_there, done.until) == (len(kept.rows), False, kept.end)
        town.settle()
        with hansard.Client.connect(town.addresses) as client:
            assert in_log(client) == kept.rows
            assert in_log(client, since=kept.middle) == kept.after_middle
            assert in_log(client, since=kept.end) == []
            assert client.connection > kept.connection, "no number is given out twice"
            client.submit("k7", "new")
            assert [row[4] for row in in_log(client, since=kept.end)] == [b"new"]
            assert Restorer(spark, target, kept.root).restore().was_there
            Archiver(spark, target, kept.root).catch_up()
            assert in_frame(read(spark, archive=kept.root, until=kept.end)) == kept.rows
            assert in_frame(read(spark, archive=kept.root)) == in_log(client)


def test_into_twice_the_buckets_up_to_a_time(spark: SparkSession, kept: Kept) -> None:
    with cluster(participants=1, buckets=8, importing=kept.log) as town:
        done = Restorer(spark, Source.of(town.addresses), kept.root, kept.when).restore()
        assert done.buckets == 8 and done.rows == len(kept.before_when)
        town.settle()
        with hansard.Client.connect(town.addresses) as client:
            assert content(in_log(client)) == content(kept.before_when)
            since = in_log(client, since=kept.middle)
            assert content(since) == content([row for row in kept.after_middle if row in kept.before_when])


def test_what_does_not_fit_is_said(spark: SparkSession, kept: Kept) -> None:
    with cluster(participants=1, buckets=4) as town, hansard.Client.connect(town.addresses) as client:
        with pytest.raises(ArchiveError, match=f"hansard start --found --importing {kept.log}"):
            Restorer(spark, Source.of(town.addresses), kept.root).restore()
        assert in_log(client) == []
    with cluster(participants=1, buckets=2, importing=kept.log) as town:
        target = Source.of(town.addresses)
        with pytest.raises(ArchiveError, match="has 4 buckets, and the cluster 2"):
            Restorer(spark, target, kept.root).restore()
    with pytest.raises(ArchiveError, match="there is no archive at"):
        restore.existing(Folder(spark, f"{kept.root}/nothing"))


def test_until_a_time_is_before_the_first_change_of_each_bucket_that_is_not(spark: SparkSession) -> None:
    rows = some_rows(60)
    end = Bookmark("log", dict.fromkeys(range(4), 99))
    found = restore.until_time(frame_of(spark, rows), end, datetime.fromtimestamp(1.03, UTC))
    late = {bucket: min(row[1] for row in rows if row[0] == bucket and row[2] >= 1_030_000) for bucket in range(4)}
    assert found == Bookmark("log", late)


def test_each_bucket_goes_to_those_that_have_become_of_it() -> None:
    assert restore.destinations(Bookmark("log", {0: 1, 1: 1}), 4) == {0: [0, 2], 1: [1, 3]}
    split = Bookmark("log", {0: 1, 1: 1, 3: 1})
    assert restore.destinations(split, 8) == {0: [0, 2, 4, 6], 1: [1, 5], 3: [3, 7]}


def test_rows_are_cut_where_a_bucket_ends_and_where_a_batch_is_full() -> None:
    labels = [0] * 3 + [1] * (restore.CHANGES_PER_BATCH + 2) + [5]
    part = pa.RecordBatch.from_arrays([pa.array(labels, pa.int32())], names=["bucket"])
    found = [(bucket, piece.num_rows) for bucket, piece in restore.cut(iter([part, part]))]
    assert found == [(0, 3), (1, restore.CHANGES_PER_BATCH), (1, 2), (5, 1)] * 2


def test_a_batch_of_logged_changes_is_what_the_log_had() -> None:
    batch = build(["a", None, "c"], [b"1", None, b"3"], [["x"], [], ["x", "y"]], timestamps=[5, 5, 9])
    table = pa.Table.from_batches([to_arrow(batch)])
    numbers = {"offset": [7, 9, 30], "connection": [4, 0, 4], "series": [1, 0, 2]}
    for name, column in numbers.items():
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(column, pa.int64()))
    made = logged_from_arrow(table)
    assert (made.header.base_offset, made.header.end_offset) == (7, 31)
    assert pa.Table.from_batches([to_arrow(made)]).to_pylist() == table.to_pylist()
    assert np.array_equal(made.key_hashes, batch.key_hashes)
    with pytest.raises(ValueError, match="does not rise"):
        logged_from_arrow(table.take([0, 2, 1]))
