"""Commit points wait a little for a batch that carries them, and go by themselves if none comes."""

import asyncio
from pathlib import Path

import pytest
import uvloop

from hansard.participant.copies import Copies
from hansard.participant.message import Bucketed, Message
from hansard.phaser.message import Commit
from hansard.server import link as ways
from hansard.server import node as nodes
from hansard.server.shell import Shell

from .caller import change, submission
from .listener import Listener
from .solo import Solo
from .test_fairness import append, say, way
from .trio import Trio, run, until


def commit(bucket: int, end: int) -> Bucketed:
    return Bucketed(bucket, "a#1", "b#1", Commit(1, end), 8)


def commits(listener: Listener) -> list[Message]:
    return [said for said in listener.heard if isinstance(said, Bucketed) and isinstance(said.message, Commit)]


def test_a_commit_point_goes_by_itself_when_nothing_carries_it() -> None:
    async def test() -> None:
        async with way() as (link, listener):
            listener.read(on=True)
            assert not link.say(commit(1, 5)), "not in this turn"
            await until(lambda: commits(listener) == [commit(1, 5)])

    uvloop.run(test())


def test_who_has_found_company_lends_its_patience_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit point comes, a batch carries it, and another one comes: it waits as long as the first one would have."""
    monkeypatch.setattr(ways, "COMPANY_S", 1000.0)
    now_s = 5000.0
    monkeypatch.setattr(ways, "monotonic", lambda: now_s)

    async def test() -> None:
        nonlocal now_s
        async with way() as (link, listener):
            listener.read(on=True)
            link.say(commit(1, 5))
            now_s += 900
            say(link, append(1, 5))
            link.say(commit(1, 6))
            now_s += 100
            link._waited()
            await asyncio.sleep(0.05)
            assert not commits(listener)
            now_s += 900
            link._waited()
            await until(lambda: commits(listener) == [commit(1, 6)])
            link._waited()
            say(link, append(1, 6))
            await until(lambda: listener.heard[-1] == append(1, 6))
            assert len(commits(listener)) == 1, "said once"

    uvloop.run(test())


def stop_ticking(trio: Trio) -> None:
    """Once all are connected: before that something may be lost, and has to be said again."""
    for node in trio.nodes.values():
        *_, ticking = node._tasks
        ticking.cancel()


def test_what_a_turn_leaves_for_later_is_done_when_nothing_else_comes(tmp_path: Path) -> None:
    """A leader that has answered its last client tells the members soon, and not with the next tick."""

    async def test() -> None:
        async with Trio(tmp_path) as trio, await trio.dial() as caller:
            stop_ticking(trio)
            caller.submit(submission(1, change("one", connection=7)))
            (offset,) = await caller.receipts(1)
            await until(lambda: all(phaser.ledger.committed > offset for phaser in trio.phasers.values()))
            assert not any(phaser.ledger.unsettled for phaser in trio.phasers.values())

    run(test())


def test_one_submission_after_the_other_takes_the_commit_points_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it would be waited for, and though no tick comes."""
    monkeypatch.setattr(nodes, "PATIENCE_S", 1000.0)

    async def test() -> None:
        async with Trio(tmp_path) as trio, await trio.dial() as caller:
            stop_ticking(trio)
            for number in range(20):
                caller.submit(submission(number, change(str(number), connection=7, series=number)))
                (offset,) = await caller.receipts(number)
                before = offset if number else 0  # the first one may come before the opening itself is committed
                assert all(phaser.ledger.committed >= before for phaser in trio.phasers.values())

    run(test())


def test_a_whole_participant_does_what_it_has_left_though_others_have_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And though its bucket hears of nothing any more, not even that time passes."""
    late: list[bool] = []
    finish = Shell._finish

    def watched(shell: Shell) -> None:
        assert shell.core is not None
        late.append(shell.core.unfinished)
        finish(shell)
        assert not shell.core.unfinished

    async def test() -> None:
        async with Solo(tmp_path) as solo:
            monkeypatch.setattr(Copies, "tick", lambda copies: None)
            monkeypatch.setattr(Shell, "_finish", watched)
            await solo.works()
            await until(lambda: True in late)

    run(test())
