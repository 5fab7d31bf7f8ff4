"""What a client makes of an answer, and of none: whom it asks next, and what it sends again."""

import asyncio
from collections.abc import Callable

import pytest

from hansard.client import AsyncClient, NotReachable, OutcomeUnknown, Receipt, Settings
from hansard.wire.handshake import Hello, Role
from hansard.wire.submission import Answer, Busy, Expired, NotLeader, Repeated, Stored, Unknown
from tests.client.fake import (
    APART,
    LOOPS,
    NOBODYS,
    STREAM,
    TIMESTAMP,
    Bucket,
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


def elsewhere(other: FakeParticipant, epoch: int = 3) -> Step:
    return lambda submit, _: NotLeader(submit.id, "other", other.address, epoch)


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
            assert receipts[0] == Receipt(0, 0, TIMESTAMP) and receipts[1][0].offset == 1
            assert leader.bucket.values == [b"a", b"b", b"c"]
            assert {submit.epoch for submit in leader.submits} == {3}

    run(test(), loop)


@pytest.mark.parametrize("connection", [STREAM, NOBODYS])
def test_where_nobody_is_named_the_others_are_asked_until_one_leads(loop: Loop, connection: int) -> None:
    async def test() -> None:
        bucket = Bucket()
        async with (
            FakeParticipant(otherwise=say_nobody_leads) as one,
            FakeParticipant(*[say_nobody_leads] * 3, bucket=bucket) as two,
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
                assert (len(newer.submits), len(client_too.submits), len(leader.submits)) == (0, 0, 1)

    run(test(), loop)


def test_nobody_there_is_said_when_the_timeout_is_over(loop: Loop) -> None:
    async def test() -> None:
        async with FakeParticipant() as gone:
            pass
        with pytest.raises(NotReachable, match=r"127\.0\.0\.1:"):
            await connected(gone, connection=STREAM, timeout_s=SHORT_S)
        for bad in ([], "127.0.0.1:7001", ["say_nobody_leads"], ["a:b"], ["a:70000"]):
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


def test_without_a_stream_a_silent_participant_is_left_when_nobody_waits_for_it(loop: Loop) -> None:
    async def test() -> None:
        async with (
            FakeParticipant(otherwise=ignore) as dead,
            FakeParticipant() as leader,
            await connected(dead, leader, connection=NOBODYS, timeout_s=SHORT_S) as client,
        ):
            with pytest.raises(OutcomeUnknown):
                await client.submit("k", "a")
            assert await client.submit("k", "b") == Receipt(0, 0, TIMESTAMP)
            assert len(dead.submits) == 1 and leader.bucket.values == [b"b"]

    run(test(), loop)


# What it sends again.


@pytest.mark.parametrize("connection", [STREAM, NOBODYS])
@pytest.mark.parametrize("refusal", [Busy, Expired])
def test_what_is_refused_for_now_is_sent_again(loop: Loop, connection: int, refusal: Callable[[int], Answer]) -> None:
    async def test() -> None:
        async with (
            FakeParticipant(store, say(refusal), store, say(refusal)) as leader,
            await connected(leader, connection=connection, settings=APART) as client,
        ):
            many = [client.submit_many(["k"] * 2, [b"%d" % n, b"%d'" % n]) for n in range(5)]
            await asyncio.gather(*many)
            expected = [b"0", b"0'", b"1", b"1'", b"2", b"2'", b"3", b"3'", b"4", b"4'"]
            assert sorted(leader.bucket.values, key=str) == sorted(expected, key=str)
            if connection:
                assert leader.bucket.values == expected

    run(test(), loop)


def test_after_a_refusal_there_is_a_pause_for_what_comes_later_too(loop: Loop) -> None:
    async def test() -> None:
        settings = Settings(backoff_min_s=1, backoff_max_s=1)
        async with (
            FakeParticipant(say(Busy)) as leader,
            await connected(leader, connection=STREAM, settings=settings) as client,
        ):
            tasks = [asyncio.ensure_future(client.submit("k", "a"))]
            await until(lambda: courier_of(client)._pause is not None)
            tasks.append(asyncio.ensure_future(client.submit("k", "b")))
            pause, seen = courier_of(client)._pause, list[int]()

            def is_over() -> bool:
                if courier_of(client)._pause is pause:
                    seen.append(len(leader.submits))
                return courier_of(client)._pause is not pause

            await until(is_over)
            assert set(seen) == {1}
            await asyncio.gather(*tasks)
            assert leader.bucket.values == [b"a", b"b"]

    run(test(), loop)


@pytest.mark.parametrize("step", [hang_up, store_and_hang_up])
def test_a_stream_survives_the_loss_of_its_connection(loop: Loop, step: Step) -> None:
    async def test() -> None:
        async with (
            FakeParticipant(store, store, step, store, step, step) as leader,
            await connected(leader, connection=STREAM, settings=APART) as client,
        ):
            receipts = await asyncio.gather(*[client.submit_many(["k"], [str(n)]) for n in range(20)])
            assert [one[0].offset for one in receipts] == list(range(20))
            assert leader.bucket.values == [b"%d" % n for n in range(20)]
            assert leader.connections == 4

    run(test(), loop)


@pytest.mark.parametrize("step", [say(Unknown), lambda submit, bucket: bucket.store(submit) and Unknown(submit.id)])
def test_a_stream_asks_again_where_the_leader_does_not_know(loop: Loop, step: Step) -> None:
    async def test() -> None:
        async with (
            FakeParticipant(step, step) as leader,
            await connected(leader, connection=STREAM, settings=APART) as client,
        ):
            receipts = await asyncio.gather(*[client.submit_many(["k"], [str(n)]) for n in range(5)])
            assert [one[0].offset for one in receipts] == list(range(5))
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
            await until(lambda: courier_of(client)._link is None)
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
