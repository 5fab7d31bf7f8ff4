"""The client over HTTP against clusters of real processes: the same promises as over the binary protocol."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hansard.bookmark import Bookmark, WrongLog
from hansard.client import AsyncClient
from tests.client.countdown import Counting, grown
from tests.cluster.company import Company
from tests.server.trio import free_addresses, run

TIMEOUT_S = 30.0


class Doors(Company):
    """A company that speaks HTTP, too."""

    def __init__(self, directory: Path, names: str = "abc", buckets: int = 4) -> None:
        super().__init__(directory, names, buckets)
        self.doors = dict(zip(names, free_addresses(len(names)), strict=True))

    @property
    def urls(self) -> list[str]:
        return [f"http://{host}:{port}" for host, port in self.doors.values()]

    async def client(self, **more: str) -> AsyncClient:
        return await AsyncClient.connect(self.urls, timeout_s=TIMEOUT_S, **more)  # type: ignore[arg-type]


def test_everything_that_the_other_flavour_does(tmp_path: Path) -> None:
    async def test() -> None:
        async with Doors(tmp_path) as company, await company.client() as client:
            assert (client.buckets, client.log_id) == (4, "a-log")
            start = await client.bookmark()
            receipts = await asyncio.gather(*[client.submit(f"key {number}", number) for number in range(200)])
            assert {receipt.bucket for receipt in receipts} == {0, 1, 2, 3}
            many = await client.submit_many(
                ["a", b"\xff\x00", None], [b"\x00\x01", '{"a":\n1}', None], [["x", "y"], ["x"], []]
            )
            assert len(many) == 3 and all(receipt.offset is not None for receipt in many)
            found = {change.key: change async for change in client.read(since=start)}
            assert len(found) == 203
            for number, receipt in enumerate(receipts):
                change = found[f"key {number}".encode()]
                assert (change.bucket, change.offset, change.timestamp) == receipt
                assert change.json() == number and change.connection == client.connection
            assert found[b"\xff\x00"].value == b'{"a":\n1}' and found[b"a"].tags == ("x", "y")
            assert found[None].value is None
            tagged = [change.key async for change in client.read(tags=["x", "y"], match="all")]
            assert tagged == [b"a"]
            assert [change.json() async for change in client.read(key="key 7")] == [7]
            await pages_and_places(client)
            async with client.producer(receipts=True) as producer:
                for number in range(5_000):
                    await producer.put(f"device {number % 50}", number)
                await producer.close()
                assert len([receipt async for receipt in producer]) == 5_000

    run(test(), timeout_s=120)


async def pages_and_places(client: AsyncClient) -> None:
    everything = [change async for change in client.read()]
    seen, page = [], await client.page(limit=50)
    assert page.at_start
    while True:
        seen += page.changes
        if page.at_end:
            break
        page = await client.page(since=page.bookmark, limit=50)
    assert seen == everything
    back = await client.page(order="desc", limit=3)
    assert back.changes == everything[:-4:-1]
    small = await client.page(bytes_max=10)
    assert small.changes == everything[: len(small.changes)] and len(small.changes) < 10
    assert (await client.page(since=small.bookmark, limit=1)).changes == [everything[len(small.changes)]]
    # In the middle of what has come, the bookmark is the place after the last one that was looked at.
    reading, before = client.read(), []
    async for change in reading:
        before.append(change)
        if len(before) == 77:
            break
    rest = [change async for change in client.read(since=str(reading.bookmark))]
    assert before + rest == everything
    later = datetime.now(UTC) + timedelta(hours=1)
    assert [change async for change in client.read(until=later)] == everything
    assert [change async for change in client.read(since=later)] == []
    assert (await client.bookmark(datetime.fromtimestamp(0, UTC))).offsets.keys() == {0, 1, 2, 3}
    with pytest.raises(WrongLog):
        await client.page(since=str(Bookmark("another", {0: 1})))


def test_every_participant_is_killed_under_load(tmp_path: Path) -> None:
    async def test() -> None:
        async with Doors(tmp_path) as company, await company.client() as client:
            counting = Counting(client)
            work, seen = asyncio.create_task(counting.run()), asyncio.create_task(counted(client))
            for victim in "abc":
                await company.until(grown(counting), "nothing is stored")
                company.kill(victim)
                await company.until(grown(counting), f"nothing is stored without {victim}")
                await company.start(victim)
                await company.settled()
            counting.stop = True
            await work
            counting.check([change async for change in client.read()])
            await client.submit("the end", "", ["counted"])
            everything = {(change.bucket, change.offset) async for change in client.read(tags=["counted"])}
            places = await seen
            assert len(places) == len(set(places)) and set(places) == everything, "skipped, or seen twice"

    run(test(), timeout_s=180)


async def counted(client: AsyncClient) -> list[tuple[int, int]]:
    """All places that a follower sees, up to the last one."""
    found = []
    async for change in client.follow(tags=["counted"]):
        found.append((change.bucket, change.offset))
        if change.key == b"the end":
            break
    return found


def test_buckets_are_doubled_twice_under_load(tmp_path: Path) -> None:
    async def test() -> None:
        async with Doors(tmp_path, buckets=2) as company, await company.client() as client:
            counting = Counting(client, keys=24)
            work = asyncio.create_task(counting.run())
            for number, to in enumerate((4, 16)):
                await company.until(grown(counting), "nothing is stored")
                await company.order("b", f"double {number}", type="double", to=to)
            await company.until(grown(counting), "nothing is stored")
            counting.stop = True
            await work
            assert len({receipt.bucket for receipt in counting.receipts.values()}) > 8
            counting.check([change async for change in client.read()])

    run(test(), timeout_s=180)
