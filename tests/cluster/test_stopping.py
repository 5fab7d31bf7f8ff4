"""Participants that are told to stop: nobody is left waiting, and nothing is lost by it."""

import asyncio
import signal
from pathlib import Path

import pytest

from hansard.distributor.settings import Shape
from tests.cluster.checker import Checker
from tests.cluster.company import FORKING, Company
from tests.cluster.test_life import SHAPES, checked
from tests.server.trio import run


@pytest.mark.parametrize("shape", SHAPES)
def test_one_after_the_other_is_stopped_and_started_under_load(tmp_path: Path, shape: Shape) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 4, shape=shape) as company:
            checkers = [Checker(company, name, seed) for seed, name in enumerate(("x", "y"))]
            for name in "abc":
                work = [asyncio.create_task(checker.run(40)) for checker in checkers]
                process = company.running.pop(name)  # nobody goes there any more
                process.terminate()
                await company.until(lambda process=process: _ended(process), f"{name} does not stop")  # type: ignore[misc]
                assert process.exitcode == 0
                assert "gives up all" not in company.log(name), "it warns of what it wanted"
                (other, *_) = company.running
                table = await company.ask(other, ask="table")
                assert all(name not in bucket["members"] for bucket in table["buckets"]), "it did not leave"
                await asyncio.gather(*work)
                await company.start(name)
                await company.settled()
            await checked(company, checkers)

    run(test(), timeout_s=120)


async def _ended(process: object) -> bool:
    return not process.is_alive()  # type: ignore[attr-defined]


def test_who_is_stopped_leads_nothing_when_it_goes(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 8) as company:
            await company.settled()
            company.kill("b", signal.SIGTERM)
            log = company.log("a")
            assert "lease" not in log, "it was missed before it had left"
            table = await company.ask("a", ask="table")
            assert {bucket["leader"] for bucket in table["buckets"]} == {"a", "c"}

    run(test(), timeout_s=60)


def test_all_are_stopped_at_once_and_all_count_when_they_come_back(tmp_path: Path) -> None:
    """Had all but one departed, the disk of the last one alone would count."""

    async def test() -> None:
        async with Company(tmp_path, "abc", 4) as company:
            checker = Checker(company, "x")
            await checker.run(30)
            processes = dict(company.running)
            for process in processes.values():
                process.terminate()
            for process in processes.values():
                process.join(30)
            assert [process.exitcode for process in processes.values()] == [0, 0, 0]
            company.running.clear()
            await company.start("b", "c")
            await company.until(lambda: _leads(company, "b"), "two of three do not go on")
            await checker.run(10)
            await company.start("a")
            await company.settled()
            await checked(company, [checker])

    run(test(), timeout_s=60)


async def _leads(company: Company, name: str) -> bool:
    table = await company.ask(name, ask="table")
    return all(bucket["leader"] in ("b", "c") and bucket["state"] == "steady" for bucket in table["buckets"])


def test_a_lone_participant_stops_and_goes_on(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "a", 2) as company:
            checker = Checker(company, "x")
            await checker.run(10)
            assert company.kill("a", signal.SIGTERM) == 0
            await company.start("a")
            await checker.run(10)
            await checked(company, [checker])

    run(test(), timeout_s=60)


def test_one_that_was_never_let_in_stops_at_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "a", 1) as company:
            company.add("b")
            company.kill("a")
            process = FORKING.Process(target=company.target, args=(company.plan("b"), tmp_path / "b.err"))
            process.start()
            await company.until(lambda: _said(company, "b", "listens"), "it does not start")
            process.terminate()
            process.join(5)
            assert process.exitcode == 0 and "could not hand over" not in company.log("b")

    run(test(), timeout_s=60)


def test_a_second_signal_stops_it_at_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 2) as company:
            checker = Checker(company, "x")
            await checker.run(10)
            for name in "bc":  # without them nothing can be handed over
                company.kill(name)
            process = company.running.pop("a")
            process.terminate()
            await company.until(lambda: _said(company, "a", "told to stop"), "it does not hear")
            process.terminate()
            process.join(5)
            assert process.exitcode == 128 + signal.SIGTERM
            await company.start(*"abc")
            await company.settled()
            await checked(company, [checker])

    run(test(), timeout_s=60)


async def _said(company: Company, name: str, what: str) -> bool:
    return what in company.log(name)
