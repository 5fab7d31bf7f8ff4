"""Submitting to many buckets, statement by statement: what is cut anew, and under which connection number it goes."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from hansard.batch import Batch, build
from hansard.client import (
    AsyncClient,
    ClientClosed,
    InvalidSubmission,
    OutcomeUnknown,
    PartlyStored,
    SeriesGap,
    StreamBroken,
)
from hansard.wire.submission import Broken, Invalid, Unknown
from tests.client.fake import LOOPS, QUICK, Step, hang_up, ignore, run, say, store, store_and_hang_up, until
from tests.client.town import Town

Loop = Callable[[], asyncio.AbstractEventLoop]
KEYS = [f"key {number}" for number in range(64)]

pytestmark = pytest.mark.parametrize("loop", LOOPS)


def test_series_are_the_connections_and_previous_ones_the_buckets(loop: Loop) -> None:
    async def test() -> None:
        async with Town() as town, await town.connect() as client:
            for key in KEYS[:8]:
                await client.submit(key, key)
            headers = [(submit.bucket, submit.batch.header) for submit in town.submits]
            assert [header.first_series for _, header in headers] == list(range(8))
            for bucket in (0, 1):
                mine = [header for number, header in headers if number == bucket]
                assert [header.previous_series for header in mine] == [-1, *[each.first_series for each in mine[:-1]]]
            assert {header.connection for _, header in headers} == {client.connection} == {100}

    run(test(), loop)


@pytest.mark.parametrize("window", [1, 64])
@pytest.mark.parametrize("tells", [False, True])
def test_a_split_is_heard_of_by_an_answer_or_a_table_and_nothing_is_lost_doubled_or_reordered(
    loop: Loop, tells: bool, window: int
) -> None:
    async def test() -> None:
        async with Town(buckets=1) as town, await town.connect(window=window) as client:
            town.tells = tells
            submitted: list[asyncio.Future[Any]] = []
            for turn in range(40):
                keys = [KEYS[(turn * 7 + place) % 64] for place in range(5)]
                submitted += [asyncio.ensure_future(client.submit(key, f"{key} {turn}")) for key in keys]
                submitted.append(asyncio.ensure_future(client.submit_many(keys, [f"{key} {turn}+" for key in keys])))
                if turn % 8 == 4:
                    town.split(max(town.levels, key=lambda bucket: (-town.levels[bucket], bucket)))
                await asyncio.sleep(0)
            await asyncio.gather(*submitted)
            values = [value.decode() for value in town.values if value is not None]
            assert len(values) == len(set(values)) == 400
            for key in KEYS:
                turns = [value.rpartition(" ")[2] for value in values if value.startswith(f"{key} ")]
                assert turns == sorted(turns, key=lambda turn: (int(turn.rstrip("+")), turn)), key
            assert client.buckets == len(town.levels) == 6

    run(test(), loop)


@pytest.mark.parametrize("splits", [False, True])
def test_many_of_several_callers_in_one_turn_are_one_batch_for_each_bucket(loop: Loop, splits: bool) -> None:
    async def test() -> None:
        async with Town() as town, await town.connect() as client:
            await client.submit_many(KEYS[49:], KEYS[49:])
            town.submits.clear()
            if splits:
                town.split(0)
            calls = [KEYS[first : first + 7] for first in range(0, 49, 7)]
            told = await asyncio.gather(*[client.submit_many(keys, keys, [[keys[0]]] * len(keys)) for keys in calls])
            if not splits:
                assert sorted(submit.bucket for submit in town.submits) == [0, 1]
            for keys, receipts in zip(calls, told, strict=True):
                for key, (bucket, offset, _) in zip(keys, receipts, strict=True):
                    assert offset is not None and town.buckets[bucket].values[offset] == key.encode()
            assert sorted(value for value in town.values if value) == sorted(key.encode() for key in KEYS)

    run(test(), loop)


def test_who_is_cancelled_among_many_does_not_disturb_the_others(loop: Loop) -> None:
    async def test() -> None:
        async with Town() as town, await town.connect() as client:
            calls = [asyncio.ensure_future(client.submit_many(KEYS[n::3], KEYS[n::3])) for n in range(3)]
            await asyncio.sleep(0)
            calls[1].cancel()
            one, _, other = await asyncio.gather(*calls, return_exceptions=True)
            for number, receipts in ((0, one), (2, other)):
                assert not isinstance(receipts, BaseException)
                for key, (bucket, offset, _) in zip(KEYS[number::3], receipts, strict=True):
                    assert offset is not None and town.buckets[bucket].values[offset] == key.encode()

    run(test(), loop)


def test_what_was_stored_before_a_split_and_not_answered_is_recognised_in_both_halves(loop: Loop) -> None:
    async def test() -> None:
        async with Town(store_and_hang_up, buckets=1) as town, await town.connect() as client:
            submitting = asyncio.ensure_future(client.submit_many(KEYS, KEYS))
            await until(lambda: bool(town.buckets[0].values))
            town.split(0)
            assert len(await submitting) == 64
            assert sorted(value for value in town.values if value) == sorted(key.encode() for key in KEYS)

    run(test(), loop)


def test_after_an_unknown_outcome_what_comes_goes_under_a_new_number(loop: Loop) -> None:
    async def test() -> None:
        async with Town(ignore, ignore, ignore, ignore, buckets=1) as town, await town.connect(0.5) as client:
            with pytest.raises(OutcomeUnknown):
                await client.submit("k", "lost")
            town.script.clear()
            await asyncio.gather(*[client.submit("k", str(number)) for number in range(3)])
            assert town.submits[-1].batch.header.connection == client.connection == 101
            assert town.submits[-1].batch.header.first_series == 0 and town.values == [b"0", b"1", b"2"]

    run(test(), loop)


def test_a_stream_that_was_forgotten_is_said_and_the_next_one_begins(loop: Loop) -> None:
    async def test() -> None:
        async with Town(store, say(Broken)) as town, await town.connect() as client:
            await client.submit("k", "a")
            with pytest.raises(StreamBroken):
                await client.submit("k", "b")
            await client.submit("k", "c")
            assert client.connection == 101 and [value for value in town.values if value] == [b"a", b"c"]

    run(test(), loop)


def test_buckets_have_fates_of_their_own(loop: Loop) -> None:
    async def test() -> None:
        async with (
            Town(store, say(lambda number: Invalid(number, "no"))) as town,
            await town.connect() as client,
        ):
            with pytest.raises(PartlyStored) as told:
                await client.submit_many(KEYS, KEYS)
            stored = [key for key, outcome in zip(KEYS, told.value.outcomes, strict=True) if isinstance(outcome, tuple)]
            assert sorted(value for value in town.values if value) == sorted(key.encode() for key in stored)
            await client.submit_many(KEYS, KEYS)

    run(test(), loop)


@pytest.mark.parametrize("step", [hang_up, store_and_hang_up, say(Unknown)])
def test_trouble_with_one_bucket_is_over_with_the_same_series(loop: Loop, step: Step) -> None:
    async def test() -> None:
        async with Town(*[step] * 3) as town, await town.connect() as client:
            await asyncio.gather(*[client.submit(key, key) for key in KEYS])
            values = [value for value in town.values if value]
            assert sorted(values) == sorted(key.encode() for key in KEYS)

    run(test(), loop)


def test_who_waits_for_anything_when_it_is_closed_is_told(loop: Loop) -> None:
    async def test() -> None:
        async with Town(ignore) as town:
            client = await town.connect()
            waiting = asyncio.ensure_future(client.submit("k", "v"))
            await until(lambda: bool(town.submits))
            await client.close()
            with pytest.raises(OutcomeUnknown):
                await waiting
            for call in (client.submit("k", "v"), client.submit_many(["k"], ["v"]), client.page()):
                with pytest.raises(ClientClosed):
                    await call

    run(test(), loop)


def test_a_client_with_a_name_gives_no_numbers_of_its_own(loop: Loop) -> None:
    async def test() -> None:
        async with Town() as town, await AsyncClient.connect([town.address], name="sink", settings=QUICK) as client:
            with pytest.raises(ValueError, match="use submit_batch"):
                await client.submit("k", "v")
            with pytest.raises(ValueError, match="use submit_batch"):
                await client.submit_many(["k"], ["v"])
            with pytest.raises(ValueError, match="use submit_batch"):
                client.producer()
            assert not town.submits
            batch = build(["k"], ["v"], connection=client.connection, first_series=0, previous_series=-1)
            assert len(await client.submit_batch(batch)) == 1

    run(test(), loop)


def numbered(client: AsyncClient, series: int, key: str = "k") -> Batch:
    return build([key], [str(series)], connection=client.connection, first_series=series, previous_series=series - 1)


def test_what_its_caller_has_numbered_is_never_stepped_over(loop: Loop) -> None:
    async def test() -> None:
        refuse = say(lambda number: Invalid(number, "no"))
        async with Town(store, refuse, buckets=1) as town, await town.connect() as client:
            await client.submit_batch(numbered(client, 0))
            outcomes = await asyncio.gather(
                *[client.submit_batch(numbered(client, series)) for series in (1, 2, 3)], return_exceptions=True
            )
            assert [type(outcome) for outcome in outcomes] == [InvalidSubmission, SeriesGap, SeriesGap]
            with pytest.raises(SeriesGap):
                await client.submit_batch(numbered(client, 4))
            for series in (1, 2, 3, 4):
                await client.submit_batch(numbered(client, series))
            assert town.values == [b"0", b"1", b"2", b"3", b"4"]

    run(test(), loop)


def test_under_another_number_nothing_goes_on_under_the_former_one(loop: Loop) -> None:
    async def test() -> None:
        async with Town() as town, await AsyncClient.connect([town.address], name="sink", settings=QUICK) as client:
            before = [numbered(client, place, key) for place, key in enumerate(KEYS[:8])]
            for batch in before:
                await client.submit_batch(batch)
            await client.renew()
            with pytest.raises(ValueError, match="of connection 100"):
                await client.submit_batch(before[0])
            count = len(town.submits)
            for place, key in enumerate(KEYS[:8]):
                await client.submit_batch(numbered(client, place, key))
            assert {submit.batch.header.connection for submit in town.submits[count:]} == {101}
            assert len(town.values) == 16

    run(test(), loop)


def test_who_waits_for_a_new_number_goes_on_in_order_and_before_who_comes_later(loop: Loop) -> None:
    async def test() -> None:
        async with Town(store, say(Broken), buckets=1) as town, await town.connect() as client:
            await client.submit("k", "a")
            with pytest.raises(StreamBroken):
                await client.submit("k", "b")
            submitted: list[asyncio.Future[Any]] = []
            while client.connection == 100 or len(submitted) < 50:
                number = len(submitted)
                submitted.append(
                    asyncio.ensure_future(
                        client.submit_many(["k"], [str(number)]) if number % 2 else client.submit("k", str(number))
                    )
                )
                await asyncio.sleep(0)
            await asyncio.gather(*submitted)
            assert town.values == [b"a", *[b"%d" % number for number in range(len(submitted))]]

    run(test(), loop)


def test_who_waits_for_a_new_number_when_it_is_closed_is_told(loop: Loop) -> None:
    async def test() -> None:
        async with Town(say(Broken), buckets=1) as town:
            client = await town.connect()
            with pytest.raises(StreamBroken):
                await client.submit("k", "a")
            town.gives = False
            waiting = [asyncio.ensure_future(client.submit("k", "b")) for _ in range(3)]
            await until(lambda: town.asked_for_numbers == 2)
            await client.close()
            for outcome in await asyncio.gather(*waiting, return_exceptions=True):
                assert isinstance(outcome, ClientClosed)

    run(test(), loop)
