"""Real processes whose disks are full, empty or elsewhere: nothing acknowledged is lost, and everything goes on."""

import asyncio
import shutil
from pathlib import Path

import pytest

from hansard.batch import build
from hansard.wire import submission
from tests.cluster import cramped
from tests.cluster.checker import Checker, contents
from tests.cluster.company import Company
from tests.cluster.visitor import Visitor
from tests.cluster.wreckage import checked, read_through, whole
from tests.server.trio import run


@pytest.mark.parametrize("name", "abc")
def test_full_disk_refuses_what_it_cannot_store_and_goes_on_when_there_is_room(tmp_path: Path, name: str) -> None:
    """Whoever's disk it is, the leader's or a member's: it is said at once, and reads go on."""

    async def test() -> None:
        company = Company(tmp_path, "abc", 1)
        company.target = cramped.participant
        async with company:
            checker = Checker(company, "x")
            await checker.run(20)
            full = cramped.flag(tmp_path / name)
            full.touch()
            stored, refused = 0, None
            async with await Visitor.dial(company.addresses["a"]) as visitor:
                for _ in range(100):
                    batch = build([b"large"], [b"0".rjust(100_000)])
                    answer = await visitor.submit(0, batch, 1, 500_000)
                    if isinstance(answer, submission.ReadOnly):
                        refused = answer
                        break
                    stored += isinstance(answer, submission.Stored)
                    assert isinstance(answer, submission.Stored | submission.Unknown), answer
            assert stored and refused is not None and refused.node == name and "full" in refused.reason
            assert "full" in (await company.ask(name, ask="status"))["read_only"]
            for each in "abc":
                await read_through(company, each, 0, at_least=stored)
            work = asyncio.create_task(checker.run(10))
            full.unlink()
            await work
            status = await company.ask(name, ask="status")
            assert not status["read_only"]
            assert company.log(name).count("read-only: nothing can be written") == 1
            assert company.log(name).count("the disk can be written to again") == 1
            everything = await contents(company, name)
            large = [change for change in everything[0] if change.key == b"large"]
            assert len(large) >= stored
            await checked(company, [checker])

    run(test(), timeout_s=120)


@pytest.mark.parametrize("name", "abc")
def test_who_comes_back_with_an_empty_disk_gets_everything_again(tmp_path: Path, name: str) -> None:
    """Under the same name, while a client goes on. Whoever has founded joins now, like everybody else."""

    async def test() -> None:
        async with Company(tmp_path, "abc", 4) as company:
            company.first = ""
            checker = Checker(company, "x")
            await checker.run(30)
            company.kill(name)
            work = asyncio.create_task(checker.run(30))
            shutil.rmtree(tmp_path / name)
            await company.start(name)
            await work
            await company.settled()
            table = await company.ask(name, ask="table")
            assert all(name in bucket["members"] + bucket["newcomers"] for bucket in table["buckets"])
            await checked(company, [checker])
            company.kill(name)
            whole(tmp_path / name)

    run(test(), timeout_s=120)


def test_every_disk_is_replaced_one_after_the_other_by_a_participant_of_another_name(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 4) as company:
            checker = Checker(company, "x")
            for old, new in zip("abc", "def", strict=True):
                work = asyncio.create_task(checker.run(30))
                company.kill(old)
                shutil.rmtree(tmp_path / old)
                del company.addresses[old]
                company.add(new)
                await company.start(new)
                await work
                await company.settled()
            table = await company.ask("d", ask="table")
            members = [bucket["members"] + bucket["newcomers"] for bucket in table["buckets"]]
            assert all(sorted(each) == ["d", "e", "f"] for each in members)
            await checked(company, [checker])

    run(test(), timeout_s=180)


@pytest.mark.parametrize("name", "abc")
def test_who_comes_back_at_another_address_is_found_there(tmp_path: Path, name: str) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 4) as company:
            checker = Checker(company, "x")
            await checker.run(20)
            company.kill(name)
            work = asyncio.create_task(checker.run(30))
            company.add(name)
            await company.start(name)
            await work
            await company.settled()
            host, port = company.addresses[name]
            for each in "abc":
                status = await company.ask(each, ask="status")
                told = {known["node"]: known["address"] for known in status["participants"]}
                assert told[name] == f"{host}:{port}"
            await checked(company, [checker])

    run(test(), timeout_s=120)


def test_all_come_back_at_other_addresses_and_find_each_other_by_those_that_they_are_given(tmp_path: Path) -> None:
    """Nobody is where anybody's disk says. All but one are told where the others are; that one is found."""

    async def test() -> None:
        async with Company(tmp_path, "abc", 4) as company:
            checker = Checker(company, "x")
            await checker.run(20)
            for name in "abc":
                company.kill(name)
            for name in "abc":
                company.add(name)
            await company.start(*"abc")
            await company.settled()
            await checker.run(20)
            await checked(company, [checker])

    run(test(), timeout_s=120)
