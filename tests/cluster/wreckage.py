"""Damaging what participants have on disk, and looking whether it is whole."""

from pathlib import Path
from typing import Any

from hansard.storage.disk import RealDisk
from hansard.storage.record import RECORD_BYTES
from hansard.storage.scrub import scrub
from hansard.storage.store import Store, open_store
from hansard.wire import request as wire
from tests.cluster.checker import Checker, check, contents
from tests.cluster.company import Company
from tests.cluster.visitor import Visitor


async def checked(company: Company, checkers: list[Checker]) -> None:
    """Everybody shows the same and all of it, sooner or later: who has just started shows only what its leader has told
    it to be committed. Nothing else is ever shown."""
    expected = sum(len(stored) for checker in checkers for stored in checker.acknowledged.values())
    found: list[Any] = []

    async def alike() -> bool:
        found[:] = [await contents(company, name) for name in company.running]
        shown = sum(len(changes) for changes in found[0].values())
        return shown >= expected and all(each == found[0] for each in found)

    await company.until(alike, "they do not show the same")
    check(found[0], checkers)


def whole(directory: Path) -> None:
    """Of a participant that has stopped: every stored byte is as it was written."""
    store = open_store(RealDisk(directory / "buckets"), read_only=True)
    try:
        assert not scrub(store, deep=True).damage
    finally:
        store.close()


def flip(path: Path, position: int) -> None:
    """One byte, as a bad disk would."""
    with path.open("r+b") as file:
        file.seek(position)
        (byte,) = file.read(1)
        file.seek(position)
        file.write(bytes([byte ^ 0x55]))


def opened(directory: Path, *, read_only: bool = True) -> Store:
    return open_store(RealDisk(directory / "buckets"), read_only=read_only)


def last_batch(directory: Path) -> tuple[Path, int]:
    """Where the body of the last batch but one of some bucket lies in the journal."""
    store = opened(directory)
    try:
        entries = [log.tail[-2] for _, log in sorted(store.logs.items()) if len(log.tail) > 1]
        entry = max(entries, key=lambda entry: (entry.file.number, entry.position))
        return directory / "buckets" / entry.file.path, entry.position + entry.length - 1
    finally:
        store.close()


def last_record(directory: Path) -> tuple[Path, int]:
    """Where what the journal says of the last batch lies."""
    store = opened(directory)
    try:
        entries = [log.tail[-1] for log in store.logs.values() if log.tail]
        entry = max(entries, key=lambda entry: (entry.file.number, entry.position))
        return directory / "buckets" / entry.file.path, entry.position - RECORD_BYTES + 8
    finally:
        store.close()


def file(directory: Path) -> None:
    """Of a participant that has stopped: what is in the journal goes into segments, as it would after a while."""
    store = opened(directory, read_only=False)
    try:
        store.file()
    finally:
        store.close()


def segments(directory: Path) -> list[Path]:
    """The longest ones first."""
    found = (directory / "buckets" / "buckets").rglob("*.segment")
    return sorted(found, key=lambda path: path.stat().st_size, reverse=True)


async def filed(company: Company) -> None:
    """Everybody has everything in segments."""
    for name in company.addresses:
        company.kill(name)
    for name in company.addresses:
        file(company.directory / name)
    await company.start(*company.addresses)
    await company.settled()


async def read_through(company: Company, name: str, bucket: int, at_least: int = 0) -> None:
    """All that anybody has, at this one; or so much of it."""
    ends: list[int] = []
    offset = 0

    async def loaded() -> bool:
        copies = [copy for each in company.running for copy in await company.ask(each, ask="buckets")]
        ends[:] = [copy.get("end", 0) for copy in copies if copy["bucket"] == bucket]
        return any(ends)

    async def read() -> bool:
        nonlocal offset
        async with await Visitor.dial(company.addresses[name]) as visitor:
            page = await visitor.read(bucket, offset)
        if isinstance(page, wire.Elsewhere):
            return False  # it is being loaded
        assert isinstance(page, wire.Page), page
        offset = page.end
        return offset >= (at_least or max(ends))

    await company.until(loaded, "nobody has anything")
    await company.until(read, "not all of it can be read")


async def repaired(company: Company, name: str, count: int = 1) -> None:
    async def is_repaired() -> bool:
        status = await company.ask(name, ask="status")
        return bool(status["repaired"] >= count and not status["damaged"])

    await company.until(is_repaired, "it is not repaired")
