"""Waiting for more: one read for all who wait, which ends with the last of them; and nobody waits in vain."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from hansard.client.atlas import Atlas
from hansard.client.correspondence import Correspondence
from hansard.client.cursor import Cursor
from hansard.client.errors import ClientClosed, ClientError, Refused
from hansard.client.library import Library, Wish
from hansard.client.reading import Filter, Reader, Span
from hansard.client.tide import Tide
from hansard.wire.request import Page
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
