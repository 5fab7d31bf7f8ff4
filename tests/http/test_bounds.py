"""Whoever sends too much, too slowly, or takes nothing is refused or sent away, and disturbs nobody else."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from hansard.http.intake import Intake
from hansard.http.problem import Refusal
from hansard.http.protocol import HEAD_S_MAX

from .caller import Caller
from .listener import Listener
from .town import Town, until

STREAMS = 1_000
STREAM_KIB_MAX = 100
"""Of memory for each stream that is open and silent."""


@pytest.fixture
def address(town: Town) -> tuple[str, int]:
    return town.address()


def answered(address: tuple[str, int], request: bytes) -> bytes:
    with socket.create_connection(address, 30) as connection:
        connection.sendall(request)
        received = b""
        with suppress(ConnectionResetError):  # where we had sent more than was read
            while piece := connection.recv(65_536):
                received += piece
        return received


def test_slow_heads_are_sent_away_and_others_are_served_meanwhile(address: tuple[str, int], caller: Caller) -> None:
    slow = [socket.create_connection(address, 30) for _ in range(50)]
    for connection in slow[:25]:
        connection.sendall(b"POST /changes HTTP/1.1\r\nHost: x\r\nX-Slow: ")
    try:
        ended: set[socket.socket] = set()

        def all_ended() -> bool:
            assert caller.post("/changes", {"key": "meanwhile"}).status == 201
            for connection in slow:
                if connection not in ended:
                    connection.setblocking(False)
                    try:
                        if connection in slow[:25]:
                            connection.send(b"x")
                        answer = connection.recv(4096)
                        assert b" 408 " in answer or not answer
                        ended.add(connection)
                    except BlockingIOError:
                        pass
                    except ConnectionError:
                        ended.add(connection)
            return len(ended) == len(slow)

        until(all_ended, "slow connections stay open", HEAD_S_MAX + 10)
    finally:
        for connection in slow:
            connection.close()


@pytest.mark.parametrize(
    "request_head",
    [
        b"GET /health HTTP/1.1\r\nHost: x\r\nX-Large: " + b"x" * 200_000 + b"\r\n\r\n",
        b"GET /health?" + b"x" * 200_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\n" + b"X-One: 1\r\n" * 101 + b"\r\n",
    ],
)
def test_large_heads_are_refused(address: tuple[str, int], request_head: bytes) -> None:
    answer = answered(address, request_head)
    assert answer.startswith(b"HTTP/1.1 431 ") and b"urn:hansard:problem:headers-too-large" in answer


def test_an_endless_head_is_cut_off(address: tuple[str, int]) -> None:
    answer = answered(address, b"GET /health HTTP/1.1\r\nHost: x\r\nX-Endless: " + b"x" * 400_000)
    assert not answer or b"headers-too-large" in answer


@pytest.mark.parametrize(
    "rubbish", [b"\x16\x03\x01\x02\x00", b"NONSENSE\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET \xff\r\n\r\n"]
)
def test_what_is_no_http_is_told_so_and_ended(address: tuple[str, int], rubbish: bytes) -> None:
    answer = answered(address, rubbish)
    assert answer.startswith(b"HTTP/1.1 400 ") and b"application/problem+json" in answer


def test_a_body_that_is_announced_too_large_is_refused_before_it_is_sent(address: tuple[str, int]) -> None:
    head = b"POST /changes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n"
    answer = answered(address, head)
    assert answer.startswith(b"HTTP/1.1 413 ") and b"too-large" in answer


def test_a_body_without_a_length_is_cut_off_when_it_is_too_large(address: tuple[str, int]) -> None:
    head = b"POST /changes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    piece = b"%x\r\n%b\r\n" % (1 << 20, b" " * (1 << 20))
    with socket.create_connection(address, 30) as connection:
        connection.sendall(head)
        received = b""
        try:
            for _ in range(64):
                connection.sendall(piece)
        except OSError:
            pass
        try:
            received = connection.recv(4096)
        except ConnectionError:
            return  # it hung up while we were still sending
    assert received.startswith(b"HTTP/1.1 413 ")


CHUNKED = b"POST /changes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("trailer", [b"X-Endless: " + b"x" * 65_536, b"X-One: 1\r\n" * 6_000, b"x" * 65_536])
def test_what_comes_behind_a_body_in_chunks_is_bounded(address: tuple[str, int], trailer: bytes) -> None:
    with socket.create_connection(address, 30) as connection:
        connection.sendall(CHUNKED + b"2\r\n{}\r\n0\r\n")
        with pytest.raises(ConnectionError):
            connection.sendall(trailer * 1_000)


def test_a_body_in_small_pieces_behind_a_long_head_is_none_of_those(address: tuple[str, int]) -> None:
    head = CHUNKED.replace(b"Host: x", b"Host: x\r\nConnection: close\r\nX-Long: " + b"x" * 20_000)
    value = b"x" * 20_000
    pieces = [head[:9_000], head[9_000:], b"A\r\n", b'{"value":"', b"\r\n", b"%x\r\n" % len(value), value, b"\r\n"]
    with socket.create_connection(address, 30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in [*pieces, b'2\r\n"}', b"\r\n", b"0\r\n", b"X-Trailer: 1\r\n", b"\r\n"]:
            connection.sendall(piece)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 201 ")


def test_whoever_asks_again_before_it_has_its_answer_is_sent_away(address: tuple[str, int], caller: Caller) -> None:
    health = b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"
    waiting = b"GET /changes?key=nobody&block=60 HTTP/1.1\r\nHost: x\r\n\r\n"
    assert answered(address, waiting + health) == b""
    assert answered(address, health * 10_000).count(b"HTTP/1.1 ") <= 1
    assert caller.get("/health/live").status == 200


def followers(caller: Caller) -> int:
    (line,) = [line for line in caller.get("/metrics").body.splitlines() if line.startswith(b"hansard_http_followers ")]
    return int(float(line.split()[1]))


def test_nobody_follows_on_when_its_connection_has_ended(address: tuple[str, int], caller: Caller) -> None:
    before = followers(caller)
    stream = b"GET /changes/stream?key=nobody HTTP/1.1\r\nHost: x\r\n\r\n"
    with socket.create_connection(address, 30) as connection:
        connection.sendall(stream)
        until(lambda: followers(caller) > before, "nobody follows")
        with suppress(ConnectionError):
            connection.sendall(stream)
    until(lambda: followers(caller) == before, "somebody follows who is gone")


def test_there_is_no_asking_for_the_head_of_what_does_not_end(caller: Caller) -> None:
    assert caller.call("HEAD", "/changes/stream").status == 404  # taken for an id
    assert caller.call("HEAD", "/health").status == 200


async def _pieces(intake: Intake, *pieces: bytes) -> bytes:
    waiting = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]

    async def receive() -> dict[str, object]:
        if not waiting:
            await asyncio.Event().wait()
        return waiting.pop(0)

    async with intake.body(receive, {}) as body:
        return body


def test_a_body_that_does_not_end_is_given_up() -> None:
    with pytest.raises(Refusal) as refused:
        asyncio.run(_pieces(Intake(body_s_max=0.01), b"{"))
    assert refused.value.name == "too-slow"


def test_all_bodies_together_are_bounded_and_what_is_refused_is_not_held() -> None:
    intake = Intake(body_bytes_max=100, all_bytes_max=150)

    async def two() -> None:
        first = asyncio.ensure_future(_pieces(intake, b"x" * 90))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        with pytest.raises(Refusal) as refused:
            await _pieces(intake, b"x" * 90)
        assert refused.value.name == "busy"
        assert intake.held_bytes == 90
        first.cancel()
        await asyncio.wait([first])

    asyncio.run(two())
    assert intake.held_bytes == 0


def _resident_kib(process_id: int) -> int:
    lines = Path(f"/proc/{process_id}/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("VmRSS")]
    return int(line.split()[1])


@pytest.fixture
def streams(address: tuple[str, int]) -> Iterator[list[Listener]]:
    open_streams: list[Listener] = []
    yield open_streams
    for listener in open_streams:
        listener.__exit__(None, None, None)


def test_a_thousand_silent_streams_disturb_nobody_and_each_gets_what_comes(
    town: Town, address: tuple[str, int], caller: Caller, streams: list[Listener]
) -> None:
    process_id = town.company.running["a"].pid
    assert process_id is not None
    before = _resident_kib(process_id)
    streams += [Listener(address, "/changes/stream?tag=rare") for _ in range(STREAMS)]
    assert all(listener.status == 200 for listener in streams)
    grown = _resident_kib(process_id) - before
    assert grown < STREAMS * STREAM_KIB_MAX, f"{grown} KiB for {STREAMS} streams"
    for _ in range(20):
        assert caller.post("/changes", {"key": "other"}).status == 201
    assert caller.post("/changes", {"key": "rare", "tags": ["rare"]}).status == 201
    for listener in streams:
        (event,) = listener.changes(1)
        assert event.data["key"] == "rare"
