"""What a participant can take: bursts, strangers, silence, and its own end."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hansard.batch import build
from hansard.phaser import Phaser, Settings
from hansard.phaser.outcome import Receipt
from hansard.phaser.outcome import Stored as StoredOutcome
from hansard.server.asker import Asker, answer_codec, submission_codec
from hansard.server.connection import Connection
from hansard.server.disk import open_directory, recovered
from hansard.server.node import Node
from hansard.wire import frame as frames
from hansard.wire.frame import FRAME_BYTES_MAX, PREFIX, pack
from hansard.wire.handshake import Hello, Role, greeting
from hansard.wire.submission import Stored, Submit

from .caller import Caller, change, frame, submission
from .trio import CLUSTER, Trio, free_addresses, run, told, until


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


# The participant ends.


def test_more_receipts_than_a_frame_holds_go_out_as_several_frames() -> None:
    """A list of messages can be halved, a single message cannot."""

    def nothing(_asker: Asker, _submit: Submit) -> None:
        pass

    connection = Connection(Hello(Role.PARTICIPANT), lambda _connection, _hello: lambda _frame: None)
    asker = Asker(connection, nothing, lambda _node: None, (submission_codec(), answer_codec()))
    for number in range(300_000):
        asker.answer(number, StoredOutcome(Receipt(number, 1_700_000_000_000_000)))
    asker.flush()


def test_leader_survives_that_very_much_is_committed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the real limit it takes 220,000 small submissions that wait for a member: seconds of one fast client."""
    monkeypatch.setattr(frames, "HEADER_BYTES_MAX", 32 << 10)
    count = 4_000

    async def story(trio: Trio) -> None:
        async with await trio.dial() as caller:
            await trio.stop("c")
            for first in range(0, count, 500):
                caller.submit(*[submission(n, build([None], [None])) for n in range(first, first + 500)])
            await until(lambda: trio.end("a") > count)
            await trio.start("c")
            receipts = asyncio.create_task(caller.receipts(*range(count)))
            await until(lambda: receipts.done() or bool(trio.failures))
            receipts.cancel()
            assert not trio.failures

    told(tmp_path, story)


# Strangers, and what they cost.


def test_hello_that_is_not_utf8_is_malformed(tmp_path: Path, loop: Any) -> None:
    """Python has an error of its own for it; it ends the connection like any other."""
    hello = b"\x96\x01\xa1\xff\xa0\xa7hansard\x01\x01"

    async def story(trio: Trio) -> None:
        async with await Caller.dial(trio.addresses["a"], None) as stranger:
            stranger.say(pack(hello, []))
            await stranger.await_end()

    told(tmp_path, story, loop=loop)


def test_eight_bytes_from_a_stranger_do_not_cost_a_whole_frame_of_memory(tmp_path: Path) -> None:
    """Whatever somebody says to be coming costs nothing before it comes."""

    async def story(trio: Trio) -> None:
        before = resident_bytes()
        strangers = [await Caller.dial(trio.addresses["a"], None) for _ in range(8)]
        for stranger in strangers:
            stranger.say([PREFIX.pack(FRAME_BYTES_MAX, 8)])
        async with await trio.dial() as caller:
            for number in range(3):
                caller.submit(submission(number, change("v")))
                await caller.receipts(number)
                for stranger in strangers:
                    if not stranger.writer.transport.is_closing():  # it may have been sent away
                        stranger.say([b"x"])
        grown = resident_bytes() - before
        for stranger in strangers:
            stranger.hang_up()
        assert grown < 64 << 20, f"{grown >> 20} MiB for {len(strangers)} strangers"

    told(tmp_path, story)


def test_client_that_says_nothing_costs_little(tmp_path: Path) -> None:
    """The room for what it might say is not touched before it speaks."""

    async def story(trio: Trio) -> None:
        before = resident_bytes()
        idle = [await asyncio.open_connection(*trio.addresses["a"]) for _ in range(200)]
        for reader, writer in idle:
            writer.writelines(greeting(Hello(Role.CLIENT)))
            await reader.read(1)
        grown = resident_bytes() - before
        for _, writer in idle:
            writer.transport.abort()
        assert grown < 20 << 20, f"{grown >> 20} MiB for {len(idle)} clients"

    told(tmp_path, story)


def test_who_never_says_hello_is_sent_away(tmp_path: Path) -> None:
    async def story(trio: Trio) -> None:
        async with await Caller.dial(trio.addresses["a"], None) as silent, asyncio.timeout(15):
            await silent.await_end()

    told(tmp_path, story)


# Pressure.


def test_burst_that_a_healthy_leader_can_take_is_not_refused(tmp_path: Path, loop: Any) -> None:
    """uvloop reads up to 32 times from one connection before it does anything else, so that one turn of the node may
    have 8 MiB of a single client: many more than a backlog takes, if it were not looked at in between."""
    count = 30_000
    pieces = [
        frame([submission(number, change(f"{number}")) for number in range(first, first + 100)])
        for first in range(0, count, 100)
    ]

    async def story(trio: Trio) -> None:
        async with await trio.dial() as caller:
            caller.say(pieces)
            answers = await caller.hear(*range(count))
            refused = sum(not isinstance(answer, Stored) for answer in answers)
            assert not refused, f"{refused} of {count} were refused"

    told(tmp_path, story, loop=loop)


# The end of a node, and ways that are dead without saying so.


def test_node_that_has_stopped_is_left_by_the_other_participants(tmp_path: Path) -> None:
    """Otherwise a participant that is started again in the same process would never be reached."""

    async def story(trio: Trio) -> None:
        async with await Caller.dial(trio.addresses["c"], Hello(Role.PARTICIPANT, CLUSTER, "b")) as other:
            await other.read()
            await trio.nodes["c"].stop()
            async with asyncio.timeout(3):
                await other.await_end()

    told(tmp_path, story)


def test_way_that_is_silently_dead_is_dialled_again(tmp_path: Path) -> None:
    """As after a firewall has forgotten a connection, or a machine has lost its power: nobody says that it is
    over, and nothing that is said comes back."""

    async def story(trio: Trio) -> None:
        async with await trio.dial() as caller:
            trio.doors["a", "c"].swallow()
            caller.submit(submission(1, change("v")))
            async with asyncio.timeout(20):
                await caller.receipts(1)

    told(tmp_path, story, settings=Settings())


def test_node_that_stops_while_it_dials_hangs_up(tmp_path: Path, loop: Any) -> None:
    """A Hello that comes after that finds nobody, and nothing is left open."""

    async def test() -> None:
        arrived: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
        server = await asyncio.start_server(lambda *pair: arrived.put_nowait(pair), "127.0.0.1", 0)
        (own,) = free_addresses(1)
        store = open_directory(tmp_path, CLUSTER, "a")
        phaser = Phaser("a", 0, Settings(), recovered(store, 0))
        ways = {"a": own, "b": server.sockets[0].getsockname()}
        failures: list[BaseException] = []
        node = Node("a", CLUSTER, ways, store, {0: phaser}, lambda _bucket, _report: None, failures.append)
        await node.start(own)
        reader, writer = await arrived.get()
        await reader.read(1)
        await node.stop()
        store.close()
        writer.writelines(greeting(Hello(Role.PARTICIPANT, CLUSTER, "b")))
        async with asyncio.timeout(3):
            while await reader.read(1 << 16):
                pass
        writer.transport.abort()
        server.close()

    run(test(), loop)
