"""Real processes drop what need not be kept, on all members, and nothing that somebody holds."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hansard.batch import build
from hansard.bookmark import Bookmark
from hansard.participant.settings import Settings
from hansard.phaser.settings import Settings as Phaser
from hansard.server.start import Plan
from hansard.storage.settings import StoreSettings
from hansard.wire import request as wire
from hansard.wire import submission
from tests.cluster.company import Company
from tests.cluster.visitor import Visitor
from tests.server.trio import run

SMALL = StoreSettings(
    journal_file_bytes=16 << 10, unfiled_bytes_max=16 << 10, segment_bytes=8 << 10, block_bytes=1 << 10
)
VALUE = b"x" * 500


class Small(Company):
    """With disks on which something is to be dropped soon."""

    def plan(self, name: str) -> Plan:
        settings = Settings(phaser=Phaser(checkpoint_batches=4))
        return replace(super().plan(name), storage=SMALL, retention_s=0.2, settings=settings)

    async def write(self, changes: int, bucket: int = 0) -> None:
        async with await Visitor.dial(self.addresses[next(iter(self.running))]) as visitor:
            for _ in range(changes):

                async def stored() -> bool:
                    answer = await visitor.submit(bucket, build([None], [VALUE]), self.found.buckets)
                    return isinstance(answer, submission.Stored)

                await self.until(stored, "it is not stored")

    async def starts(self, bucket: int = 0) -> dict[str, int]:
        """Where each copy of a bucket begins."""
        found: dict[str, int] = {}
        for name in self.running:
            for copy in await self.ask(name, ask="buckets"):
                if copy["bucket"] == bucket and "start" in copy:
                    found[name] = copy["start"]
        return found

    async def hold(self, at: str, name: str, lasts_s: float = 600, **place: Any) -> Any:
        async with await Visitor.dial(self.addresses[at]) as visitor:
            return await visitor.exchange({"ask": "hold", "name": name, "lasts_s": lasts_s, **place})

    async def let_go(self, at: str, name: str) -> Any:
        async with await Visitor.dial(self.addresses[at]) as visitor:
            return await visitor.ask(ask="let go", name=name)

    async def dropped(self, above: int, bucket: int = 0) -> None:
        """All copies begin after an offset."""

        async def are() -> bool:
            starts = await self.starts(bucket)
            return len(starts) == len(self.running) and min(starts.values()) > above

        await self.until(are, f"not everything up to {above} was dropped")

    async def read(self, name: str, offset: int, bucket: int = 0) -> Any:
        async with await Visitor.dial(self.addresses[name]) as visitor:
            return await visitor.read(bucket, offset)


def test_what_is_held_stays_through_restarts_and_what_is_let_go_goes(tmp_path: Path) -> None:
    async def test() -> None:
        async with Small(tmp_path, "abc", 1) as company:
            await company.write(60)
            assert set((await company.starts()).values()) == {0}, "everything is kept by default"
            held = await company.hold("b", "spark", bookmark=str(Bookmark("a-log", {0: 20})))
            assert isinstance(held, wire.Told), held
            await company.order("c", "limit", type="configure", retain_changes=10)
            table = await company.ask("a", ask="table")
            assert table["settings"]["retain_changes"] == 10
            await company.write(100)
            await company.dropped(above=0)
            for victim in "abc":
                company.kill(victim)
            await company.start(*"abc")
            await company.settled()
            await company.write(60)
            listed = await company.ask("c", ask="holds")
            assert [(hold["name"], hold["offsets"]) for hold in listed["holds"]] == [("spark", {"0": 20})]
            starts = await company.starts()
            assert all(0 < start <= 20 for start in starts.values()), starts
            page = await company.read("a", 20)
            assert isinstance(page, wire.Page) and page.batches[0].header.base_offset <= 20
            assert await company.let_go("a", "spark") == {"name": "spark"}
            await company.dropped(above=20)
            gone = await company.read("a", 20)
            assert isinstance(gone, wire.Gone)
            assert gone.start == (await company.starts())["a"]
            retained = (await company.ask("b", ask="holds"))["retained"]["0"]
            refused = await company.hold("b", "spark", offsets={"0": 20})
            assert isinstance(refused, wire.Refused)
            assert refused.reason == f"bucket 0 is retained from offset {retained} on, and not from 20"
            assert any("that need not be kept" in company.log(name) for name in "abc")

    run(test(), timeout_s=120)


def test_a_newcomer_gets_what_is_retained_and_what_is_held(tmp_path: Path) -> None:
    async def test() -> None:
        async with Small(tmp_path, "abc", 1, retain_changes=10) as company:
            await company.write(80)
            await company.dropped(above=10)
            end = max((await company.ask("a", ask="holds"))["retained"].values())
            held = await company.hold("a", "spark", offsets={"0": end + 5})
            assert isinstance(held, wire.Told), held
            company.kill("c")
            company.add("d")
            await company.start("d")
            await company.settled()
            await company.write(120)
            starts = await company.starts()
            assert starts["d"] and all(0 < start <= end + 5 for start in starts.values()), starts
            for name in "abd":
                page = await company.read(name, end + 5) if name in company.running else None
                assert page is None or isinstance(page, wire.Page), page

    run(test(), timeout_s=120)


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ({"name": "x", "lasts_s": 60}, "give one of the two"),
        ({"name": "x", "lasts_s": 60, "bookmark": "b1", "offsets": {}}, "give one of the two"),
        ({"name": "x", "lasts_s": 60, "bookmark": "nothing"}, "is no bookmark"),
        ({"name": "x", "lasts_s": 60, "bookmark": str(Bookmark("other", {0: 1}))}, "of the log other"),
        ({"name": "x", "lasts_s": 60, "offsets": {"7": 1}}, "there is no bucket 7"),
        ({"name": "", "lasts_s": 60, "offsets": {}}, "the name of a hold"),
        ({"name": "x", "lasts_s": 0.5, "offsets": {}}, "a hold lasts"),
        ({"name": "x", "lasts_s": 1e300, "offsets": {}}, "a hold lasts"),
    ],
)
def test_what_is_no_hold_is_refused_with_a_reason(tmp_path: Path, question: dict[str, Any], why: str) -> None:
    async def test() -> None:
        async with Small(tmp_path, "a", 1) as company:
            await company.write(1)
            async with await Visitor.dial(company.addresses["a"]) as visitor:
                answer = await visitor.exchange({"ask": "hold", **question})
            assert isinstance(answer, wire.Refused) and why in answer.reason, answer
            assert await company.ask("a", ask="holds") == {"holds": [], "retained": {}}

    run(test(), timeout_s=60)
