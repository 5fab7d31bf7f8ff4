"""Ranges of offsets are read to their ends, exactly, whatever becomes of buckets and members; without Spark."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxRows, ReadMinRows

from hansard.batch import bucket_of, key_hash
from hansard.client import Client
from hansard.testing import Cluster
from hansard.testing import cluster as running
from pyspark_hansard.halves import DataLost
from pyspark_hansard.options import BATCH_READ, Given
from pyspark_hansard.places import Range
from pyspark_hansard.plan import Share
from pyspark_hansard.reader import BatchReader
from pyspark_hansard.streaming import StreamReader
from tests.client.countdown import addresses
from tests.cluster.test_retention import Small
from tests.server.trio import run
from tests.spark.local import SCHEMA, batch_reader, everything, stream_reader, submit, taken

KEYS = [f"key-{n}" for n in range(3_000)]


@pytest.fixture
def small() -> Iterator[Cluster]:
    with running(buckets=2) as three:
        yield three


def pairs(rows: list[dict[str, Any]]) -> Counter[tuple[bytes, bytes]]:
    return Counter((row["key"], row["value"]) for row in rows)


def shares_of(partition: InputPartition) -> tuple[Range, ...]:
    assert isinstance(partition, Share)
    return partition.ranges


def wanted(*values: str) -> Counter[tuple[bytes, bytes]]:
    return Counter((key.encode(), f"{value}-{key}".encode()) for value in values for key in KEYS)


def test_a_range_that_was_planned_before_a_split_is_read_after_it_as_it_was(small: Cluster) -> None:
    """Exactly, in the same order, from members that have since become others', twice over."""
    submit(small, KEYS, "a", ["x"])
    submit(small, KEYS, "b", ["x"])
    reader = batch_reader(small, maxRowsPerPartition=700)
    planned = list(reader.partitions())
    assert len(planned) >= 8
    before = taken(reader, planned)
    assert pairs(before) == wanted("a", "b")
    small.double()
    submit(small, KEYS, "late", ["x"])
    assert taken(reader, planned) == before
    small.double()
    small.kill(small.leader(0))
    assert taken(reader, planned) == before
    assert all(row["bucket"] == bucket_of(key_hash(row["key"]), 2) for row in before)
    now = everything(small)
    assert pairs(now) == wanted("a", "b", "late")
    assert all(row["bucket"] == bucket_of(key_hash(row["key"]), 8) for row in now)


def test_a_member_that_dies_in_the_middle_of_a_partition_is_replaced_by_another(small: Cluster) -> None:
    with Client.connect(small.addresses) as client:
        for part in range(12):
            client.submit_many(KEYS, [f"{part}-{key}".encode() * 100 for key in KEYS])
    reader = batch_reader(small)
    seen: list[int] = []
    killed = ""
    (partition,) = reader.partitions()
    for number, batch in enumerate(reader.read(partition)):
        seen += batch.column("offset").to_pylist()
        if number == 2:
            killed = small.running[0]
            small.kill(killed)
            small.start(killed)
            small.kill(small.running[1])
    assert killed and len(seen) == 12 * len(KEYS)
    assert sorted(seen) == sorted(row["offset"] for row in everything(small))


def test_a_range_that_nobody_has_is_an_error_and_no_empty_page(small: Cluster) -> None:
    submit(small, KEYS[:10], "a", [])
    reader = batch_reader(small, timeoutSeconds=1)
    with pytest.raises(Exception, match="nobody who was asked shows all that is known to be there"):
        taken(reader, [Share([Range(0, 2, 0, 1_000)], 0)])
    for name in list(small.running):
        small.kill(name)
    with pytest.raises(Exception, match="could not be had in time"):
        list(reader.partitions())


# Streams.


def follow(
    reader: StreamReader, start: dict[str, Any], limit: Any = None
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """One batch, through JSON as Spark keeps it; and the same again, which must be the same."""
    end = json.loads(json.dumps(reader.latestOffset(start, limit or ReadAllAvailable())))
    rows = taken(reader, reader.partitions(start, end))
    return rows, end


def test_offsets_of_a_stream_are_exact_while_buckets_double(small: Cluster) -> None:
    reader = stream_reader(small)
    start = reader.initialOffset()
    submit(small, KEYS, "a", ["x"])
    first, middle = follow(reader, start)
    assert pairs(first) == wanted("a")
    assert reader.latestOffset(middle, ReadAllAvailable()) == middle, "nothing more is the same place"
    submit(small, KEYS, "b", ["x"])
    end = reader.latestOffset(middle, ReadAllAvailable())
    small.double()
    submit(small, KEYS, "c", ["x"])
    restarted = stream_reader(small)
    assert pairs(taken(restarted, restarted.partitions(middle, end))) == wanted("b"), "planned before, read after"
    third, _ = follow(restarted, end)
    assert pairs(third) == wanted("c")
    small.double()
    fourth, _ = follow(restarted, middle)
    assert pairs(fourth) == wanted("b", "c"), "a place of before a split, gone on from after two"
    planned = [[shares_of(each) for each in one.partitions(middle, end)] for one in (reader, restarted)]
    assert planned[0] == planned[1]


def test_a_first_batch_that_is_tried_again_begins_where_it_began(small: Cluster) -> None:
    """Spark asks anew where a query begins as long as nothing was committed."""
    reader = stream_reader(small, since="latest")
    start = reader.initialOffset()
    submit(small, KEYS, "a", ["x"])
    end = reader.latestOffset(start, ReadAllAvailable())
    submit(small, KEYS, "b", ["x"])
    restarted = stream_reader(small, since="latest")
    again = restarted.initialOffset()
    assert pairs(taken(restarted, restarted.partitions(again, end))) == wanted("a")
    rows, _ = follow(restarted, end)
    assert pairs(rows) == wanted("b")


def test_a_stream_takes_as_much_at_a_time_as_it_may(small: Cluster) -> None:
    submit(small, KEYS, "a", ["x"])
    submit(small, KEYS[:30], "rare", ["rare"])
    reader = stream_reader(small, maxRowsPerTrigger=1_000)
    assert reader.getDefaultReadLimit() == ReadMaxRows(1_000)
    place, sizes, everything_read = reader.initialOffset(), list[int](), Counter[tuple[bytes, bytes]]()
    while True:
        rows, end = follow(reader, place, reader.getDefaultReadLimit())
        if end == place:
            break
        sizes.append(len(rows))
        everything_read += pairs(rows)
        place = end
    assert max(sizes) <= 1_000 and len(sizes) < 8
    assert everything_read == wanted("a") + Counter((key.encode(), f"rare-{key}".encode()) for key in KEYS[:30])
    rare = stream_reader(small, tags="rare")
    rows, _ = follow(rare, rare.initialOffset(), ReadMaxRows(20))
    assert 0 < len(rows) <= 20
    rows, _ = follow(reader, reader.initialOffset(), ReadMaxBytes(20_000))
    assert 100 < len(rows) < 1_000
    start = reader.initialOffset()
    assert reader.latestOffset(start, ReadMinRows(1_000_000)) == start
    assert reader.reportLatestOffset()["buckets"]["0"]["offset"] > 1_000  # type: ignore[index]


def test_what_is_available_now_ends_though_more_comes(small: Cluster) -> None:
    submit(small, KEYS, "a", ["x"])
    reader = stream_reader(small)
    start = reader.initialOffset()
    reader.prepareForTriggerAvailableNow()
    submit(small, KEYS, "b", ["x"])
    small.double()
    rows, end = follow(reader, start)
    assert pairs(rows) == wanted("a")
    assert reader.latestOffset(end, ReadAllAvailable()) == end


def test_a_query_holds_what_it_has_not_read(small: Cluster) -> None:
    submit(small, KEYS, "a", ["x"])
    reader = stream_reader(small, hold="my-query")
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())

    def held() -> dict[str, int]:
        (hold,) = small.ask(ask="holds")["holds"]
        assert hold["name"] == "my-query"
        found: dict[str, int] = hold["offsets"]
        return found

    assert held() == {bucket: place["offset"] for bucket, place in start["buckets"].items()}
    reader.held_s = None
    reader.commit(end)
    assert held() == {bucket: place["offset"] for bucket, place in end["buckets"].items()}


def test_another_log_is_refused_by_name(small: Cluster, cluster: Cluster) -> None:
    start = stream_reader(cluster).initialOffset()
    with pytest.raises(Exception, match=start["log"]):
        stream_reader(small).latestOffset(start, ReadAllAvailable())


def test_what_is_not_retained_any_more_fails_unless_it_may_be_left_out(tmp_path: Path) -> None:
    async def test() -> None:
        async with Small(tmp_path, "abc", 1) as company:
            await company.write(60)
            endpoints = ",".join(addresses(company))

            def reader(**more: str) -> BatchReader:
                given = {"endpoints": endpoints, "timeoutSeconds": "20"} | more
                return BatchReader(Given(given, BATCH_READ, "a batch read"), SCHEMA)

            planned = await asyncio.to_thread(reader().partitions)
            strict = [Share([each._replace(lenient=False) for each in shares_of(share)], 0) for share in planned]
            assert len(await asyncio.to_thread(taken, reader(), strict)) == 60
            await company.order("c", "limit", type="configure", retain_changes=10)
            await company.write(5)
            await company.dropped(above=20)
            with pytest.raises(DataLost, match="was to be read from 1: what lies between is lost to this query"):
                await asyncio.to_thread(taken, reader(), strict)
            left = await asyncio.to_thread(taken, reader(failOnDataLoss="false"), strict)
            assert len(left) < 45
            from_the_earliest = await asyncio.to_thread(taken, reader(), planned)
            assert from_the_earliest == left[len(left) - len(from_the_earliest) :]
            start = await asyncio.to_thread(reader().partitions)
            assert shares_of(start[0])[0].start > 20

    run(test(), timeout_s=120)


def test_a_cluster_that_asks_for_a_token_is_read_with_one() -> None:
    with running(buckets=1, guarded=True) as guarded:
        with Client.connect(guarded.addresses, token=guarded.token) as client:
            client.submit("key", "value", ["x"])
        assert [row["key"] for row in everything(guarded, token=guarded.token)] == [b"key"]
        with pytest.raises(Exception, match="token"):
            everything(guarded, timeoutSeconds=2)
