"""Submitting when all is well: one batch a turn, receipts, limits, cancellation, closing."""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from hansard.batch import BatchError, LimitExceeded, build
from hansard.batch.limits import VALUE_BYTES_MAX
from hansard.client import AsyncClient, ClientClosed, OutcomeUnknown, Overloaded, Receipt, Settings
from hansard.wire.submission import Stored, Submit
from tests.client.fake import LOOPS, TIMESTAMP, Bucket, FakeParticipant, courier_of, ignore, run, until

Loop = Callable[[], asyncio.AbstractEventLoop]

pytestmark = pytest.mark.parametrize("loop", LOOPS)


def test_a_change_is_answered_with_its_place(loop: Loop) -> None:
    async def test() -> None:
        async with FakeParticipant() as leader, await AsyncClient.connect([leader.address], connection=7) as client:
            assert await client.submit("k", "a") == Receipt(0, 0, TIMESTAMP)
            assert await client.submit(b"k", b"b", ["t"]) == Receipt(0, 1, TIMESTAMP)
            assert await client.submit() == Receipt(0, 2, TIMESTAMP)
            assert leader.bucket.values == [b"a", b"b", None]

    run(test(), loop)


def test_what_is_submitted_in_one_turn_is_one_batch_and_each_caller_gets_its_own_offset(loop: Loop) -> None:
    async def test() -> None:
        async with FakeParticipant() as leader, await AsyncClient.connect([leader.address], connection=7) as client:
            await client.submit("k", "first")
            receipts = await asyncio.gather(*[client.submit(f"k{n}", f"v{n}", ["t"]) for n in range(1000)])
            assert [receipt.offset for receipt in receipts] == list(range(1, 1001))
            assert leader.frames == [1, 1] and len(leader.submits[1].batch) == 1000
            assert leader.bucket.values[1:] == [b"v%d" % n for n in range(1000)]

    run(test(), loop)


def test_batches_carry_the_stream_and_the_time_left(loop: Loop) -> None:
    async def test() -> None:
        async with (
            FakeParticipant() as leader,
            await AsyncClient.connect([leader.address], connection=7, timeout_s=5) as client,
        ):
            await client.submit("k", "a")
            await client.submit_many(["k"] * 3, ["b"] * 3)
            await client.submit("k", "c")
            headers = [submit.batch.header for submit in leader.submits]
            assert {header.connection for header in headers} == {7}
            assert [(header.first_series, header.previous_series) for header in headers] == [(0, -1), (1, 0), (4, 3)]
            assert all(4_000_000 < submit.wait_us <= 5_000_000 for submit in leader.submits)
            assert all((submit.bucket, submit.buckets, submit.epoch) == (0, 1, 0) for submit in leader.submits)

    run(test(), loop)


def test_many_are_one_batch_with_receipts_for_each(loop: Loop) -> None:
    async def test() -> None:
        async with FakeParticipant() as leader, await AsyncClient.connect([leader.address], connection=0) as client:
            await client.submit("k", "a")
            receipts = await client.submit_many(["k"] * 100, [b"%d" % n for n in range(100)], [["t"]] * 100)
            assert len(receipts) == 100 and receipts[-1] == Receipt(0, 100, TIMESTAMP)
            assert leader.submits[1].batch.header.connection == 0
            with pytest.raises(BatchError):
                await client.submit_many(["k"], ["v", "w"])
            with pytest.raises(BatchError):
                await client.submit_many([], [])

    run(test(), loop)


def test_batches_of_the_caller_go_as_they_are(loop: Loop) -> None:
    async def test() -> None:
        batches = [
            build(["k"] * 5, ["v"] * 5, connection=7, first_series=5 * n, previous_series=5 * n - 1) for n in range(200)
        ]
        async with FakeParticipant() as leader, await AsyncClient.connect([leader.address], connection=7) as client:
            receipts = await asyncio.gather(*[client.submit_batch(batch) for batch in batches])
            assert [one[0].offset for one in receipts] == list(range(0, 1000, 5))
            assert [submit.batch for submit in leader.submits] == batches
            assert leader.frames[0] == 64
            with pytest.raises(ValueError, match="numbered by"):
                await client.submit("k", "v")
            with pytest.raises(ValueError, match="connection 8"):
                await client.submit_batch(build(["k"], ["v"], connection=8))

    run(test(), loop)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ((1, "v", ()), TypeError),
        (("k", 1.5j, ()), TypeError),
        (("k", [object()], ()), TypeError),
        (("k", "v", "tag"), TypeError),
        (("k", "v", {"a", "b"}), TypeError),
        (("k", "v", [b"a"]), TypeError),
        (("k", "v", None), TypeError),
        (("k", "v", [""]), BatchError),
        (("\ud800", "v", ()), BatchError),
        (("k" * 40_000, "v", ()), LimitExceeded),
        (("k", b"v" * (VALUE_BYTES_MAX + 1), ()), LimitExceeded),
        (("k", "v", ["t"] * 65), LimitExceeded),
        (("k", "v", ["t" * 257]), LimitExceeded),
    ],
)
def test_a_change_that_no_batch_can_hold_fails_alone(loop: Loop, change: Any, kind: type[Exception]) -> None:
    async def test() -> None:
        async with FakeParticipant() as leader, await AsyncClient.connect([leader.address], connection=7) as client:
            one, bad, two = await asyncio.gather(
                client.submit("k", "a"), client.submit(*change), client.submit("k", "b"), return_exceptions=True
            )
            assert isinstance(bad, kind) and isinstance(bad, BatchError)
            assert (one, two) == (Receipt(0, 0, TIMESTAMP), Receipt(0, 1, TIMESTAMP))
            assert leader.frames == [1]

    run(test(), loop)


def test_large_changes_are_cut_into_several_batches_and_one_beyond_the_cut_goes_alone(loop: Loop) -> None:
    async def test() -> None:
        async with FakeParticipant() as leader, await AsyncClient.connect([leader.address], connection=7) as client:
            values = [b"%d" % n * 100_000 for n in range(10)] * 4 + [b"x" * VALUE_BYTES_MAX] + [b"y"]
            receipts = await asyncio.gather(*[client.submit("k", value, ["t"] * 2) for value in values])
            assert [receipt.offset for receipt in receipts] == list(range(42))
            assert leader.bucket.values == values
            lengths = [submit.batch.length for submit in leader.submits]
            assert sum(length > 1 << 20 for length in lengths) == 1 and max(lengths[:-2]) > 900_000

    run(test(), loop)


def test_single_changes_are_cut_where_there_are_enough_of_them(loop: Loop) -> None:
    async def test() -> None:
        settings = Settings(batch_changes=10)
        async with (
            FakeParticipant() as leader,
            await AsyncClient.connect([leader.address], connection=7, settings=settings) as client,
        ):
            await asyncio.gather(*[client.submit("k", str(n)) for n in range(25)])
            assert [len(submit.batch) for submit in leader.submits] == [10, 10, 5] and leader.frames == [3]

    run(test(), loop)


def test_a_late_change_does_not_share_the_deadline_of_one_that_has_waited_for_long(loop: Loop) -> None:
    held: list[Submit] = []

    def hold(submit: Submit, _: Bucket) -> None:
        held.append(submit)

    async def test() -> None:
        now = asyncio.get_running_loop().time
        async with (
            FakeParticipant(hold) as leader,
            await AsyncClient.connect(
                [leader.address], connection=0, timeout_s=2, settings=Settings(window_batches=1)
            ) as client,
        ):
            tasks = [asyncio.ensure_future(client.submit("k", "in flight"))]
            await until(lambda: bool(held))
            tasks.append(asyncio.ensure_future(client.submit("k", "early")))
            late = now() + 0.3
            await until(lambda: now() > late)
            tasks.append(asyncio.ensure_future(client.submit("k", "late")))
            await asyncio.sleep(0)
            leader.say([leader.bucket.store(held[0])])
            await asyncio.gather(*tasks)
            assert [len(submit.batch) for submit in leader.submits] == [1, 1, 1]

    run(test(), loop)


def test_a_cancelled_caller_does_not_disturb_the_others(loop: Loop) -> None:
    async def test() -> None:
        async with FakeParticipant() as leader, await AsyncClient.connect([leader.address], connection=7) as client:
            tasks = [asyncio.ensure_future(client.submit("k", str(n))) for n in range(3)]
            await asyncio.sleep(0)
            tasks[1].cancel()
            receipts = await asyncio.gather(*tasks, return_exceptions=True)
            assert receipts[0] == Receipt(0, 0, TIMESTAMP) and receipts[2] == Receipt(0, 2, TIMESTAMP)
            assert isinstance(receipts[1], asyncio.CancelledError)
            many = asyncio.ensure_future(client.submit_many(["k"], ["v"]))
            await asyncio.sleep(0)
            many.cancel()
            assert await client.submit("k", "after") == Receipt(0, 4, TIMESTAMP)

    run(test(), loop)


def test_the_window_bounds_what_is_in_flight_and_the_rest_gathers(loop: Loop) -> None:
    held: list[Submit] = []

    def hold(submit: Submit, _: Bucket) -> None:
        held.append(submit)

    async def test() -> None:
        settings = Settings(window_batches=2)
        async with (
            FakeParticipant(otherwise=hold) as leader,
            await AsyncClient.connect([leader.address], connection=7, settings=settings) as client,
        ):
            tasks = []
            for n in range(50):
                tasks.append(asyncio.ensure_future(client.submit("k", str(n))))
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            await until(lambda: len(held) == 2)
            assert [len(submit.batch) for submit in held] == [1, 1]
            leader.say([Stored([held[0].id], [0], [TIMESTAMP])])
            await until(lambda: len(held) == 3)
            assert len(held[2].batch) == 48
            leader.say([Stored([held[1].id, held[2].id], [1, 2], [TIMESTAMP] * 2)])
            receipts = await asyncio.gather(*tasks)
            assert [receipt.offset for receipt in receipts] == list(range(50))

    run(test(), loop)


def test_few_more_wait_until_they_are_as_many_as_are_under_way(loop: Loop) -> None:
    held: list[Submit] = []

    def hold(submit: Submit, _: Bucket) -> None:
        held.append(submit)

    async def test() -> None:
        async with (
            FakeParticipant(otherwise=hold) as leader,
            await AsyncClient.connect([leader.address], connection=7) as client,
        ):
            number, tasks = count(), []

            async def submit(*turns: int) -> None:
                for changes in turns:
                    tasks.extend([asyncio.ensure_future(client.submit("k", next(number))) for _ in range(changes)])
                    for _ in range(3):
                        await asyncio.sleep(0)

            await submit(3)
            await until(lambda: len(held) == 1)
            await submit(2, 2, 2)  # there is little under way
            await until(lambda: len(held) == 4)
            await submit(2, 3, 2)
            assert [len(submit.batch) for submit in held] == [3, 2, 2, 2]
            await submit(2)  # as many as are under way
            await until(lambda: len(held) == 5)
            await submit(2, 1)
            leader.say([Stored([held[0].id], [0], [TIMESTAMP])])
            await tasks[0]
            assert [len(submit.batch) for submit in held] == [3, 2, 2, 2, 9]
            many = asyncio.ensure_future(client.submit_many(["k"], ["last"]))  # behind which they get no more
            await until(lambda: len(held) == 6)
            assert len(held[5].batch) == 3
            leader.say([Stored([submit.id for submit in held[1:5]], [3, 5, 7, 9], [TIMESTAMP] * 4)])
            await until(lambda: len(held) == 7)
            leader.say([Stored([held[5].id, held[6].id], [18, 21], [TIMESTAMP] * 2)])
            assert (await many)[0].offset == 21
            assert [receipt.offset for receipt in await asyncio.gather(*tasks)] == list(range(21))

    run(test(), loop)


def test_whoever_submits_waits_when_too_much_has_gathered(loop: Loop) -> None:
    held: list[Submit] = []

    def hold(submit: Submit, _: Bucket) -> None:
        held.append(submit)

    async def test() -> None:
        settings = Settings(window_batches=1, gathered_changes=3)
        async with (
            FakeParticipant(otherwise=hold) as leader,
            await AsyncClient.connect([leader.address], connection=7, settings=settings) as client,
        ):
            first = asyncio.ensure_future(client.submit("k", "0"))
            await until(lambda: len(held) == 1)
            tasks = [asyncio.ensure_future(client.submit("k", str(n))) for n in range(1, 11)]
            await asyncio.sleep(0)
            tasks[5].cancel()  # while it waits for room
            while len(leader.bucket.values) < 10:
                await until(lambda: bool(held))
                submit = held.pop()
                assert len(submit.batch) <= 3 and not held
                leader.say([leader.bucket.store(submit)])
            receipts = await asyncio.gather(first, *tasks, return_exceptions=True)
            assert [one.offset for one in receipts if isinstance(one, Receipt)] == list(range(10))
            assert leader.bucket.values == [b"%d" % n for n in range(11) if n != 6]

    run(test(), loop)


def test_waiting_for_room_ends_at_the_deadline(loop: Loop) -> None:
    async def test() -> None:
        settings = Settings(window_batches=1, gathered_changes=1)
        async with (
            FakeParticipant(otherwise=ignore) as leader,
            await AsyncClient.connect([leader.address], connection=0, timeout_s=0.2, settings=settings) as client,
        ):
            tasks = [asyncio.ensure_future(client.submit("k", str(n))) for n in range(6)]
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            assert isinstance(outcomes[0], OutcomeUnknown)
            assert any(isinstance(outcome, Overloaded) for outcome in outcomes)

    run(test(), loop)


def test_closing_tells_everybody_who_waits(loop: Loop) -> None:
    async def test() -> None:
        settings = Settings(window_batches=1, gathered_changes=1)
        async with FakeParticipant(otherwise=ignore) as leader:
            client = await AsyncClient.connect([leader.address], connection=7, settings=settings)
            tasks = [asyncio.ensure_future(client.submit("k", "sent"))]
            await until(lambda: len(leader.submits) == 1)
            tasks += [asyncio.ensure_future(client.submit("k", value)) for value in ("gathered", "at the gate")]
            await asyncio.sleep(0)
            await client.close()
            sent, gathered, waiting = await asyncio.gather(*tasks, return_exceptions=True)
            assert isinstance(sent, OutcomeUnknown)
            assert isinstance(gathered, ClientClosed) and isinstance(waiting, ClientClosed)
            with pytest.raises(ClientClosed):
                await client.submit("k", "later")
            await client.close()

    run(test(), loop)


def test_the_client_holds_back_while_the_transport_is_full(loop: Loop) -> None:
    async def test() -> None:
        async with FakeParticipant() as leader, await AsyncClient.connect([leader.address], connection=7) as client:
            leader.is_reading.clear()
            big = [asyncio.ensure_future(client.submit_many(["k"], [b"x" * (4 << 20)])) for _ in range(3)]
            await asyncio.sleep(0)
            link = courier_of(client)._link
            assert link is not None
            await until(lambda: link.is_full)
            small = []
            for n in range(20):
                small.append(asyncio.ensure_future(client.submit("k", str(n))))
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            leader.is_reading.set()
            await asyncio.gather(*big, *small)
            assert [len(submit.batch) for submit in leader.submits] == [1, 1, 1, 20]

    run(test(), loop)
