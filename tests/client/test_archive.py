"""A reader sees every change once, and those of each key in their order, whatever becomes of buckets and members."""

import asyncio
from datetime import UTC, datetime

import pytest

from hansard.bookmark import Bookmark
from hansard.client import Change, Follow, NotReadable, Reading
from hansard.client.library import Library, Wish
from hansard.client.reading import Filter, Order, Span
from hansard.wire import request as wire
from tests.client.archive import LOG, Archive, check, live
from tests.client.fake import run

STEPS = 60


@pytest.mark.parametrize("ten", range(3))
def test_a_follower_that_resumes_from_bookmarks_misses_nothing_and_repeats_nothing(ten: int) -> None:
    async def follow(seed: int) -> None:
        archive = Archive(seed)
        library = archive.library()
        seen: list[Change] = []
        over = asyncio.Event()
        living = asyncio.create_task(live(archive, STEPS, over.set))
        bookmark: Bookmark | str | None = None
        while not over.is_set() or len(seen) < sum(archive.counts.values()):
            following = Follow(library, Wish(since=bookmark), 10.0)
            for _ in range(archive.random.randint(1, 40)):
                if over.is_set() and len(seen) >= sum(archive.counts.values()):
                    break
                try:
                    async with asyncio.timeout(0.05):
                        seen.append(await anext(following))
                except TimeoutError:
                    break
            await following.begin()
            bookmark = archive.random.choice((following.bookmark, str(following.bookmark)))
        await living
        await library.close()
        check(archive, seen)

    for seed in range(10 * ten, 10 * ten + 10):
        run(follow(seed))


@pytest.mark.parametrize("ten", range(2))
def test_pages_of_any_size_in_either_order_are_the_same_log(ten: int) -> None:
    async def read(seed: int) -> None:
        archive = Archive(seed)
        library = archive.library()
        await live(archive, STEPS, lambda: None)
        archive.behind = 0.0
        everything = (await library.page(Wish(), 10_000, 0)).changes
        check(archive, everything)
        backwards = (await library.page(Wish(order="desc"), 10_000, 0)).changes
        assert [(change.key, change.value) for change in sorted(backwards)] == [
            (change.key, change.value) for change in everything
        ]
        for limit in (1, 3, 50):
            found: list[Change] = []
            place: Bookmark | None = None
            while True:
                page = await library.page(Wish(since=place), limit, 0)
                found += page.changes
                place = page.bookmark
                assert len(page.changes) <= limit
                if page.at_end:
                    break
            assert found == everything
        await library.close()

    for seed in range(100 + 10 * ten, 110 + 10 * ten):
        run(read(seed))


def test_pages_are_bounded_in_bytes_and_a_short_one_does_not_say_that_it_is_the_last() -> None:
    async def read(seed: int) -> None:
        archive = Archive(seed)
        library = archive.library()
        await live(archive, STEPS, lambda: None)
        archive.behind = 0.0
        everything = (await library.page(Wish(), 10_000, 0)).changes
        found: list[Change] = []
        place: Bookmark | None = None
        while True:
            page = await library.page(Wish(since=place), 10_000, 0, bytes_max=12)
            found += page.changes
            place = page.bookmark
            assert page.changes and sum(change.byte_count for change in page.changes[:-1]) < 12
            assert not page.at_end or len(found) == len(everything)
            if len(found) == len(everything):
                break
        assert found == everything
        assert len((await library.page(Wish(), 10_000, 0, bytes_max=1)).changes) == 1
        await library.close()

    for seed in range(400, 405):
        run(read(seed))


def test_reading_to_the_end_ends_with_all_that_was_there_when_it_began() -> None:
    async def read(seed: int) -> None:
        archive = Archive(seed)
        library = archive.library()
        await live(archive, STEPS, lambda: None)
        count = sum(archive.counts.values())
        reading = Reading(library, Wish(), 10.0)
        await reading.begin()
        archive.append(20)
        seen = [change async for change in reading]
        assert len(seen) == count
        seen += [change async for change in Reading(library, Wish(since=reading.bookmark), 10.0)]
        check(archive, seen)

    for seed in range(300, 320):
        run(read(seed))


def test_a_split_that_is_heard_of_while_the_end_is_looked_for_hides_nothing() -> None:
    async def read() -> None:
        archive = Archive(7)
        library = archive.library()
        archive.behind = 0.0
        start = await library.bookmark(None)
        archive.append(50)

        class Splitting(Library):
            async def _end(self, wanted: Filter) -> Bookmark:
                end = await super()._end(wanted)
                for bucket in (0, 1):
                    archive.split(bucket)
                await self._refresh()
                return end

        library.__class__ = Splitting
        reading = Reading(library, Wish(since=start), 10.0)
        seen = [change async for change in reading]
        check(archive, seen)
        assert reading.bookmark.offsets.keys() == archive.levels.keys() and len(archive.levels) == 4

    run(read())


def test_up_to_a_time_nobody_is_behind_and_who_is_behind_for_good_is_not_waited_for() -> None:
    async def read() -> None:
        archive = Archive(8)
        library = archive.library()
        archive.append(20)
        archive.behind, archive.stored_end = 0.0, lambda _: 1_000
        library._timeout_s = 0.1
        page = await library.page(Wish(until=datetime.now(UTC), order="desc"), 100, 0)
        assert len(page.changes) == 20
        orders: tuple[Order, ...] = ("asc", "desc")
        for order in orders:
            with pytest.raises(NotReadable):
                await library.page(Wish(order=order), 100, 0)

    run(read())


def test_who_may_read_some_tags_only_says_so_with_every_question() -> None:
    async def read() -> None:
        archive = Archive(9)
        library = archive.library()
        asked: list[tuple[bytes, ...]] = []
        linear: list[bool] = []

        class Asked(Archive):
            async def read(self, bucket: int, span: Span, wanted: Filter, timeout_s: float) -> wire.Page:
                asked.append(wanted.tags)
                linear.append(span.linear)
                return await super().read(bucket, span, wanted, timeout_s)

        archive.__class__ = Asked
        await library.bookmark(None, ["mine"])
        await library.bookmark(datetime.now(UTC), ["mine"])
        assert all(linear), "all that was acknowledged is there"
        cursor = await library.cursor(Wish(tags=["mine"]), to_end=False, chunk=10)
        await library.placed(cursor)
        await cursor._retained()
        assert asked and set(asked) == {(b"mine",)}

    run(read())


def test_the_archives_see_what_they_are_there_for() -> None:
    async def look() -> None:
        archives = [Archive(seed) for seed in range(20)]
        for archive in archives:
            library = archive.library()
            await live(archive, STEPS, lambda: None)
            await library.page(Wish(), 10_000, 0)
            await library.close()
        assert sum(len(archive.levels) > 4 for archive in archives) > 5, "splits"
        assert sum(archive.stale_pages > 0 for archive in archives) > 5, "members that are behind"
        assert archives[0].atlas.log_id == LOG

    run(look())
