"""One connection for everything that is said to a participant: nothing on it starves anything else."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random

import pytest

from hansard.batch import build
from hansard.consensus import message as atomic
from hansard.consensus.cluster import ClusterId, Peer
from hansard.participant.message import Atomic, Bucketed, Message
from hansard.phaser.message import Append, Commit
from hansard.server import link as links
from hansard.server.link import FRAME_BYTES, LANE_BYTES, Link
from hansard.server.outbox import TURN_BYTES, Outbox
from hansard.server.peers import MANNER
from hansard.wire.handshake import Hello, Role

from .listener import Listener
from .trio import run, until

LARGE = bytes(1 << 20)
KERNEL_BYTES = 8 << 20
"""What the system takes of both sides, before anything waits with us."""


def append(bucket: int, number: int, value: bytes = b"v") -> Bucketed:
    return Bucketed(bucket, "a#1", "b#1", Append(1, 1, number, build(["k"], [value]), 0), 8)


def heartbeat(round: int) -> Atomic:
    said = atomic.Append(1, 0, 0, (), 0, round)
    return Atomic(atomic.Envelope(ClusterId("c"), Peer("a", 1), "a:1", 0, said))


def part(number: int) -> Atomic:
    said = atomic.Part(1, 1, atomic.Collection(1, 1, 99, 0), number, LARGE)
    return Atomic(atomic.Envelope(ClusterId("c"), Peer("a", 1), "a:1", 0, said))


# The outbox.


def taken(outbox: Outbox) -> list[object]:
    found = []
    while outbox:
        found.append(outbox.take()[0])
    return found


def test_lanes_take_turns_by_bytes_and_keep_their_order() -> None:
    outbox = Outbox()
    for number in range(8):
        outbox.put("bulk", ("bulk", number), TURN_BYTES)
    for number in range(200):
        outbox.put("small", ("small", number), 0)
    order = taken(outbox)
    assert [each for each in order if each[0] == "bulk"] == [("bulk", n) for n in range(8)]  # type: ignore[index]
    assert [each for each in order if each[0] == "small"] == [("small", n) for n in range(200)]  # type: ignore[index]
    assert order.index(("small", 199)) <= 201, "all that is small goes in its first turn"
    assert outbox.bytes == 0


@pytest.mark.parametrize("seed", range(5))
def test_everything_comes_out_once_and_no_lane_gets_more_than_its_share(seed: int) -> None:
    random, outbox = Random(seed), Outbox()
    for lane in range(4):
        for number in range(300):
            outbox.put(lane, (lane, number), random.choice((0, 5_000, TURN_BYTES, 10 * TURN_BYTES)))
    shares: Counter[int] = Counter()
    seen: dict[int, int] = dict.fromkeys(range(4), 0)
    for _ in range(400):
        (lane, number), length = outbox.take()
        assert number == seen[lane]
        seen[lane] += 1
        shares[lane] += length
    assert max(shares.values()) - min(shares.values()) <= 12 * TURN_BYTES
    rest = taken(outbox)
    assert len(rest) == 4 * 300 - 400 and outbox.bytes == 0 and not outbox


# A real way, and somebody who reads slowly.


@asynccontextmanager
async def way() -> AsyncIterator[tuple[Link, Listener]]:
    listener = Listener()
    mine = Hello(Role.PARTICIPANT, "c", "a")
    link = Link("b", await listener.build(), mine, MANNER, lambda _node: None, Random(1))
    keeping = asyncio.create_task(link.keep())
    await until(lambda: link.there == "b")
    try:
        yield link, listener
    finally:
        keeping.cancel()
        link.close()
        await listener.close()


def say(link: Link, *messages: Message) -> None:
    for message in messages:
        link.say(message)
    link.flush()


def place(listener: Listener, wanted: Callable[[Message], bool]) -> int:
    return next(number for number, message in enumerate(listener.heard) if wanted(message))


def test_catching_up_in_one_bucket_delays_neither_heartbeats_nor_other_buckets() -> None:
    async def test() -> None:
        async with way() as (link, listener):
            say(link, *[append(1, number, LARGE) for number in range(40)])
            say(link, append(2, 0), heartbeat(1), append(3, 0))
            listener.read(on=True)
            await until(lambda: len(listener.heard) >= 43)
            ahead = KERNEL_BYTES >> 20
            assert place(listener, lambda message: isinstance(message, Atomic)) <= ahead
            for bucket in (2, 3):
                found = place(listener, lambda message, b=bucket: isinstance(message, Bucketed) and message.bucket == b)  # type: ignore[misc]
                assert found <= ahead + 4
            numbers = [message.message.previous_end for message in listener.heard if _is_bulk(message)]  # type: ignore[union-attr]
            assert numbers == list(range(40)), "in order, and all of it"
            assert max(listener.frames) < FRAME_BYTES + 2 * len(LARGE)

    run(test())


def _is_bulk(message: Message) -> bool:
    return isinstance(message, Bucketed) and message.bucket == 1


def test_state_of_the_atomic_log_delays_neither_heartbeats_nor_buckets_and_is_not_starved() -> None:
    async def test() -> None:
        async with way() as (link, listener):
            say(link, *[part(number) for number in range(20)])
            say(link, heartbeat(1), *[append(2, number, bytes(50_000)) for number in range(400)])
            listener.read(on=True)
            await until(lambda: len(listener.heard) >= 421)
            kinds = [isinstance(message, Bucketed) for message in listener.heard]
            first = place(listener, lambda message: isinstance(message, Atomic) and not _is_part(message))
            assert first <= KERNEL_BYTES >> 20
            last_part = max(number for number, message in enumerate(listener.heard) if _is_part(message))
            assert kinds.index(True) <= (KERNEL_BYTES >> 20) + 2, "a bucket does not wait for the whole state"
            assert last_part < 420, "nor the state for the whole bucket"

    run(test())


def _is_part(message: Message) -> bool:
    return isinstance(message, Atomic) and isinstance(message.envelope.message, atomic.Part)


def test_many_buckets_that_catch_up_at_once_do_not_end_the_connection_nor_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each keeps within its own flow control; all together they are more than anybody should hold."""
    monkeypatch.setattr(links, "UNSAID_BYTES_MAX", 4 << 20)

    async def test() -> None:
        async with way() as (link, listener):
            for number in range(16):
                say(link, *[append(bucket, number, LARGE) for bucket in range(8)])
            waiting = link._outbox.bytes
            assert waiting <= (4 << 20) + 8 * (LANE_BYTES + len(LARGE) + 4096)
            listener.read(on=True)
            await until(lambda: not link._outbox)
            say(link, heartbeat(7))
            await until(lambda: any(isinstance(message, Atomic) for message in listener.heard))
            assert listener.met == 1
            for bucket in range(8):
                assert any(isinstance(message, Bucketed) and message.bucket == bucket for message in listener.heard)

    run(test())


def test_slow_listener_is_waited_for_as_long_as_it_takes_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """The question whether it listens waits behind everything else, so that the answer may be long in coming."""
    monkeypatch.setattr(links, "SILENCE_S_MAX", 0.6)

    async def test() -> None:
        async with way() as (link, listener):
            listener.answers = False
            say(link, *[append(1, number, LARGE) for number in range(40)])
            while link._outbox:
                listener.read(on=True)  # one piece
                listener.read(on=False)
                await asyncio.sleep(0.003)
            assert link.there == "b" and listener.met == 1, "it was given up before it had taken all"
            await until(lambda: listener.met == 2)  # it takes nothing any more, and does not answer

    run(test())


def test_commit_point_is_not_lost_behind_a_batch_that_was_there_before() -> None:
    async def test() -> None:
        async with way() as (link, listener):
            say(link, *[append(1, number, LARGE) for number in range(16)])
            say(link, Bucketed(1, "a#1", "b#1", Commit(1, 5), 8))
            listener.read(on=True)
            await until(lambda: _has_commit(listener))

    run(test())


def _has_commit(listener: Listener) -> bool:
    return any(isinstance(message, Bucketed) and isinstance(message.message, Commit) for message in listener.heard)
