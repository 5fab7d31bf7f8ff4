"""What a client makes of each answer, and of none: whom it asks next, what it sends again, what callers are told."""

import asyncio
from collections.abc import Callable

import pytest

from hansard.batch import build
from hansard.client import (
    AsyncClient,
    BucketsChanged,
    ClientError,
    ConnectionTaken,
    DeadlinePassed,
    InvalidSubmission,
    NotReachable,
    NotStored,
    OutcomeUnknown,
    Overloaded,
    Receipt,
    SeriesGap,
    Settings,
    StreamBroken,
    StreamEnded,
)
from hansard.wire.handshake import Hello, Role
from hansard.wire.submission import (
    Answer,
    Broken,
    Busy,
    Expired,
    Gap,
    Invalid,
    Misplaced,
    NotLeader,
    Repeated,
    Stored,
    Submit,
    Unknown,
)
from tests.client.fake import (
    LOOPS,
    TIMESTAMP,
    Bucket,
    FakeParticipant,
    Step,
    hang_up,
    ignore,
    run,
    say,
    store,
    store_and_hang_up,
    until,
)

Loop = Callable[[], asyncio.AbstractEventLoop]
STREAM, NOBODYS = 7, 0
QUICK = Settings(backoff_min_s=0.001, backoff_max_s=0.01, answer_grace_s=0.02)
SHORT_S = 0.25
"""Of deadlines that are to pass."""

pytestmark = pytest.mark.parametrize("loop", LOOPS)


async def connected(
    *participants: FakeParticipant, connection: int, timeout_s: float = 10.0, settings: Settings = QUICK
) -> AsyncClient:
    addresses = [participant.address for participant in participants]
    return await AsyncClient.connect(addresses, connection=connection, timeout_s=timeout_s, settings=settings)


def elsewhere(other: FakeParticipant, epoch: int = 3) -> Step:
    return lambda submit, _: NotLeader(submit.id, "other", other.address, epoch)


def nowhere(submit: Submit, _: Bucket) -> Answer:
    return NotLeader(submit.id, None, None, 1)


# Whom it asks.


@pytest.mark.parametrize("connection", [STREAM, NOBODYS])
def test_the_leader_that_is_named_is_asked_instead(loop: Loop, connection: int) -> None:
    async def test() -> None:
        async with (
            FakeParticipant() as leader,
            FakeParticipant(otherwise=elsewhere(leader)) as member,
            await connected(member, connection=connection) as client,
        ):
            receipts = await asyncio.gather(client.submit("k", "a"), client.submit_many(["k"] * 2, ["b", "c"]))
            assert receipts[0] == Receipt(0, 0, TIMESTAMP) and receipts[1].offset == 1
            assert leader.bucket.values == [b"a", b"b", b"c"]
            assert {submit.epoch for submit in leader.submits} == {3}

    run(test(), loop)


@pytest.mark.parametrize("connection", [STREAM, NOBODYS])
def test_where_nobody_is_named_the_others_are_asked_until_one_leads(loop: Loop, connection: int) -> None:
    async def test() -> None:
        bucket = Bucket()
        async with (
            FakeParticipant(otherwise=nowhere) as one,
            FakeParticipant(*[nowhere] * 3, bucket=bucket) as two,
            await connected(one, two, connection=connection) as client,
        ):
            assert await client.submit("k", "a") == Receipt(0, 0, TIMESTAMP)
            assert len(one.submits) >= 3 and len(two.submits) == 4

    run(test(), loop)


def test_a_participant_that_is_not_there_or_speaks_otherwise_is_passed_over(loop: Loop) -> None:
    async def test() -> None:
        async with FakeParticipant() as gone:
            pass
        async with FakeParticipant() as newer, FakeParticipant() as client_too, FakeParticipant() as leader:
            newer.hello = Hello(Role.PARTICIPANT, version_min=8, version_max=9)
            client_too.hello = Hello(Role.CLIENT)
            async with await connected(gone, newer, client_too, leader, connection=STREAM) as client:
                assert await client.submit("k", "a") == Receipt(0, 0, TIMESTAMP)

    run(test(), loop)


def test_nobody_there_is_said_when_the_timeout_is_over(loop: Loop) -> None:
    async def test() -> None:
        async with FakeParticipant() as gone:
            pass
        with pytest.raises(NotReachable, match=r"127\.0\.0\.1:"):
            await connected(gone, connection=STREAM, timeout_s=SHORT_S)
        for bad in ([], "127.0.0.1:7001", ["nowhere"], ["a:b"], ["a:70000"]):
            with pytest.raises(ValueError, match="address"):
                await AsyncClient.connect(bad)

    run(test(), loop)


def test_a_stream_goes_elsewhere_when_nothing_is_heard(loop: Loop) -> None:
    """As when a machine has lost its power: the connection does not say so."""

    async def test() -> None:
        async with (
            FakeParticipant(otherwise=ignore) as dead,
            FakeParticipant() as leader,
            await connected(dead, leader, connection=STREAM, timeout_s=3) as client,
        ):
            assert await client.submit("k", "a") == Receipt(0, 0, TIMESTAMP)
            assert len(dead.submits) == 1

    run(test(), loop)


# What it sends again.


@pytest.mark.parametrize("connection", [STREAM, NOBODYS])
@pytest.mark.parametrize("refusal", [Busy, Expired])
def test_what_is_refused_for_now_is_sent_again(loop: Loop, connection: int, refusal: Callable[[int], Answer]) -> None:
    async def test() -> None:
        async with (
            FakeParticipant(store, say(refusal), store, say(refusal)) as leader,
            await connected(leader, connection=connection) as client,
        ):
            many = [client.submit_many(["k"] * 2, [b"%d" % n, b"%d'" % n]) for n in range(5)]
            await asyncio.gather(*many)
            expected = [b"0", b"0'", b"1", b"1'", b"2", b"2'", b"3", b"3'", b"4", b"4'"]
            assert sorted(leader.bucket.values, key=str) == sorted(expected, key=str)
            if connection:
                assert leader.bucket.values == expected

    run(test(), loop)


@pytest.mark.parametrize("step", [hang_up, store_and_hang_up])
def test_a_stream_survives_the_loss_of_its_connection(loop: Loop, step: Step) -> None:
    async def test() -> None:
        async with (
            FakeParticipant(store, store, step, store, step, step) as leader,
            await connected(leader, connection=STREAM) as client,
        ):
            receipts = await asyncio.gather(*[client.submit_many(["k"], [str(n)]) for n in range(20)])
            assert [one[0].offset for one in receipts] == list(range(20))
            assert leader.bucket.values == [b"%d" % n for n in range(20)]
            assert leader.connections == 4

    run(test(), loop)


@pytest.mark.parametrize("step", [say(Unknown), lambda submit, bucket: bucket.store(submit) and Unknown(submit.id)])
def test_a_stream_asks_again_where_the_leader_does_not_know(loop: Loop, step: Step) -> None:
    async def test() -> None:
        async with FakeParticipant(step, step) as leader, await connected(leader, connection=STREAM) as client:
            receipts = await asyncio.gather(*[client.submit_many(["k"], [str(n)]) for n in range(5)])
            assert [one.offset for one in receipts] == list(range(5))
            assert leader.bucket.values == [b"%d" % n for n in range(5)]

    run(test(), loop)


@pytest.mark.parametrize("step", [hang_up, store_and_hang_up, say(Unknown)])
def test_without_a_stream_nothing_that_may_be_stored_is_sent_again(loop: Loop, step: Step) -> None:
    async def test() -> None:
        async with FakeParticipant(step) as leader, await connected(leader, connection=NOBODYS) as client:
            with pytest.raises(OutcomeUnknown):
                await client.submit("k", "a")
            assert len(leader.submits) == 1
            await client.submit("k", "b")
            assert leader.bucket.values[-1] == b"b"

    run(test(), loop)


def test_an_idle_client_connects_again_when_there_is_something_to_send(loop: Loop) -> None:
    async def test() -> None:
        async with FakeParticipant() as leader, await connected(leader, connection=NOBODYS) as client:
            await client.submit("k", "a")
            leader.hang_up()
            await until(lambda: client._courier._link is None)
            await client.submit("k", "b")
            assert leader.bucket.values == [b"a", b"b"] and leader.connections == 2

    run(test(), loop)


def test_an_answer_that_is_none_ends_the_connection_and_no_more(loop: Loop) -> None:
    async def test() -> None:
        step = say(lambda number: Stored([number], [], []))
        async with FakeParticipant(step) as leader, await connected(leader, connection=STREAM) as client:
            assert await client.submit("k", "a") == Receipt(0, 0, TIMESTAMP)
            assert leader.connections == 2

    run(test(), loop)


def test_a_change_stored_long_ago_has_a_receipt_without_a_place(loop: Loop) -> None:
    async def test() -> None:
        step = say(lambda number: Repeated(number, None, None))
        async with (
            FakeParticipant(store_and_hang_up, step) as leader,
            await connected(leader, connection=STREAM) as client,
        ):
            assert await client.submit("k", "a") == Receipt(0, None, None)

    run(test(), loop)


# What callers are told.


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (say(Busy), Overloaded),
        (say(Expired), DeadlinePassed),
        (nowhere, NotReachable),
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
        async with (
            FakeParticipant(otherwise=step) as leader,
            await connected(leader, connection=connection, timeout_s=SHORT_S) as client,
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
            await until(lambda: client._courier._link is None)
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
        settings = Settings(window_batches=2, answer_grace_s=0.02)
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
        async with FakeParticipant(store, step) as leader, await connected(leader, connection=connection) as client:
            one, bad, two = await asyncio.gather(
                *[client.submit_many(["k"] * 2, [str(n), f"{n}'"]) for n in range(3)], return_exceptions=True
            )
            assert isinstance(bad, error)
            assert not isinstance(one, BaseException) and not isinstance(two, BaseException)
            assert (one.offset, two.offset) == (0, 2)
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
