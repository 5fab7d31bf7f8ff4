"""Reading clusters of real processes: all buckets as one log, each change once, whatever is done to them."""

import asyncio
from pathlib import Path
from random import Random
from typing import Any

import pytest

from hansard.bookmark import Bookmark, WrongLog
from hansard.client import AsyncClient, Change, Follow, Gone
from tests.client.countdown import Counting, addresses, grown
from tests.cluster.company import Company
from tests.cluster.test_retention import Small
from tests.server.trio import run

TIMEOUT_S = 30.0


async def connected(company: Company) -> AsyncClient:
    return await AsyncClient.connect(addresses(company), timeout_s=TIMEOUT_S)


async def pages(client: AsyncClient, **wish: object) -> list[Change]:
    """Page by page, in either order."""
    found: list[Change] = []
    place = "until" if wish.get("order") == "desc" else "since"
    while True:
        page = await client.page(**wish)  # type: ignore[arg-type]
        found += page.changes
        if not page.changes or (page.at_start if place == "until" else page.at_end):
            return found
        wish[place] = page.bookmark


def test_pages_go_up_and_down_by_place_time_tag_and_key(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 4) as company, await connected(company) as client:
            empty = await client.page()
            assert (empty.changes, empty.at_start, empty.at_end) == ([], True, True)
            half = Bookmark("", {})
            for number in range(30):
                tags = ["even" if number % 2 == 0 else "odd", *(["third"] if number % 3 == 0 else [])]
                await client.submit(f"key {number % 5}", number, tags)
                if number == 19:
                    half = await client.bookmark()
            everything = (await client.page()).changes
            assert sorted(change.json() for change in everything) == list(range(30))
            assert everything == sorted(everything), "by time, bucket and offset"
            for limit in (1, 7, 30, 100):
                assert await pages(client, limit=limit) == everything
                assert await pages(client, limit=limit, order="desc") == everything[::-1]

            # By place.
            before = [change for change in everything if change.json() < 20]
            since = [change for change in everything if change.json() >= 20]
            assert [change async for change in client.read(since=half)] == since
            assert [change async for change in client.read(since=str(half))] == since
            assert [change async for change in client.read(until=half)] == before
            assert await pages(client, limit=3, until=half) == before
            assert await pages(client, limit=3, until=half, order="desc") == before[::-1]
            page = await client.page(limit=4, since=half)
            assert (await client.page(until=page.previous, order="desc", limit=3)).changes == before[-3:][::-1]

            # By time.
            time = everything[20].time
            later = [change for change in everything if change.time >= time]
            assert (await client.page(since=time)).changes == later
            assert (await client.page(since=await client.bookmark(time))).changes == later
            assert (await client.page(until=time)).changes == [change for change in everything if change.time < time]
            assert await pages(client, since=time, limit=2, order="desc") == later[::-1]

            # By tag and key.
            odd = [change async for change in client.read(tags=["odd"])]
            assert odd == [change for change in everything if change.json() % 2]
            both = [change async for change in client.read(tags=["odd", "third"], match="all")]
            assert sorted(change.json() for change in both) == [3, 9, 15, 21, 27]
            one = [change async for change in client.read(key="key 3")]
            assert [change.json() for change in one] == [3, 8, 13, 18, 23, 28]
            assert await pages(client, key="key 3", limit=2, order="desc") == one[::-1]
            of_one = [change async for change in client.read(buckets=[1])]
            assert of_one == [change for change in everything if change.bucket == 1]
            with pytest.raises(WrongLog):
                await client.page(since=Bookmark("another", {0: 1}))

    run(test(), timeout_s=120)


def test_a_page_waits_for_what_comes(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 4) as company, await connected(company) as client:
            await client.submit("k", "before")
            here = await client.bookmark()
            waiting = [asyncio.create_task(client.page(since=here, block_s=TIMEOUT_S)) for _ in range(50)]
            await asyncio.sleep(0)
            await client.submit("k", "after")
            for task in waiting:
                assert [change.text for change in (await task).changes] == ["after"]
            nothing = await client.page(since=await client.bookmark(), block_s=0.2)
            assert (nothing.changes, nothing.at_end) == ([], True)

    run(test(), timeout_s=120)


async def _until(follow: Follow, found: list[Change], count: int) -> None:
    async for change in follow:
        found.append(change)
        if len(found) >= count:
            return


def test_a_follower_sees_each_change_once_through_restarts_and_splits(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 2) as company, await connected(company) as client:
            counting = Counting(client, keys=24)
            work = asyncio.create_task(counting.run())
            seen: list[Change] = []
            resumed: list[Change] = []
            following = asyncio.create_task(_until(client.follow(tags=["counted"]), seen, 1 << 40))
            resuming = asyncio.create_task(_resume(company, resumed))
            for number, (victim, to) in enumerate(zip("abc", (4, 8, 16), strict=True)):
                await company.until(grown(counting), "nothing is stored")
                order = asyncio.create_task(company.order("bca"[number], f"double {number}", type="double", to=to))
                company.kill(victim)
                await company.until(grown(counting), "nothing is stored")
                await company.start(victim)
                await order
                await company.settled()
            counting.stop = True
            await work
            for found in (seen, resumed):
                await company.until(_has(found, len(counting.receipts)), f"{len(found)} of {len(counting.receipts)}")
            following.cancel()
            resuming.cancel()
            counting.check(seen)
            counting.check(resumed)
            counting.check([change async for change in client.read()])

    run(test(), timeout_s=240)


async def _resume(company: Company, found: list[Change]) -> None:
    """One that stops now and then, and goes on from its bookmark with another client."""
    random, token = Random(7), None
    while True:
        async with await connected(company) as client:
            follow = client.follow(since=token)
            stop = len(found) + random.randint(1, 700)
            while len(found) < stop:
                found.append(await anext(follow))
            token = str(follow.bookmark)


def _has(found: list[Change], count: int):  # type: ignore[no-untyped-def]
    async def has() -> bool:
        return len(found) >= count

    return has


def test_a_name_goes_on_where_it_was_committed_and_holds_what_comes_after(tmp_path: Path) -> None:
    async def test() -> None:
        async with Small(tmp_path, "abc", 2) as company, await connected(company) as client:
            await client.submit_many([f"k{number}" for number in range(20)], [b"x" * 500] * 20)
            follow = client.follow(name="billing")
            first = [await anext(follow) for _ in range(10)]
            await follow.commit()
            ahead = [await anext(follow) for _ in range(5)]
            await company.order("c", "limit", type="configure", retain_changes=10)
            for _ in range(20):
                await client.submit_many([f"k{number}" for number in range(20)], [b"x" * 500] * 20)
            again = client.follow(name="billing")
            assert [await anext(again) for _ in range(5)] == ahead
            rest = [await anext(again) for _ in range(405)]
            assert len({(change.bucket, change.offset) for change in first + ahead + rest}) == 420
            await again.commit()
            for bucket in (0, 1):
                await company.dropped(above=10, bucket=bucket)
            with pytest.raises(Gone) as gone:
                await client.page(since=Bookmark(client.log_id, {0: 1, 1: 1}))
            assert all(start > 10 for start in gone.value.retained.values()), gone.value
            assert (await client.page(since=gone.value.start, limit=1)).changes
            assert (await client.page(limit=1)).at_start, "from the beginning of what there is"
            await client.let_go("billing")

    run(test(), timeout_s=120)


def test_a_name_that_is_followed_keeps_its_hold_though_nothing_comes_to_be_committed(tmp_path: Path) -> None:
    async def held(client: AsyncClient) -> dict[str, Any]:
        told = await client.ask({"ask": "holds", "settled": True})
        return {hold["name"]: hold for hold in told["holds"]}

    async def test() -> None:
        async with Company(tmp_path, "abc", 2) as company, await connected(company) as client:
            await client.submit("k", 0)
            follow = client.follow(name="quiet", hold_s=4.0)
            assert (await anext(follow)).json() == 0
            place = await follow.commit()
            first = (await held(client))["quiet"]
            waiting = asyncio.create_task(anext(follow))

            async def is_renewed() -> bool:
                return bool((await held(client))["quiet"]["expires_us"] > first["expires_us"] + 3_000_000)

            await company.until(is_renewed, "a hold is over while somebody follows")
            renewed = (await held(client))["quiet"]
            assert renewed["offsets"] == {str(bucket): offset for bucket, offset in place.offsets.items()}
            await client.submit("k", 1)
            assert (await waiting).json() == 1

    run(test(), timeout_s=120)


def test_a_participant_that_is_asked_for_a_place_shows_what_was_committed_at_another(tmp_path: Path) -> None:
    async def test() -> None:
        async with Company(tmp_path, "abc", 2) as company:
            where = addresses(company)
            async with await AsyncClient.connect(where[:1]) as one, await AsyncClient.connect(where[2:]) as other:
                for client in (one, other):
                    client._door.atlas.everybody = lambda seeds=client._door.atlas.seeds: list(seeds)  # type: ignore[method-assign,misc,union-attr]
                await one.submit_many(["k"] * 60, list(range(60)))
                for number in range(0, 60, 2):
                    follow = (one, other)[number // 2 % 2].follow(name="relay")
                    assert (await anext(follow)).json() == number, "an earlier place was shown"
                    await anext(follow)
                    await follow.commit()

    run(test(), timeout_s=120)
