"""What callers are told when a change was not stored, or nobody knows."""

import asyncio
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from hansard.batch import build
from hansard.client import (
    BucketsChanged,
    ClientError,
    ConnectionTaken,
    DeadlinePassed,
    InvalidSubmission,
    NoRoom,
    NotReachable,
    NotStored,
    OutcomeUnknown,
    Overloaded,
    Receipt,
    SeriesGap,
    StreamBroken,
    StreamEnded,
)
from hansard.wire.submission import Broken, Busy, Expired, Gap, Invalid, Misplaced, ReadOnly, Repeated, Unknown
from tests.client.fake import (
    APART,
    LOOPS,
    NOBODYS,
    QUICK,
    STREAM,
    TIMEOUT_S,
    TIMESTAMP,
    FakeParticipant,
    Step,
    connected,
    courier_of,
    hang_up,
    ignore,
    run,
    say,
    say_nobody_leads,
    store,
    store_and_hang_up,
    until,
)

Loop = Callable[[], asyncio.AbstractEventLoop]
SHORT_S = 0.5
"""Of deadlines that are to pass."""

pytestmark = pytest.mark.parametrize("loop", LOOPS)


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (say(Busy), Overloaded),
        (say(Expired), DeadlinePassed),
        (say_nobody_leads, NotReachable),
        (ignore, OutcomeUnknown),
        (hang_up, OutcomeUnknown),
        (say(Unknown), OutcomeUnknown),
    ],
)
@pytest.mark.parametrize("connection", [STREAM, NOBODYS])
def test_when_the_deadline_passes_the_caller_is_told_what_is_known(
    loop: Loop, connection: int, step: Step, error: type[ClientError]
) -> None:
    async def test() -> None:
        # Who answers at all is waited for, however slow the machine is.
        settings = QUICK if error is OutcomeUnknown else replace(QUICK, answer_grace_s=TIMEOUT_S)
        async with (
            FakeParticipant(otherwise=step) as leader,
            await connected(leader, connection=connection, timeout_s=SHORT_S, settings=settings) as client,
        ):
            with pytest.raises(error):
                await client.submit("k", "a")
            leader.otherwise = store
            if connection and error is OutcomeUnknown:
                with pytest.raises(StreamEnded, match="new connection"):
                    await client.submit("k", "b")
            else:
                await client.submit("k", "b")
                assert leader.bucket.values == [b"b"]

    run(test(), loop)


def test_what_was_never_sent_is_certainly_not_stored_and_leaves_no_gap(loop: Loop) -> None:
    async def test() -> None:
        async with FakeParticipant() as leader, await connected(leader, connection=STREAM, timeout_s=SHORT_S) as client:
            await client.submit("k", "a")
            leader.hang_up()
            await until(lambda: courier_of(client)._link is None)
            await leader.stop_listening()
            with pytest.raises(NotReachable):
                await client.submit("k", "never sent")
            await leader.listen_again()
            await client.submit("k", "b")
            assert leader.bucket.values == [b"a", b"b"]
            last = leader.submits[-1].batch.header
            assert (last.first_series, last.previous_series) == (1, 0)

    run(test(), loop)


def test_behind_a_batch_of_unknown_outcome_nothing_is_sent_any_more(loop: Loop) -> None:
    async def test() -> None:
        settings = replace(APART, window_batches=2)
        async with (
            FakeParticipant(otherwise=ignore) as leader,
            await connected(leader, connection=STREAM, timeout_s=SHORT_S, settings=settings) as client,
        ):
            tasks = [asyncio.ensure_future(client.submit_many(["k"], [str(n)])) for n in range(2)]
            await until(lambda: len(leader.submits) == 2)
            half = asyncio.get_running_loop().time() + SHORT_S / 2
            await until(lambda: asyncio.get_running_loop().time() > half)
            tasks += [asyncio.ensure_future(client.submit_many(["k"], [str(n)])) for n in range(2, 4)]
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            assert [type(outcome) for outcome in outcomes] == [OutcomeUnknown] * 2 + [StreamEnded] * 2
            assert {submit.batch.header.first_series for submit in leader.submits} == {0, 1}

    run(test(), loop)


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (say(lambda number: Invalid(number, "no such flag")), InvalidSubmission),
        (say(lambda number: Misplaced(number, 4)), BucketsChanged),
    ],
)
@pytest.mark.parametrize("connection", [STREAM, NOBODYS])
def test_a_batch_refused_for_good_fails_alone(loop: Loop, connection: int, step: Step, error: type[NotStored]) -> None:
    async def test() -> None:
        async with (
            FakeParticipant(store, step) as leader,
            await connected(leader, connection=connection, settings=APART) as client,
        ):
            one, bad, two = await asyncio.gather(
                *[client.submit_many(["k"] * 2, [str(n), f"{n}'"]) for n in range(3)], return_exceptions=True
            )
            assert isinstance(bad, error)
            assert not isinstance(one, BaseException) and not isinstance(two, BaseException)
            assert (one[0].offset, two[0].offset) == (0, 2)
            await client.submit("k", "after")
            assert leader.bucket.values == [b"0", b"0'", b"2", b"2'", b"after"]

    run(test(), loop)


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (say(Broken), StreamBroken),
        (say(lambda number: Gap(number, 17)), SeriesGap),
        (say(lambda number: Repeated(number, 5, TIMESTAMP)), ConnectionTaken),
    ],
)
def test_a_stream_that_the_bucket_does_not_go_on_with_ends(loop: Loop, step: Step, error: type[NotStored]) -> None:
    async def test() -> None:
        async with FakeParticipant(store, step) as leader, await connected(leader, connection=STREAM) as client:
            await client.submit("k", "a")
            with pytest.raises(error) as caught:
                await client.submit("k", "b")
            if isinstance(caught.value, SeriesGap):
                assert caught.value.expected == 17
            with pytest.raises(StreamEnded):
                await client.submit("k", "c")

    run(test(), loop)


def test_a_stream_broken_after_a_doubt_leaves_the_outcome_unknown(loop: Loop) -> None:
    async def test() -> None:
        async with (
            FakeParticipant(store_and_hang_up, say(Broken)) as leader,
            await connected(leader, connection=STREAM) as client,
        ):
            with pytest.raises(OutcomeUnknown) as caught:
                await client.submit("k", "a")
            assert isinstance(caught.value.__cause__, StreamBroken)

    run(test(), loop)


def test_a_caller_that_numbers_is_told_of_its_own_gap_and_goes_on(loop: Loop) -> None:
    async def test() -> None:
        async with FakeParticipant() as leader, await connected(leader, connection=STREAM) as client:
            await client.submit_batch(build(["k"], ["a"], connection=STREAM))
            with pytest.raises(SeriesGap) as caught:
                await client.submit_batch(build(["k"], ["c"], connection=STREAM, first_series=2, previous_series=1))
            assert caught.value.expected == 0
            await client.submit_batch(build(["k"], ["b"], connection=STREAM, first_series=1, previous_series=0))
            part = build(["k"] * 2, ["b", "c"], connection=STREAM, first_series=1, previous_series=0)
            receipts = await client.submit_batch(part)
            assert list(receipts) == [Receipt(0, None, None), Receipt(0, 2, TIMESTAMP)]
            assert leader.bucket.values == [b"a", b"b", b"c"]

    run(test(), loop)


@pytest.mark.parametrize("connection", [STREAM, NOBODYS])
def test_that_a_disk_is_full_is_told_at_once_and_the_stream_goes_on(loop: Loop, connection: int) -> None:
    async def test() -> None:
        full = say(lambda id: ReadOnly(id, "b", "it is full"))
        async with FakeParticipant(full) as leader, await connected(leader, connection=connection) as client:
            with pytest.raises(NoRoom, match="the disk of b takes nothing now"):
                await client.submit("k", "a")
            assert len(leader.submits) == 1, "it is the caller's to try again"
            await client.submit("k", "b")

    run(test(), loop)


def test_a_full_disk_says_nothing_of_an_attempt_that_is_in_doubt(loop: Loop) -> None:
    async def test() -> None:
        full = say(lambda id: ReadOnly(id, "b", "it is full"))
        async with FakeParticipant(say(Unknown), full) as leader, await connected(leader, connection=STREAM) as client:
            await client.submit("k", "a")
            assert len(leader.submits) == 3

    run(test(), loop)
