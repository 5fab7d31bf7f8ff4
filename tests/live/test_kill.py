"""Processes are killed while they append, again and again, over one directory: what they acknowledged is there."""

from collections import Counter, defaultdict
from contextlib import closing
from functools import cache
from pathlib import Path
from random import Random
from time import monotonic

from hansard.batch import Change
from hansard.embedded import NewChange
from hansard.storage import manifest as manifests
from hansard.storage.disk import RealDisk
from hansard.storage.journal import read_header
from hansard.storage.store import open_store
from tests.live import child
from tests.live.child import SETTINGS, TAGS, THREADS, Receipt, checksum, opened
from tests.live.forker import Forker

LIVES = 50
MAKINGS = 30

submission = cache(child.submission)


class Witness:
    """Has seen every receipt and, after each life, every change; says what is missing, wrong or twice there."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.stored: list[Change] = []
        """By offset."""
        self.sightings: Counter[str] = Counter()
        """How often it saw what must happen now and then for all this to mean something."""

    def look(self, seed: str, receipts: list[Receipt]) -> None:
        """After a life: what it left behind those before it is what it was given, and all that it acknowledged."""
        before = len(self.stored)
        self._look_at_journal()
        with opened(self._directory, read_only=True) as log:
            assert log.info().damage == []
            added = list(log.read(since=before))
        assert [change.offset for change in added] == list(range(before, before + len(added)))
        self.stored += added
        offsets = self._submissions(before)
        for receipt in receipts:
            assert offsets.get(receipt.name) == receipt.offset, f"not where it was said to be: {receipt}"
            assert checksum(self.stored[receipt.offset : receipt.offset + receipt.change_count]) == receipt.crc
        self._check_order(seed, offsets, {receipt.name for receipt in receipts})
        self.sightings["receipts"] += len(receipts)

    def _submissions(self, offset: int) -> dict[str, int]:
        """Those stored from an offset on, each as a whole and once."""
        offsets: dict[str, int] = {}
        while offset < len(self.stored):
            name = (self.stored[offset].key or b"").decode().rpartition("/")[0]
            expected = submission(name)
            there = self.stored[offset : offset + len(expected)]
            assert [NewChange(change.key, change.value, change.tags) for change in there] == expected
            assert name not in offsets, f"{name} is there twice"
            offsets[name] = offset
            offset += len(expected)
        return offsets

    def _check_order(self, seed: str, stored: dict[str, int], acknowledged: set[str]) -> None:
        """A thread waits for each receipt, so only the last submission of each may be there without one."""
        last_of: dict[str, str] = {}
        numbers = defaultdict[str, list[int]](list)
        for name in stored:
            prefix, _, number = name.rpartition("/")
            numbers[prefix].append(int(number))
            last_of[prefix] = name
        assert numbers.keys() <= {f"{seed}/{thread}" for thread in range(THREADS)}
        for counted in numbers.values():
            assert counted == list(range(len(counted)))
        unacknowledged = stored.keys() - acknowledged
        assert unacknowledged <= set(last_of.values())
        self.sightings["lives that stored without a receipt"] += bool(unacknowledged)

    def _look_at_journal(self) -> None:
        """Filing that was due and is not done was being done, or about to be."""
        with closing(open_store(RealDisk(self._directory), read_only=True, settings=SETTINGS)) as store:
            self.sightings["lives that ended while filing"] += store.filing_due

    def look_at_everything(self) -> None:
        with opened(self._directory, read_only=True) as log:
            assert list(log.read()) == self.stored
            for tag in TAGS:
                assert list(log.read(tags=[tag])) == [change for change in self.stored if tag in change.tags]
            report = log.verify(deep=True)
            assert report.damage == []
            assert report.changes == len(self.stored)
            assert log.info().segments == report.segments
            self.sightings["segments"] = report.segments
        slots = list(self._directory.glob("journal/*.journal"))
        headers = [read_header(slot.name, slot.read_bytes()) for slot in slots]
        self.sightings["journal files"] = max(header[0] for header in headers if header is not None)
        self.sightings["journal slots"] = len(slots)


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    random = Random(20240531)
    directory = tmp_path / "log"
    witness = Witness(directory)
    with Forker() as forker:
        witness.look("first", forker.live(directory, "first", receipts=1))
        for life in range(1, LIVES):
            seed = f"life{life}"
            if random.random() < 0.2:  # while it opens the log, or soon after
                receipts, then_s = 0, random.uniform(0, 0.02)
            else:
                receipts, then_s = random.randint(1, 30) ** 2 // 3, random.uniform(0, 0.01)
            witness.look(seed, forker.live(directory, seed, receipts=receipts, then_s=then_s))
            if life == LIVES // 2:
                witness.look_at_everything()
    witness.look_at_everything()
    # If these fail the code is not wrong, but the test has become one that cannot fail.
    sightings = witness.sightings
    assert sightings["receipts"] >= 10 * LIVES, sightings
    assert sightings["lives that stored without a receipt"] >= LIVES // 5, sightings
    assert sightings["lives that ended while filing"] >= 1, sightings
    assert sightings["segments"] >= 5, sightings
    assert sightings["journal files"] >= 3 * sightings["journal slots"], sightings


def test_log_whose_making_was_killed_is_made_by_the_next_process(tmp_path: Path) -> None:
    random = Random(7)
    half_made = 0
    with Forker() as forker:
        forker.live(tmp_path / "warm", "warm", receipts=1)  # the forker itself has to start first
        begun = monotonic()
        forker.live(tmp_path / "whole", "whole", receipts=1)
        making_s = monotonic() - begun
        for number in range(10 * MAKINGS):
            if number >= MAKINGS and half_made:
                break
            directory = tmp_path / f"log{number}"
            witness = Witness(directory)
            killed = forker.live(directory, "killed", receipts=0, then_s=random.uniform(0, making_s))
            if (directory / manifests.PATH).exists():
                witness.look("killed", killed)
            else:
                assert not killed
                half_made += directory.exists()
            witness.look("next", forker.live(directory, "next", receipts=1))
            witness.look_at_everything()
    assert half_made >= 1
