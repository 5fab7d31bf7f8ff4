"""Pages for clients where damage is in the way."""

import asyncio
from typing import Any

from hansard.distributor.bucket import Bucket
from hansard.server.damage import Damages
from hansard.server.journal import Errand
from hansard.server.pages import Pages
from hansard.storage.errors import Corrupt
from hansard.wire.request import Page, Read, Refused

DAMAGE = Corrupt("segment", 0, 10, "bad checksum", bucket=0, first=3, end=5)
PAGE = Page(1, [], 9, at_end=True, level=1)


class Reader:
    """One that reads bucket 0 and meets damage."""

    def __init__(self) -> None:
        self.errands: list[Errand] = []
        self.record = Bucket(level=1)
        self.told: list[Any] = []
        self.damages = Damages(lambda _: None, lambda _: None, lambda: None)
        pages = Pages(self.errands.append, lambda _: self.record, self.damages)
        pages.read(1, Read(1, 0, 3, 0), 9, self.told.append)
        self.errands.pop().done(DAMAGE)
        assert not self.told and not self.errands, "it waits until it is mended"

    def mend(self) -> None:
        self.damages.looked([])


def test_a_reader_waits_until_damage_is_mended() -> None:
    async def test() -> None:
        reader = Reader()
        reader.mend()
        (errand,) = reader.errands
        errand.done(PAGE)
        assert reader.told == [PAGE]

    asyncio.run(test())


def test_a_bucket_that_was_split_meanwhile_is_read_again_as_what_it_is() -> None:
    """What was asked of the whole is not answered from the log of a half."""

    async def test() -> None:
        reader = Reader()
        reader.record = Bucket(level=2)
        reader.mend()
        assert not reader.errands
        (answer,) = reader.told
        assert isinstance(answer, Refused) and answer.id == 1 and "read it again" in answer.reason

    asyncio.run(test())
