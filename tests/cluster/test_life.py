"""Real processes, sockets and disks: nothing is lost, doubled or reordered, whatever is done to them."""

import asyncio
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest

from hansard.batch import Change
from hansard.distributor.settings import Shape
from tests.cluster.checker import Checker, check, contents
from tests.cluster.company import Company
from tests.server.trio import run

SHAPES = [Shape.STAR, Shape.CHAIN]


async def checked(company: Company, checkers: list[Checker]) -> None:
    """Everybody shows the same, sooner or later, and it is right. A member that has just started shows only what its
    leader has told it to be committed, and a leader only what it knows itself."""
    acknowledged = sum(len(stored) for checker in checkers for stored in checker.acknowledged.values())
    found: list[Mapping[int, list[Change]]] = []

    async def alike() -> bool:
        found[:] = [await contents(company, name) for name in company.running]
        enough = sum(len(changes) for changes in found[0].values()) >= acknowledged
        return enough and all(each == found[0] for each in found)

    await company.until(alike, "they do not show the same, or not all")
    check(found[0], checkers)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_participant_is_killed_and_comes_back(tmp_path: Path, shape: Shape) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 4, shape=shape) as company:
            checkers = [Checker(company, name, seed) for seed, name in enumerate(("x", "y"))]
            for victim in "abc":
                work = [asyncio.create_task(checker.run(40)) for checker in checkers]
                await asyncio.sleep(0.2)
                company.kill(victim)
                await asyncio.sleep(0.3)
                await company.start(victim)
                await asyncio.gather(*work)
                await company.settled()
            await checked(company, checkers)

    run(test(), timeout_s=120)


@pytest.mark.parametrize("shape", SHAPES)
def test_buckets_are_doubled_under_load(tmp_path: Path, shape: Shape) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 2, shape=shape) as company:
            checkers = [Checker(company, name, seed, keys=12) for seed, name in enumerate(("x", "y", "z"))]
            work = [asyncio.create_task(checker.run(80)) for checker in checkers]
            await asyncio.sleep(0.2)
            await company.order("b", "double", type="double", to=8)
            await asyncio.gather(*work)
            await company.settled()
            assert any(checker.levels for checker in checkers), "nobody has met a split"
            await checked(company, checkers)
            for name in "abc":
                company.kill(name)
            await company.start(*"abc")
            await company.settled()
            await checked(company, checkers)

    run(test(), timeout_s=120)


@pytest.mark.parametrize("shape", SHAPES)
def test_one_departs_a_spare_takes_its_place_and_it_is_drained_in_the_end(tmp_path: Path, shape: Shape) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 4, shape=shape) as company:
            checker = Checker(company, "x")
            await checker.run(20)
            company.kill("c")
            company.add("d")
            await company.start("d")
            await company.settled()
            await checker.run(20)
            table = await company.ask("a", ask="table")
            assert all("c" not in bucket["members"] for bucket in table["buckets"])
            company.add("e")
            await company.start("e")
            await company.order("e", "away", type="drain", node="d")
            table = await company.ask("a", ask="table")
            assert all("d" not in bucket["members"] for bucket in table["buckets"])
            assert company.kill("d", signal.SIGTERM) == 0
            await checker.run(20)
            await checked(company, [checker])

    run(test(), timeout_s=120)
