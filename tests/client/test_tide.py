"""Waiting for more: one read for all who wait, which ends with the last of them; and nobody waits in vain."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any, cast

import pytest

from hansard.batch import build
from hansard.client.atlas import Atlas
from hansard.client.correspondence import Correspondence
from hansard.client.cursor import Cursor
from hansard.client.errors import ClientClosed, ClientError, Refused
from hansard.client.library import Library, Wish
from hansard.client.reading import Filter, Reader, Span
from hansard.client.roster import Backoff
from hansard.client.tide import Tide
from hansard.wire.request import Page, Read, Tabled, Whereabouts
from tests.client.archive import Archive
from tests.client.fake import run, until


class Shore(Reader):
    """Nothing comes, until something happens."""

    def __init__(self) -> None:
        self.reads = 0
        self.happened = asyncio.Event()
        self.problem: Callable[[], BaseException] | None = None

    async def read(self, bucket: int, span: Span, wanted: Filter, timeout_s: float) -> Page:
        self.reads += 1
        await self.happened.wait()
        if self.problem is not None:
            raise self.problem()
        return Page(0, [], span.offset, at_end=True, level=1)


def waiting(tide: Tide) -> "asyncio.Task[frozenset[int]]":
    return asyncio.get_running_loop().create_task(tide.risen({0: 5}, None))


def test_who_waits_when_it_is_closed_is_told_and_who_comes_later_too() -> None:
    async def test() -> None:
        shore = Shore()
        tide = Tide(shore, Filter(), 1.0)
        one, other = waiting(tide), waiting(tide)
        await until(lambda: shore.reads == 1)
        await tide.close()
        for who in (one, other, waiting(tide)):
            with pytest.raises(ClientClosed):
                await who

    run(test())


@pytest.mark.parametrize("problem", [lambda: Refused("the token was revoked"), lambda: ClientError("anything")])
def test_who_waits_looks_for_itself_when_the_read_is_refused_or_fails(problem: Any) -> None:
    async def test() -> None:
        shore = Shore()
        tide = Tide(shore, Filter(), 1.0)
        who = waiting(tide)
        await until(lambda: shore.reads == 1)
        shore.problem = problem
        shore.happened.set()
        assert await who == {0}
        await tide.close()

    # That an error ended the read is logged by the loop; that is no part of this.
    with asyncio.Runner() as runner:
        runner.get_loop().set_exception_handler(lambda *_: None)
        runner.run(asyncio.wait_for(test(), 20))


def test_who_waits_is_woken_by_another_one_that_comes_and_has_read_further() -> None:
    async def test() -> None:
        shore = Shore()
        tide = Tide(shore, Filter(), 1.0)
        behind = waiting(tide)
        await until(lambda: shore.reads == 1)
        assert await tide.risen({0: 6}, 0.01) == frozenset()
        assert await behind == {0}
        await tide.close()

    run(test())


def test_a_tide_for_which_nobody_waits_goes_with_its_last_read() -> None:
    async def test() -> None:
        shore, over = Shore(), asyncio.Event()
        tide = Tide(shore, Filter(), 1.0, lambda _: over.set())
        assert await tide.risen({0: 5, 1: 3}, 0.01) == frozenset()
        assert shore.reads == 2 and not over.is_set()
        shore.happened.set()
        await over.wait()

    run(test())


@pytest.mark.parametrize(("guarded", "tides"), [(True, 3), (False, 1)])
def test_who_may_read_everything_waits_together_and_nothing_is_left_of_it(guarded: bool, tides: int) -> None:
    async def test() -> None:
        atlas, shore = Atlas(["nowhere:1"]), Shore()
        atlas.begin(Archive(0).table())
        shore.atlas = atlas

        async def refresh() -> None: ...

        library = Library(atlas, cast(Correspondence, None), shore, refresh, 1.0)
        library.guarded = guarded
        cursors: list[Cursor] = [
            await library.cursor(Wish(tags=[tag]), to_end=False, chunk=10) for tag in ("a", "b", "c")
        ]
        risen = [asyncio.ensure_future(library.risen(cursor, 0.05)) for cursor in cursors]
        await until(lambda: shore.reads == 2 * tides)
        assert len(library._tides) == tides
        await asyncio.gather(*risen)
        shore.happened.set()
        await until(lambda: not library._tides)
        await library.close()
        with pytest.raises(ClientClosed):
            await library.risen(cursors[0], None)

    run(test())


class Turns(Random):
    """The first one, and then always the last."""

    def choice(self, seq: Any) -> Any:
        first, self._is_later = not getattr(self, "_is_later", False), True
        return seq[0] if first else seq[-1]


class TwoMembers:
    """One has what came; the other does not hear of it."""

    def __init__(self) -> None:
        self.happened = asyncio.Event()

    async def ask(self, address: str, request: Callable[[int], Read], timeout_s: float) -> Page:
        asked = request(1)
        if asked.wait_us:
            async with asyncio.timeout(timeout_s):
                await (asyncio.Event() if asked.offset else self.happened).wait()  # nothing comes after it
        news = [build([b"k"], [b"v"]).stamped(epoch=1, base_offset=0, timestamp=1)]
        if self.happened.is_set() and address == "a:1" and not asked.offset:
            return Page(asked.id, news, 1, at_end=True, level=1)
        return Page(asked.id, [], asked.offset, at_end=True, level=1)


def test_what_was_waited_for_is_read_where_it_came() -> None:
    async def test() -> None:
        atlas, members = Atlas(["a:1"]), TwoMembers()
        atlas.begin(Tabled(0, 1, "a-log", [("a", "a:1"), ("b", "b:1")], [Whereabouts(1, 0, (0, 1))]))
        backoffs = lambda: Backoff(0.001, 0.01, Random(0))  # noqa: E731
        reader = Reader(atlas, cast(Correspondence, members), backoffs, Turns(0))

        async def refresh() -> None: ...

        library = Library(atlas, cast(Correspondence, members), reader, refresh, 5.0)
        waiting = asyncio.ensure_future(library.page(Wish(), 10, 5.0))
        await until(lambda: bool(library._tides))
        members.happened.set()
        assert [change.value for change in (await waiting).changes] == [b"v"]
        await library.close()

    run(test())
