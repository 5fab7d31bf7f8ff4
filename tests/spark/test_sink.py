"""What a sink promises: each row of a batch is stored once, whatever becomes of the attempts; without Spark."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from random import Random

import msgspec
import pytest
from msgspec import structs

from hansard.batch import build
from hansard.client import AsyncClient
from hansard.testing import Cluster
from hansard.testing import cluster as running
from pyspark_hansard.agreement import Record, missing
from pyspark_hansard.entrance import entered
from pyspark_hansard.options import Reach
from pyspark_hansard.register import Differs, Outdated, Postponed, Register
from tests.spark.local import Triple, attempt, everything, half_an_attempt


def rows_of(tag: str, count: int) -> list[Triple]:
    """Some keys more than once, some rows that are the same, keys and values that are missing."""
    rows: list[Triple] = [
        (f"{tag}-{n % (count * 3 // 4)}".encode(), f"{n // 3}".encode() * 40, (tag, f"mod:{n % 5}"))
        for n in range(count)
    ]
    return [*rows[:-3], (None, b"no key", (tag,)), (b"deleted", None, (tag,)), (b"deleted", None, (tag,))]


def stored(cluster: Cluster, tag: str) -> Counter[Triple]:
    return Counter((row["key"], row["value"], tuple(row["tags"])) for row in everything(cluster, tags=tag))


def test_an_attempt_with_its_rows_in_another_order_adds_what_another_one_has_not_stored(cluster: Cluster) -> None:
    rows = rows_of("order", 3_000)
    asyncio.run(half_an_attempt(cluster, rows, "order"))
    assert 500 < stored(cluster, "order").total() < 2_500
    for seed in range(2):
        again = list(rows)
        Random(seed).shuffle(again)
        asyncio.run(attempt(cluster, again, "order"))
        assert stored(cluster, "order") == Counter(rows)


def test_attempts_at_the_same_time_store_each_row_once(cluster: Cluster) -> None:
    rows = rows_of("race", 5_000)

    async def race() -> None:
        attempts = []
        for seed in range(4):
            again = list(rows)
            Random(seed).shuffle(again)
            attempts.append(attempt(cluster, again, "race"))
        await asyncio.gather(*attempts)

    asyncio.run(race())
    assert stored(cluster, "race") == Counter(rows)


def test_of_several_records_of_a_batch_the_first_in_the_log_counts(cluster: Cluster) -> None:
    """Attempts that found none at the same moment have each appended one."""
    name = "hansard:sink:first:0"

    async def settled() -> tuple[Record, Record]:
        reach = Reach(tuple(cluster.addresses))
        async with await AsyncClient.connect(reach.endpoints) as client, entered(reach) as entrance:
            register = Register(entrance, client, "first", 0, "run")
            first = await register.settle(3, 10, "digest")
            rival = msgspec.json.encode(structs.replace(first, connection=first.connection + 1_000))
            await client.submit_batch(build([name], [rival], [[name]], connection=client.connection, first_series=9))
            return first, await Register(entrance, client, "first", 0, "run").settle(3, 10, "digest")

    first, again = asyncio.run(settled())
    assert again == first and len(everything(cluster, tags=name)) == 2


def test_an_attempt_with_other_rows_fails_and_stores_nothing(cluster: Cluster) -> None:
    rows = rows_of("differs", 2_000)
    others = [
        rows[1:],
        [*rows, rows[0]],
        [*rows[1:], (b"another", b"", ("differs",))],
        [(*rows[0][:2], ("differs",)), *rows[1:]],
    ]

    async def all_at_once() -> list[BaseException | None]:
        attempts = [attempt(cluster, some, "differs") for some in (rows, others[0])]
        return await asyncio.gather(*attempts, return_exceptions=True)

    outcomes = asyncio.run(all_at_once())
    assert [type(outcome) for outcome in outcomes if outcome is not None] == [Differs]
    winner = rows if outcomes[0] is None else others[0]
    assert stored(cluster, "differs") == Counter(winner)
    for other in others[1:]:
        with pytest.raises(Differs, match=r"batch 0 of the sink 'differs' was begun before"):
            asyncio.run(attempt(cluster, other, "differs"))
    assert stored(cluster, "differs") == Counter(winner)
    with pytest.raises(Differs):
        asyncio.run(attempt(cluster, others[2], "differs"))


def test_batches_of_a_sink_are_stored_once_each_and_in_order(cluster: Cluster) -> None:
    batches = [rows_of(f"batches-{number}", 400) for number in range(4)]
    for number, rows in enumerate(batches):
        asyncio.run(attempt(cluster, rows, "batches", number))
        asyncio.run(attempt(cluster, rows, "batches", number))
    for number, rows in enumerate(batches):
        assert stored(cluster, f"batches-{number}") == Counter(rows)
    with pytest.raises(Outdated, match="comes after batch 3"):
        asyncio.run(attempt(cluster, rows_of("batches-late", 10), "batches", 2))
    assert not stored(cluster, "batches-late")
    numbers = {row["connection"] for row in everything(cluster, tags=",".join(f"batches-{n}" for n in range(4)))}
    assert len(numbers) == 1, "a partition keeps its number from batch to batch"


def test_partitions_and_sinks_do_not_know_each_other(cluster: Cluster) -> None:
    rows = rows_of("apart", 100)
    for sink, partition in (("apart", 0), ("apart", 1), ("apart-2", 0)):
        asyncio.run(attempt(cluster, rows, sink, partition=partition))
    assert stored(cluster, "apart") == Counter({row: 3 * count for row, count in Counter(rows).items()})


def test_a_batch_that_is_run_again_with_other_partitions_stores_nothing_twice(cluster: Cluster) -> None:
    """Of the first run one of two partitions was stored. The rows of that are in several partitions of the second."""
    rows = rows_of("cut", 1_200)
    asyncio.run(attempt(cluster, rows[:600], "cut", partition=0, run="first"))
    for number, parts in enumerate(
        [
            [rows[:400], rows[400:800], rows[800:]],  # another number of them
            [rows[:590], rows[590:]],  # as many, cut elsewhere
            [rows[600:], rows[:600]],  # the same ones the other way round
            [rows],
        ]
    ):
        run = f"other-{number}"
        for partition, part in reversed(list(enumerate(parts))):
            with pytest.raises((Differs, Postponed), match="batch 0 of the sink 'cut' was begun before"):
                asyncio.run(attempt(cluster, part, "cut", partition=partition, run=run, timeout_s=0.5))
        assert stored(cluster, "cut") == Counter(rows[:600]), run

    async def as_before() -> None:
        parts = ((1, rows[600:]), (0, rows[:600]))
        await asyncio.gather(*[attempt(cluster, part, "cut", 0, number, "last") for number, part in parts])

    asyncio.run(as_before())
    assert stored(cluster, "cut") == Counter(rows)


def test_a_run_without_room_for_all_its_tasks_gets_there_when_it_is_run_again(cluster: Cluster) -> None:
    """A task that waits has a place that another one needs; so it gives up, and what it was given is noted."""
    rows = rows_of("room", 600)
    asyncio.run(attempt(cluster, rows[300:], "room", partition=1, run="first"))
    with pytest.raises(Postponed, match="partition 0 waited in vain for partition 1, which must have the same rows"):
        asyncio.run(attempt(cluster, rows[:300], "room", partition=0, run="second", timeout_s=0.5))
    asyncio.run(attempt(cluster, rows[300:], "room", partition=1, run="second"))
    assert stored(cluster, "room") == Counter(rows[300:])
    asyncio.run(attempt(cluster, rows[:300], "room", partition=0, run="third", timeout_s=0.5))
    assert stored(cluster, "room") == Counter(rows)


def test_a_partition_is_stored_when_some_run_has_it_and_all_that_is_bound() -> None:
    def record(run: str, partition: int, digest: str, *, binds: bool = True, rows: int = 10) -> Record:
        return Record(0, rows, digest, 1, 0.0, partition, run, binds)

    first = [record("a", 0, "x"), record("a", 1, "y")]
    mine = record("b", 2, "z")
    assert missing([], mine) == [] and missing(first, record("a", 2, "z")) == []
    assert missing(first, mine) == [0, 1]
    assert missing([*first, record("b", 0, "x")], mine) == [1]
    assert missing([*first, record("b", 0, "x"), record("b", 1, "other")], mine) == [1], "it is not the same"
    assert missing([*first, record("b", 0, "x"), record("b", 1, "y")], mine) == []
    assert missing([*first, *[record("c", n, "xy"[n]) for n in range(2)]], mine) == [0, 1], "that run has not ours"
    noted = record("c", 2, "z", binds=False)
    assert missing([*first, *[record("c", n, "xy"[n]) for n in range(2)], noted], mine) == []
    assert missing([record("a", 0, "x"), noted], mine) == [0], "what only was seen binds nobody"
    assert missing([record("a", 7, "", rows=0)], mine) == [] and missing(first, record("b", 2, "", rows=0)) == []


def test_what_the_sink_keeps_in_the_log_is_shown_only_to_who_asks(cluster: Cluster) -> None:
    asyncio.run(attempt(cluster, rows_of("kept", 10), "kept"))
    tag = "hansard:sink:kept:0"
    assert len(everything(cluster, tags=tag)) == 1
    assert not [row for row in everything(cluster) if tag in row["tags"]]
    assert [row for row in everything(cluster, records="true") if tag in row["tags"]]


@pytest.fixture
def small() -> Iterator[Cluster]:
    with running(buckets=2) as three:
        yield three


def test_rows_are_stored_once_while_buckets_double_and_leaders_die(small: Cluster) -> None:
    rows = rows_of("storm", 20_000)

    async def storm() -> None:
        await half_an_attempt(small, rows, "storm")
        second = asyncio.ensure_future(attempt(small, rows[::-1], "storm"))
        await asyncio.to_thread(small.double)
        second.cancel()
        await asyncio.wait([second])
        third = asyncio.ensure_future(attempt(small, rows, "storm"))
        await asyncio.to_thread(small.kill, small.leader(0))
        await third

    asyncio.run(storm())
    assert stored(small, "storm") == Counter(rows)
    asyncio.run(attempt(small, rows, "storm"))
    assert stored(small, "storm") == Counter(rows)
