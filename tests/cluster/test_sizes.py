"""Clusters of one, three and five, in both shapes: each participant takes changes for each bucket, and shows all."""

import asyncio
import shutil
import signal
from itertools import count
from pathlib import Path

import pytest

from hansard.batch import build
from hansard.batch.keyhash import bucket_of, key_hash
from hansard.distributor.settings import Shape
from hansard.wire import request as wire
from hansard.wire import submission
from tests.cluster.checker import Checker
from tests.cluster.company import Company
from tests.cluster.test_life import SHAPES, checked
from tests.cluster.visitor import Visitor
from tests.server.trio import run

BUCKETS = 4


def key_in(bucket: int, name: str) -> str:
    return next(key for n in count() if bucket_of(key_hash((key := f"{name} {n}").encode()), BUCKETS) == bucket)


async def submitted_everywhere(company: Company, value: int) -> set[tuple[str, int]]:
    """At each participant one change for each bucket: most of them hop. Their keys and values.

    They are of a stream: a way to somebody who was just started may be made anew under a hop, and what has become of
    that one would not be known.
    """
    sent: set[tuple[str, int]] = set()
    for name in company.running:
        async with await company.dial(name) as visitor:
            connection = await visitor.connect()
            for bucket in range(BUCKETS):
                key = key_in(bucket, f"{name} to {bucket}")
                batch = build([key], [str(value)], connection=connection, first_series=bucket, previous_series=-1)
                answer = await visitor.submit(bucket, batch, BUCKETS)
                assert isinstance(answer, submission.Stored | submission.Repeated), answer
                sent.add((key, value))
    return sent


async def read_for_sure(company: Company, name: str, bucket: int) -> set[tuple[str, int]]:
    """With all that was acknowledged before: where the participant sends its readers, if it is not the leader."""
    address = company.addresses[name]
    while True:
        async with await Visitor.dial(address) as visitor:
            page = await visitor.read(bucket, 0, linear=True)
        if isinstance(page, wire.Elsewhere):
            host, _, port = page.address.rpartition(":")
            address = (host, int(port))
            continue
        if isinstance(page, submission.NotLeader | submission.Expired):  # it has just been started
            continue
        assert isinstance(page, wire.Page) and page.at_end, page
        changes = [change for batch in page.batches for change in batch.changes()]
        found = {((change.key or b"").decode(), int(change.value or b"")) for change in changes}
        assert len(found) == len(changes), "each of them once"
        return found


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("names", ["a", "abc", "abcde"])
def test_everybody_takes_everything_and_shows_everything(tmp_path: Path, names: str, shape: Shape) -> None:
    async def test() -> None:
        async with Company(tmp_path, names, BUCKETS, shape=shape) as company:
            sent = await submitted_everywhere(company, 1)
            for name in names:
                found = [await read_for_sure(company, name, bucket) for bucket in range(BUCKETS)]
                assert set().union(*found) == sent, name
            for victim in names:  # one after the other is killed hard, and has all when it is back
                company.kill(victim)
                await company.start(victim)
                await company.settled()
            sent |= await submitted_everywhere(company, 2)
            for name in names:
                found = [await read_for_sure(company, name, bucket) for bucket in range(BUCKETS)]
                assert set().union(*found) == sent, name
            for name in names:
                assert company.kill(name, signal.SIGTERM) == 0
            await company.start(*names)
            await company.settled()
            for name in names:
                found = [await read_for_sure(company, name, bucket) for bucket in range(BUCKETS)]
                assert set().union(*found) == sent, name

    run(test(), timeout_s=120)


@pytest.mark.parametrize("shape", SHAPES)
def test_five_go_on_while_two_of_them_are_killed_at_once(tmp_path: Path, shape: Shape) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abcde", BUCKETS, shape=shape) as company:
            checkers = [Checker(company, name, seed) for seed, name in enumerate(("x", "y"))]
            work = [asyncio.create_task(checker.run(60)) for checker in checkers]
            await asyncio.sleep(0.2)
            company.kill("b")
            company.kill("d")
            await asyncio.gather(*work)
            await company.start("b", "d")
            await company.settled()
            await checked(company, checkers)

    run(test(), timeout_s=120)


def test_one_that_has_lost_its_disk_takes_its_own_place_again(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", BUCKETS) as company:
            checker = Checker(company, "x")
            await checker.run(30)
            company.kill("c")
            shutil.rmtree(tmp_path / "c")
            await company.start("c")
            work = asyncio.create_task(checker.run(30))

            async def replaced() -> bool:
                status, table = await company.ask("c", ask="status"), await company.ask("c", ask="table")
                return status["incarnation"] == 2 and all("c" in bucket["full"] for bucket in table["buckets"])

            await company.until(replaced, "it does not have its place again")
            await company.settled()
            await work
            for other in "ab":  # what it was sent again is on its disk: the others are not needed any more
                company.kill(other)
            await company.start("a", "b")
            await company.settled()
            await checked(company, [checker])

    run(test(), timeout_s=120)
