"""Whatever comes over a connection ends that connection at most: nobody else is disturbed."""

import asyncio
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from crc32c import crc32c

from hansard.batch import Batch
from hansard.phaser.government import Shape
from hansard.server import asker
from hansard.wire.frame import FRAME_BYTES_MAX, HEADER_BYTES_MAX, PREFIX, pack
from hansard.wire.handshake import Hello, Role, greeting

from .caller import Caller, change, frame, submission
from .trio import CLUSTER, NAMES, Trio, told, until, values


def wrong_hash() -> bytes:
    """A frame whose batch is sound but for the hash of its key."""
    good = change("v")
    body = bytearray(good.body)
    body[0] ^= 1
    header = good.header._replace(body_crc=crc32c(bytes(body)))
    return frame([submission(1, Batch(header, header.packed(), bytes(body)))])


def flipped(data: bytes, position: int) -> bytes:
    changed = bytearray(data)
    changed[position] ^= 0x10
    return bytes(changed)


GOOD = frame([submission(1, change("never stored"))])
NONSENSE = {
    "garbage": b"GET / HTTP/1.1\r\nHost: hansard\r\n\r\n" * 10,
    "a frame that is too large": PREFIX.pack(FRAME_BYTES_MAX + 1, 8),
    "a header that is too large": PREFIX.pack(FRAME_BYTES_MAX, HEADER_BYTES_MAX + 1),
    "a header longer than its frame": PREFIX.pack(100, 200),
    "no message": PREFIX.pack(12, 8) + b"\xff" * 8,
    "another message": PREFIX.pack(12, 8) + b"\x91\x92\x63\x01" + bytes(4),
    "a body with a bad checksum": flipped(GOOD, len(GOOD) - 1),
    "a header with a bad checksum": flipped(GOOD, GOOD.index(b"HNSB") + 20),
    "a key with a wrong hash": wrong_hash(),
    "a batch that is not there": b"".join(pack(msgspec.msgpack.encode([(1, 1, 0, 3, 1_000)]), [])),
    "half a batch": b"".join(pack(msgspec.msgpack.encode([(1, 1, 0, 0, 1_000)]), [change("v").to_bytes()[:100]])),
}


async def goes_on(bystander: Caller, number: int) -> None:
    bystander.submit(submission(number, change(f"good {number}")))
    await bystander.receipts(number)


@pytest.mark.parametrize("what", NONSENSE)
def test_nonsense_ends_its_own_connection_and_nothing_else(tmp_path: Path, loop: Any, what: str) -> None:
    async def story(trio: Trio) -> None:
        for name in NAMES:
            async with await trio.dial() as bystander, await trio.dial(name) as offender:
                await goes_on(bystander, 1)
                offender.say([NONSENSE[what]])
                await offender.await_end()
                assert not offender.frames
                await goes_on(bystander, 2)

    told(tmp_path, story, loop=loop)
    assert values(tmp_path / "a") == ["good 1", "good 2"] * 3


STRANGERS = {
    "a wrong cluster": Hello(Role.CLIENT, "another"),
    "a participant of another cluster": Hello(Role.PARTICIPANT, "another", "b"),
    "a participant that nobody knows": Hello(Role.PARTICIPANT, CLUSTER, "z"),
    "a participant without a name": Hello(Role.PARTICIPANT, CLUSTER),
    "itself": Hello(Role.PARTICIPANT, CLUSTER, "a"),
    "another protocol": Hello(Role.CLIENT, magic="kafka"),
    "a version to come": Hello(Role.CLIENT, version_min=2, version_max=3),
}


@pytest.mark.parametrize("who", STRANGERS)
def test_stranger_is_sent_away_and_nobody_else(tmp_path: Path, loop: Any, who: str) -> None:
    async def story(trio: Trio) -> None:
        async with await trio.dial() as bystander:
            await goes_on(bystander, 1)
            async with await Caller.dial(trio.addresses["a"], STRANGERS[who]) as stranger:
                await stranger.await_end()
            await goes_on(bystander, 2)

    told(tmp_path, story, loop=loop)
    assert values(tmp_path / "a") == ["good 1", "good 2"]


def test_first_frame_that_is_no_hello_ends_its_connection(tmp_path: Path) -> None:
    async def story(trio: Trio) -> None:
        async with await trio.dial() as bystander:
            for first in (GOOD, PREFIX.pack(4, 0), b"\x00" * 64):
                async with await Caller.dial(trio.addresses["a"], None) as offender:
                    offender.say([first])
                    await offender.await_end()
            await goes_on(bystander, 1)

    told(tmp_path, story)


def test_participant_that_talks_like_a_client_is_cut_off(tmp_path: Path) -> None:
    async def story(trio: Trio) -> None:
        async with await trio.dial() as bystander:
            async with await Caller.dial(trio.addresses["a"], Hello(Role.PARTICIPANT, CLUSTER, "b")) as impostor:
                impostor.say([GOOD])
                await impostor.await_end()
            await goes_on(bystander, 1)

    told(tmp_path, story)
    assert values(tmp_path / "a") == ["good 1"]


def test_frame_in_many_pieces_is_taken_when_it_is_whole(tmp_path: Path, loop: Any) -> None:
    async def story(trio: Trio) -> None:
        async with await trio.dial() as caller, await trio.dial() as bystander:
            await goes_on(bystander, 1)
            whole = frame([submission(1, change("piece by piece"))])
            for position in range(0, len(whole), 7):
                caller.say([whole[position : position + 7]])
                await caller.writer.drain()
                await asyncio.sleep(0)
            await caller.receipts(1)
            caller.say([whole[:20]])
            caller.hang_up()
            await goes_on(bystander, 2)

    told(tmp_path, story, loop=loop)


def test_client_that_goes_away_with_submissions_under_way_disturbs_nobody(
    tmp_path: Path, loop: Any, shape: Shape
) -> None:
    async def story(trio: Trio) -> None:
        await trio.stop("c")
        leaving = [await trio.dial() for _ in range(5)]
        for who, caller in enumerate(leaving):
            caller.submit(*[submission(n, change(f"leaving {who}/{n}")) for n in range(50)])
        await until(lambda: trio.end("a") > 250)
        for caller in leaving:
            caller.hang_up()
        async with await trio.dial() as staying:
            staying.submit(*[submission(n, change(f"staying {n}")) for n in range(50)])
            await trio.start("c")
            offsets = await staying.receipts(*range(50))
            assert len(set(offsets)) == 50

    told(tmp_path, story, loop=loop, shape=shape)
    assert len(set(values(tmp_path / "b"))) == 300


def test_client_that_never_takes_its_answers_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asker, "UNSENT_BYTES_MAX", 256 << 10)
    monkeypatch.setattr(asker, "FULL_BYTES", 1 << 30)  # as if it were listened to all the same
    header = msgspec.msgpack.encode([(1, number, 99, 0, 1_000_000) for number in range(10_000)])
    refused = b"".join(pack(header, [change("never stored").to_bytes()]))

    async def story(trio: Trio) -> None:
        running = asyncio.get_running_loop()
        with socket.socket() as deaf:
            deaf.setblocking(False)
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            await running.sock_connect(deaf, trio.addresses["a"])
            await running.sock_sendall(deaf, b"".join(greeting(Hello(Role.CLIENT))))
            with suppress(ConnectionError):
                while True:
                    await running.sock_sendall(deaf, refused)
        async with await trio.dial() as bystander:
            await goes_on(bystander, 1)

    told(tmp_path, story)
