"""Real processes whose disks are damaged, stopped or running: nothing damaged is served, nothing acknowledged is lost,
and everything is whole again in the end."""

import asyncio
import shutil
from pathlib import Path
from typing import Final

import pytest

from hansard.batch import MAGIC, build
from hansard.client import AsyncClient
from hansard.server.journal import IDLE_S
from hansard.wire import request as wire
from hansard.wire import submission
from tests.client.countdown import addresses
from tests.cluster.checker import Checker
from tests.cluster.company import FORKING, Company, participant
from tests.cluster.visitor import Visitor
from tests.cluster.wreckage import (
    checked,
    file,
    filed,
    flip,
    last_batch,
    last_record,
    read_through,
    repaired,
    segments,
    whole,
)
from tests.server.trio import run

VOUCHED_S: Final = 10 * IDLE_S
"""When nothing has come for a while, what was written last is vouched for."""


@pytest.mark.parametrize("name", "abc")
def test_damage_in_the_journal_of_one_that_was_stopped_is_repaired_when_it_starts(tmp_path: Path, name: str) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 2) as company:
            checker = Checker(company, "x")
            await checker.run(40)
            company.kill(name)
            path, position = last_batch(tmp_path / name)
            flip(path, position)
            await company.start(name)
            await company.settled()
            await repaired(company, name)
            await checker.run(20)
            await checked(company, [checker])
            company.kill(name)
            whole(tmp_path / name)

    run(test(), timeout_s=120)


@pytest.mark.parametrize("name", "abc")
def test_damage_in_a_segment_of_one_that_runs_is_repaired_before_it_is_served(tmp_path: Path, name: str) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 2) as company:
            checker = Checker(company, "x")
            await checker.run(60)
            await filed(company)
            path = segments(tmp_path / name)[0]
            flip(path, path.stat().st_size // 2)
            await read_through(company, name, int(path.parent.name))
            await repaired(company, name)
            assert "is damaged at byte" in company.log(name)
            assert "are repaired, with the copy that" in company.log(name)
            await checker.run(20)
            await checked(company, [checker])
            company.kill(name)
            whole(tmp_path / name)

    run(test(), timeout_s=120)


def test_damage_that_nobody_reads_is_found_by_the_scrub_and_repaired(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 2) as company:
            checker = Checker(company, "x")
            await checker.run(60)
            await filed(company)
            for path in segments(tmp_path / "b"):
                flip(path, path.stat().st_size // 3)
            await company.ask("b", ask="scrub")
            await repaired(company, "b", len(segments(tmp_path / "b")))
            assert (await company.ask("b", ask="status"))["scrub"]["last"]["damage"] >= 1
            company.kill("b")
            whole(tmp_path / "b")

    run(test(), timeout_s=120)


def test_segment_that_is_gone_or_cut_short_is_repaired(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 2) as company:
            checker = Checker(company, "x")
            await checker.run(60)
            await filed(company)
            gone, cut = segments(tmp_path / "b")[0], segments(tmp_path / "c")[0]
            gone.unlink()
            with cut.open("r+b") as file:
                file.truncate(cut.stat().st_size // 2)
            for name, path in (("b", gone), ("c", cut)):
                await read_through(company, name, int(path.parent.name))
                await repaired(company, name)
            await checked(company, [checker])
            for name in "bc":
                company.kill(name)
                whole(tmp_path / name)

    run(test(), timeout_s=120)


def test_a_bucket_is_split_while_its_history_is_damaged_and_everything_is_read_once(tmp_path: Path) -> None:
    """Two of three members have damage, each elsewhere, in what both halves take over from the whole."""

    async def test() -> None:
        async with Company(tmp_path, "abc", 1) as company:
            checker = Checker(company, "x")
            await checker.run(60)
            await filed(company)
            async with await AsyncClient.connect(addresses(company), timeout_s=30) as client:
                before = sorted([(change.key, change.value) async for change in client.read()])
                assert len(before) == len(set(before)) > 50
                for number, name in enumerate("bc"):
                    path = segments(tmp_path / name)[0]
                    flip(path, path.stat().st_size * (number + 1) // 3)
                splitting = asyncio.ensure_future(company.order("a", "more", type="double", to=4))
                for _ in range(100):
                    found = [(change.bucket, change.key, change.value) async for change in client.read()]
                    assert sorted([(key, value) for _, key, value in found]) == before
                    if splitting.done() and {bucket for bucket, _, _ in found} == {0, 1, 2, 3}:
                        break
                await splitting
                assert client.buckets == 4
                backwards = await client.page(order="desc", limit=1_000)
                assert sorted([(change.key, change.value) for change in backwards.changes]) == before
            for name in "bc":
                await company.ask(name, ask="scrub")
                await repaired(company, name)
            await checker.run(20)
            await checked(company, [checker])

    run(test(), timeout_s=120)


@pytest.mark.parametrize("name", "abc")
def test_journal_whose_end_is_in_doubt_is_given_up_and_its_buckets_are_fetched_anew(tmp_path: Path, name: str) -> None:
    """Records that cannot be read may have been any bucket's last. Whoever guessed an end would lose what it has
    acknowledged."""

    async def test() -> None:
        async with Company(tmp_path, "abc", 2) as company:
            checker = Checker(company, "x")
            await checker.run(40)
            await asyncio.sleep(VOUCHED_S)  # or damage at the end could not be told from a torn write
            before = (await company.ask(name, ask="status"))["participants"]
            company.kill(name)
            flip(*last_record(tmp_path / name))
            await company.start(name)

            async def anew() -> bool:
                status = await company.ask(name, ask="status")
                was = next(each["incarnation"] for each in before if each["node"] == name)
                return bool(status["incarnation"] and status["incarnation"] > was and not status["damaged"])

            await company.until(anew, "it does not come again")
            await company.settled()
            assert "here is dropped: it is fetched anew" in company.log(name)
            await checker.run(20)
            await checked(company, [checker])
            company.kill(name)
            file(tmp_path / name)  # the journal that has the damage is let go of
            whole(tmp_path / name)

    run(test(), timeout_s=120)


@pytest.mark.parametrize("name", "abc")
def test_copies_that_somebody_has_removed_are_fetched_anew_and_nothing_is_unrolled_for_them(
    tmp_path: Path, name: str
) -> None:
    """Its atomic log still says that it is a member, or the leader, of buckets of which it has nothing."""

    async def test() -> None:
        async with Company(tmp_path, "abc", 4) as company:
            checker = Checker(company, "x")
            await checker.run(40)
            company.kill(name)
            shutil.rmtree(tmp_path / name / "buckets")
            await company.start(name)
            await company.settled()
            await checker.run(20)
            await checked(company, [checker])
            company.kill(name)
            whole(tmp_path / name)

    run(test(), timeout_s=120)


def test_what_is_damaged_everywhere_stays_named_and_is_not_served_and_the_rest_can_be_read(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 1) as company:
            checker = Checker(company, "x")
            await checker.run(60)
            await filed(company)
            for name in "abc":
                await read_through(company, name, 0)  # what has to be read at a start was read
            for name in "abc":
                (path,) = segments(tmp_path / name)
                flip(path, 2_000)
            async with await Visitor.dial(company.addresses["b"]) as visitor:

                async def beginning() -> bool:
                    page = await visitor.read(0, 0)
                    return isinstance(page, wire.Page) and page.end > 0

                await company.until(beginning, "what is before the damage cannot be read")
                page = await visitor.read(0, 0)
                assert isinstance(page, wire.Page)
                refused = await visitor.read(0, page.end)
                assert isinstance(refused, wire.Refused) and "is damaged at byte" in refused.reason, refused
                (named,) = (await company.ask("b", ask="status"))["damaged"]
                assert named["first"] == page.end
                rest = await visitor.read(0, named["end"])
                assert isinstance(rest, wire.Page) and rest.batches
            await checker.run(20)
            for name in "abc":
                assert (await company.ask(name, ask="status"))["incarnation"] == 1

    run(test(), timeout_s=120)


def test_damage_in_history_that_halves_of_a_split_share_is_repaired_for_both(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 1) as company:
            checker = Checker(company, "x", keys=12)
            await checker.run(60)
            await filed(company)
            await company.order("a", "double", type="double", to=2)
            await company.settled()
            shared = [path for path in segments(tmp_path / "b") if path.stat().st_nlink > 1]
            assert len(shared) == 2
            flip(shared[0], shared[0].stat().st_size // 2)
            for bucket in (0, 1):
                await read_through(company, "b", bucket)
            await repaired(company, "b")
            await checker.run(20)
            await checked(company, [checker])
            company.kill("b")
            whole(tmp_path / "b")

    run(test(), timeout_s=120)


def test_damage_that_filing_meets_is_repaired_and_filing_goes_on(tmp_path: Path) -> None:
    """What lies in the journal of a running process is damaged before it is copied from there."""

    async def test() -> None:
        async with Company(tmp_path, "abc", 1) as company:
            checker = Checker(company, "x")
            await checker.run(40)
            (path,) = (tmp_path / "b" / "buckets" / "journal").iterdir()
            flip(path, path.read_bytes().index(MAGIC, 3_000) + 60)
            async with await Visitor.dial(company.addresses["a"]) as visitor:
                for number in range(40):  # more than a filing is due for
                    batch = build([b"large"], [str(number).encode().rjust(1_000_000)])
                    assert isinstance(await visitor.submit(0, batch, 1), submission.Stored)

            async def is_filed() -> bool:
                return bool(segments(tmp_path / "b"))

            await company.until(is_filed, "nothing is filed")
            await repaired(company, "b")
            await checked(company, [checker])
            company.kill("b")
            whole(tmp_path / "b")

    run(test(), timeout_s=120)


@pytest.mark.parametrize(("folder", "advice"), [("atomic", "hansard recover --rejoin"), ("buckets", "Move the folder")])
def test_who_cannot_even_open_what_it_has_does_not_start_and_says_what_to_do(
    tmp_path: Path, folder: str, advice: str
) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 2) as company:
            checker = Checker(company, "x")
            await checker.run(20)
            company.kill("b")
            flip(tmp_path / "b" / folder / "manifest", 13)
            err = tmp_path / "refused.err"
            process = FORKING.Process(target=participant, args=(company.plan("b"), err))
            process.start()
            process.join(30)
            assert process.exitcode == 1 and advice in err.read_text()
            if folder == "buckets":  # as it was told to
                shutil.move(tmp_path / "b" / "buckets", tmp_path / "aside")
                await company.start("b")
                await company.settled()
            await checker.run(20)
            await checked(company, [checker])

    run(test(), timeout_s=120)
