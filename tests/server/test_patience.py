"""Clients that are slow, silent, greedy or too many: each is bounded in what it costs, and nobody else notices."""

import asyncio
import socket
from pathlib import Path
from typing import Any, Self

import pytest

from hansard.batch import reopen
from hansard.server import asker, connection, port
from hansard.server.asker import FULL_BYTES, REQUESTS_MAX
from hansard.server.pages import BYTES_MAX
from hansard.server.reception import PAGES_MAX
from hansard.wire import request as wire
from hansard.wire.codec import Codec
from hansard.wire.frame import FrameReader, pack
from hansard.wire.handshake import Hello, Role, greeting
from tests.cluster.visitor import Visitor

from .solo import Solo
from .trio import run

REQUESTS: Codec[Any] = Codec(wire.Request, reopen)
ANSWERS: Codec[Any] = Codec(wire.Answer, reopen)
HOUR_US = 3_600_000_000


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HELLO_S_MAX", 0.5)
    monkeypatch.setattr(connection, "DEAF_S_MAX", 0.8)
    monkeypatch.setattr(connection, "HALF_S_MAX", 0.5)
    monkeypatch.setattr(port, "PARTICIPANT_SILENCE_S_MAX", 0.5)
    monkeypatch.setattr(port, "LOOK_S", 0.1)


class Raw:
    """A socket that says and hears what it is told to, and nothing by itself."""

    def __init__(self, address: tuple[str, int], hello: Hello | None) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.setblocking(False)
        self._address, self._hello = address, hello
        self._loop = asyncio.get_running_loop()

    async def __aenter__(self) -> Self:
        await self._loop.sock_connect(self._socket, self._address)
        if self._hello is not None:
            await self.say(b"".join(greeting(self._hello)))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._socket.close()

    async def say(self, data: bytes) -> None:
        await self._loop.sock_sendall(self._socket, data)

    async def ask(self, *requests: Any) -> None:
        await self.say(b"".join(REQUESTS.encode(requests)))

    async def hear(self, count: int = 1 << 16) -> bytes:
        """Empty when it is over."""
        try:
            return await self._loop.sock_recv(self._socket, count)
        except ConnectionError:
            return b""

    async def end(self) -> int:
        """How much came until then."""
        length = 0
        while data := await self.hear():
            length += len(data)
        return length


CLIENT = Hello(Role.CLIENT)


def test_who_never_says_who_it_is_is_sent_away(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with Solo(tmp_path) as solo:
            async with Raw(solo.address, None) as silent, Raw(solo.address, None) as hesitant:
                await hesitant.say(b"".join(greeting(CLIENT))[:9])
                await silent.end()
                await hesitant.end()
            await solo.works()

    run(test())
    assert caplog.text.count("it does not say who it is") == 2


def test_who_stops_in_the_middle_of_a_frame_is_sent_away(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with Solo(tmp_path) as solo, Raw(solo.address, CLIENT) as half, Raw(solo.address, CLIENT) as idle:
            whole = b"".join(REQUESTS.encode([wire.Ask(1, b'{"ask": "status"}')]))
            await idle.say(whole)
            await half.say(whole[:20])
            await half.end()
            await idle.say(whole)  # who has said what it began may be silent as long as it likes
            await solo.works()
            await solo.until(lambda status: status["clients"] == 2)

    run(test())
    assert "it stopped in the middle of a frame" in caplog.text


def test_who_takes_nothing_is_sent_away_and_costs_little_until_then(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It asks for far more than it takes. Pages are read as it takes them, and no request is taken meanwhile."""
    seen: list[int] = []

    async def test() -> None:
        async with Solo(tmp_path) as solo:
            await solo.fill(16)
            async with Raw(solo.address, CLIENT) as deaf:
                for _ in range(20):
                    await deaf.ask(*[wire.Read(number, 0, 0, 0, BYTES_MAX) for number in range(50)])

                def over(status: Any) -> bool:
                    seen.append(status["unsent_bytes"])
                    return bool(status["clients"] == 1)

                await solo.until(over)
                await solo.works()

    run(test())
    assert FULL_BYTES < max(seen) <= FULL_BYTES + PAGES_MAX * (BYTES_MAX + (1 << 20) + 4096)
    assert "it has taken nothing of what is sent to it" in caplog.text


def test_who_takes_little_at_a_time_is_waited_for(tmp_path: Path) -> None:
    async def test() -> None:
        async with Solo(tmp_path) as solo:
            await solo.fill(4)
            async with Raw(solo.address, CLIENT) as slow:
                await slow.ask(*[wire.Read(number, 0, 0, 0) for number in range(4)])
                clock = asyncio.get_running_loop().time
                frames, pages, deadline = FrameReader(), 0, clock() + 3 * connection.DEAF_S_MAX
                while pages < 4:
                    if clock() < deadline:
                        await asyncio.sleep(0.02)
                    found = frames.feed(await slow.hear(20_000))
                    pages += sum(len(ANSWERS.decode(frame)) for frame in found if frame.payload)
                await solo.works()

    run(test())


def test_requests_without_end_are_taken_as_they_are_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads of what will not come for an hour: of half a million those in one piece of what came are taken and no more,
    and when it goes they go with it."""
    monkeypatch.setattr(asker, "REQUESTS_MAX", 200)

    async def test() -> None:
        async with Solo(tmp_path) as solo:
            async with Raw(solo.address, CLIENT) as greedy:
                reads = [wire.Read(number, 0, 1 << 40, HOUR_US) for number in range(100)]
                asking = asyncio.create_task(greedy.say(b"".join(REQUESTS.encode(reads)) * 5_000))
                await solo.until(lambda status: status["waiting_reads"] >= 200)
                for _ in range(20):
                    await solo.works()
                assert (await solo.ask())["waiting_reads"] < 50_000 and not asking.done()
                asking.cancel()
            await solo.until(lambda status: status["waiting_reads"] == 0 and status["clients"] == 1)

    run(test())


def test_frame_of_too_many_requests_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with Solo(tmp_path) as solo:
            async with Raw(solo.address, CLIENT) as greedy:
                await greedy.ask(*[wire.Connect(number, 0) for number in range(REQUESTS_MAX + 1)])
                await greedy.end()
            await solo.works()

    run(test())
    assert f"{REQUESTS_MAX + 1} requests in one frame; {REQUESTS_MAX} is the most" in caplog.text


def test_a_broken_connection_that_nobody_can_have_had_is_refused_and_harms_nobody(tmp_path: Path) -> None:
    async def test() -> None:
        async with Solo(tmp_path) as solo, await Visitor.dial(solo.address) as strange:
            for broken in (1 << 63, (1 << 64) - 1, -1):
                assert not (await strange.ask_number("a name", broken)).connection
            assert (await strange.ask_number("a name")).connection

    run(test())


def test_many_questions_are_answered_with_everybody_elses_business_in_between(tmp_path: Path) -> None:
    async def test() -> None:
        async with Solo(tmp_path, buckets=64) as solo, await Visitor.dial(solo.address) as curious:
            count = 2_000
            asking = [asyncio.create_task(curious.ask(ask="table"))]
            curious._writer.writelines(REQUESTS.encode([wire.Ask(-n, b'{"ask": "table"}') for n in range(1, count)]))
            await asking[0]
            async with await solo.dial() as other:
                await other.ask(ask="status")
            await curious.ask(ask="status")
            answered = len(curious._answered)
            assert answered == count - 1, "all of them are answered in the end"

    run(test())


def test_participant_that_is_gone_without_a_word_is_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with Solo(tmp_path) as solo:
            cluster = (await solo.ask())["cluster"]
            async with Raw(solo.address, Hello(Role.PARTICIPANT, cluster, "b")) as vanished:
                await vanished.end()

    run(test())
    assert "nothing came from it for" in caplog.text


def test_empty_frame_asks_whether_anybody_listens(tmp_path: Path) -> None:
    async def test() -> None:
        async with Solo(tmp_path) as solo:
            for hello in (CLIENT, Hello(Role.PARTICIPANT, "", "b")):
                async with Raw(solo.address, hello) as asking:
                    await asking.ask()
                    frames, heard = FrameReader(), 0
                    while heard < 2:
                        heard += len(frames.feed(await asking.hear()))

    run(test())


def test_too_many_clients_are_refused_and_participants_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(port, "CLIENTS_MAX", 3)

    async def test() -> None:
        async with Solo(tmp_path) as solo:
            async with await solo.dial() as first, await solo.dial() as second, await solo.dial() as third:
                for visitor in (first, second, third):
                    await visitor.ask(ask="status")
                async with Raw(solo.address, CLIENT) as fourth:
                    await fourth.end()
                async with Raw(solo.address, Hello(Role.PARTICIPANT, "", "b")) as participant:
                    await participant.say(b"".join(pack(b"\x90", [])))
                    assert await participant.hear()
                assert (await third.ask(ask="status"))["clients"] == 3
            await solo.works()

    run(test())
    assert "there are 3 clients already, and that is the most" in caplog.text


def test_connections_are_kept_alive_by_the_system(tmp_path: Path) -> None:
    """A machine that has lost its power says nothing, and its clients would be there for ever."""
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    connection.tune(ours)  # not of the kind that knows all options: nothing happens
    for each in (ours, theirs):
        each.close()
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as one:
        connection.tune(one)
        assert one.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert one.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == connection.KEEPALIVE_S
        assert one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        assert 0 < one.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) <= 30_000
