"""Tokens in a cluster of several: what one participant grants counts at all, and a restart forgets nothing."""

import asyncio
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from hansard.batch import build
from hansard.distributor.command import Found
from hansard.server.start import Plan
from hansard.wire import request as wire
from hansard.wire import submission
from tests.cluster.command import TOKEN, started
from tests.cluster.company import Company, participant
from tests.cluster.visitor import Visitor
from tests.server.guarded import is_refused
from tests.server.trio import free_addresses, run


def writing(plan: Plan, err: Path) -> None:
    """In the new process: what it writes is kept, too."""
    descriptor = os.open(err.with_suffix(".out"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, sys.stdout.fileno())
    participant(plan, err)


class Guarded(Company):
    """Everything that is asked without a token is asked by the administrator."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "abc", 2)
        self.found = Found(2, self.found.settings, participants=3, log="a-log", open=False)
        self.target = writing

    def written(self, name: str) -> str:
        path = self.directory / f"{name}.out"
        return path.read_text() if path.exists() else ""

    @property
    def admin(self) -> str:
        found = [line for line in self.written("a").splitlines() if line.startswith(TOKEN)]
        return found[0].removeprefix(TOKEN) if found else ""

    async def settled(self) -> None:
        """The token is told last, when there are buckets: before that nobody can ask as the administrator."""

        async def told() -> bool:
            return bool(self.admin)

        await self.until(told, "no token is told")
        await super().settled()

    async def dial(self, name: str, token: str | None = None) -> Visitor:
        return await Visitor.dial(self.addresses[name], token=self.admin if token is None else token)

    async def everybody(self, condition: Any, otherwise: str, *names: str) -> None:
        """Until it is so at each of these; at all, if none is named."""
        for name in names or tuple(self.running):

            async def holds(name: str = name) -> bool:
                return bool(await condition(name))

            await self.until(holds, otherwise)


def test_what_one_grants_and_revokes_counts_everywhere_and_after_everybody_was_down(tmp_path: Path) -> None:
    async def test() -> None:
        async with Guarded(tmp_path) as company:
            assert company.written("a").count(TOKEN) == 1 and TOKEN not in company.written("b") + company.written("c")
            granted = await company.ask("b", ask="grant", name="acme", scopes=["read"], tags=["tenant:acme"])
            doomed = await company.ask("c", ask="grant", name="doomed", scopes=["read"])

            async def reads(name: str, token: str) -> bool:
                async with await company.dial(name, token) as reader:
                    return not is_refused(await reader.read(0, 0))

            await company.everybody(lambda name: reads(name, granted["token"]), "a token is not known everywhere")
            await company.everybody(lambda name: reads(name, doomed["token"]), "a token is not known everywhere")
            async with AsyncExitStack() as stack:
                waiting = []
                for name in company.running:
                    live = await stack.enter_async_context(await company.dial(name, doomed["token"]))
                    waiting.append(asyncio.create_task(live.read(0, (await live.read(0, 0)).end, 60_000_000)))
                await company.ask("a", ask="revoke", name="doomed")
                assert all(is_refused(answer) for answer in await asyncio.gather(*waiting)), "wherever it waits"
            for name in list(company.running):
                company.kill(name)
            await company.start(*company.addresses)
            await company.settled()
            assert company.written("a").count(TOKEN) == 1, "the first token is told once"
            await company.everybody(lambda name: reads(name, granted["token"]), "a token was forgotten")
            for name in company.running:
                assert not await reads(name, doomed["token"]) and not await reads(name, "")
            listed = [(await company.ask(name, ask="tokens"))["tokens"] for name in company.running]
            assert listed[0] == listed[1] == listed[2] and [each["name"] for each in listed[0]] == ["acme", "admin"]

    run(test(), timeout_s=120)


def test_who_comes_right_after_a_restart_is_not_let_in_by_mistake(tmp_path: Path) -> None:
    """A participant that has just started does not know yet that tokens are needed."""

    async def test() -> None:
        async with Guarded(tmp_path) as company:
            for name in list(company.running):
                company.kill(name)
            await company.start("b")  # alone it hears nothing of the others
            async with await company.dial("b", "") as stranger, await company.dial("b", "") as impatient:
                assert (await stranger.exchange({"ask": "table"})).answer
                early = asyncio.create_task(stranger.read(0, 0, 30_000_000))
                expired = await impatient.submit(0, build(["k"], ["v"]), 1, wait_us=100_000)
                assert isinstance(expired, submission.Expired)
                await company.start("a", "c")
                assert is_refused(await early), "now it is known"

    run(test(), timeout_s=120)


def test_the_command_founds_a_cluster_that_needs_tokens_and_says_the_first_one_once(tmp_path: Path) -> None:
    ((host, port),) = free_addresses(1)
    words: list[str | Path] = [tmp_path / "a", "--name", "a", "--found", "--buckets", "1", "--listen", f"{host}:{port}"]

    async def status(token: str) -> Any:
        async with await Visitor.dial((host, port), token=token) as visitor:
            return await visitor.exchange({"ask": "status"})

    with started(*words) as first:
        first.ready()
        token = first.token
        assert token.startswith("hsd_") and len(token) == 59
        run(_check(status, token))
        first.hear("the first token, for admin, was written to the standard output")
        assert not any(token[16:] in line for line in first.lines)
    with started(*words) as again:
        again.ready()
        assert not again.token
        run(_check(status, token))
    with started(*words, "--open") as opened:
        opened.ready()
        opened.hear("--found asks for open True, and the cluster was founded before, with False now: that stays")
        run(_check(status, token))


async def _check(status: Any, token: str) -> None:
    assert isinstance(await status(token), wire.Told) and is_refused(await status(""))
