"""What an archive has, as a series of manifests: numbered, never changed, each created by one writer and whole.

    ROOT/manifests/0000000001.json, 0000000002.json, ...
    ROOT/data/run=0000000002-9f31c2/day=2026-11-17/part-....zstd.parquet

A manifest says from which bookmark to which it goes, which files it adds and which it replaces. It begins where the one
before it ends, so there is no gap and no overlap; one that only merges files ends where it begins. Nothing counts that
no manifest names.

A run writes its files into a folder with the number that its manifest is to have, and a word of its own. Of all who
try for one number one creates the manifest. What lies in a folder whose number is taken by somebody else's manifest can
never count any more, whoever is still writing there: so it may be removed at any time.

Some manifests say all that there is, so that nobody has to read the series from its beginning.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec
from crc32c import crc32c
from msgspec import Struct

from hansard.bookmark import Bookmark

from .folder import Folder

FORMAT: Final = 1
WHOLE_EVERY: Final = 32
REMEMBERED_US: Final = 30 * 86_400 * 1_000_000
"""What was replaced longer ago than this is like what has never counted."""
MANIFESTS: Final = "manifests"
DATA: Final = "data"
_NAME: Final = re.compile(r"(\d{10})\.json")
_RUN: Final = re.compile(rf"{DATA}/run=(\d{{10}})-[0-9a-f]+/")


class ArchiveError(Exception):
    """Something about an archive that its user has to look at."""


class Checksum(Struct, frozen=True, array_like=True):
    """Of rows, whatever their order: their fingerprints, xored and (the upper halves) added up."""

    rows: int = 0
    xored: int = 0
    added: int = 0

    def __add__(self, other: "Checksum") -> "Checksum":
        return Checksum(self.rows + other.rows, self.xored ^ other.xored, self.added + other.added)


class File(Struct, frozen=True, kw_only=True):
    path: str
    """Below the archive's root."""
    byte_count: int
    day: str
    first_us: int
    last_us: int
    """Times of its first and last change."""
    buckets: dict[int, tuple[int, int, int]]
    """As they were labelled when they were read: first offset, the one after the last, rows."""
    checksum: Checksum


class Manifest(Struct, frozen=True, kw_only=True):
    number: int
    log: str
    since: str
    until: str
    """Bookmarks."""
    written_us: int
    adds: list[File]
    drops: list[str] = []
    """Files that are replaced by those that it adds."""
    whole: list[File] | None = None
    """All files that count, its own too."""
    replaced: dict[str, int] = {}
    """With `whole`: those that do not count any more and may still be there, and since when."""


class _Sealed(Struct, frozen=True):
    format: int = msgspec.field(name="hansard archive")
    crc: str
    manifest: msgspec.Raw


def encode(manifest: Manifest) -> bytes:
    body = msgspec.json.encode(manifest)
    sealed = _Sealed(FORMAT, f"{crc32c(body):08x}", msgspec.Raw(body))
    return msgspec.json.encode(sealed) + b"\n"


def decode(content: bytes, where: str) -> Manifest:
    try:
        sealed = msgspec.json.decode(content, type=_Sealed)
        if sealed.format != FORMAT:
            raise ArchiveError(
                f"{where} is of format {sealed.format}, and this program knows {FORMAT}: use a newer one"
            )
        body = bytes(sealed.manifest)
        if f"{crc32c(body):08x}" != sealed.crc:
            raise ArchiveError(f"{where} is damaged: its checksum is not that of its content")
        return msgspec.json.decode(body, type=Manifest)
    except msgspec.MsgspecError as error:
        raise ArchiveError(f"{where} is no manifest, or is damaged: {error}") from error


def name_of(number: int) -> str:
    return f"{MANIFESTS}/{number:010}.json"


def run_name(number: int, word: str) -> str:
    return f"{DATA}/run={number:010}-{word}"


@dataclass(frozen=True, slots=True)
class Catalog:
    """An archive at one manifest."""

    number: int = 0
    """0: there is nothing yet."""
    log: str = ""
    until: Bookmark | None = None
    files: Mapping[str, File] = field(default_factory=dict)
    """Those that count, by their paths."""
    replaced: Mapping[str, int] = field(default_factory=dict)
    """Those that do not count any more, and since when."""

    @property
    def rows(self) -> int:
        return sum(file.checksum.rows for file in self.files.values())

    @property
    def byte_count(self) -> int:
        return sum(file.byte_count for file in self.files.values())

    def followed(self, manifest: Manifest) -> "Catalog":
        """With the next one. Whatever does not fit was not written by this program, or is not all there."""
        where = f"manifest {manifest.number}"
        if self.until is not None and manifest.since != str(self.until):
            raise ArchiveError(f"{where} does not begin where manifest {self.number} ends")
        if self.log and manifest.log != self.log:
            raise ArchiveError(f"{where} is of log {manifest.log}, and those before it of {self.log}")
        unknown = [path for path in manifest.drops if path not in self.files]
        if unknown:
            raise ArchiveError(f"{where} replaces {unknown[0]}, which no manifest before it has added")
        files = {path: file for path, file in self.files.items() if path not in set(manifest.drops)}
        files |= {file.path: file for file in manifest.adds}
        replaced = {**self.replaced, **dict.fromkeys(manifest.drops, manifest.written_us)}
        return Catalog(manifest.number, manifest.log, Bookmark.parse(manifest.until), files, replaced)


def begun(manifest: Manifest) -> Catalog:
    """With one that says everything."""
    assert manifest.whole is not None
    files = {file.path: file for file in manifest.whole}
    return Catalog(manifest.number, manifest.log, Bookmark.parse(manifest.until), files, manifest.replaced)


def numbers(folder: Folder) -> list[int]:
    found = [_NAME.fullmatch(name) for name in folder.names(MANIFESTS)]
    return sorted(int(match[1]) for match in found if match)


def load(folder: Folder, *, all_of_them: bool = False) -> Catalog:
    """As the last manifest has it; an empty one where there is none."""
    catalog = Catalog()
    for manifest in series(folder, all_of_them=all_of_them):
        is_first = not catalog.number and manifest.whole is not None
        catalog = begun(manifest) if is_first and not all_of_them else catalog.followed(manifest)
    return catalog


def series(folder: Folder, *, all_of_them: bool = False) -> list[Manifest]:
    """The manifests from the last that says everything on, or all."""
    there = numbers(folder)
    found: list[Manifest] = []
    for number in reversed(there):
        manifest = decode(folder.read(name_of(number)), folder.path(name_of(number)))
        if manifest.number != number:
            raise ArchiveError(f"{folder.path(name_of(number))} says that it is manifest {manifest.number}")
        if found and found[-1].number != number + 1:
            raise ArchiveError(f"{folder.path(name_of(number + 1))} is not there, and later ones are")
        found.append(manifest)
        if manifest.whole is not None and not all_of_them:
            break
    if found and found[-1].number != 1 and found[-1].whole is None:
        raise ArchiveError(f"{folder.path(name_of(found[-1].number - 1))} is not there, and later ones are")
    return found[::-1]


def commit(
    folder: Folder,
    before: Catalog,
    until: Bookmark,
    written_us: int,
    adds: Iterable[File],
    drops: Iterable[str] = (),
    *,
    since: Bookmark | None = None,
) -> Catalog | None:
    """The archive with this; None if somebody else was first, and nothing of it counts. `since`: where the first one
    begins."""
    start = before.until if before.until is not None else since
    assert start is not None, "the first manifest says where it begins"
    manifest = Manifest(
        number=before.number + 1,
        log=until.log_id,
        since=str(start),
        until=str(until),
        written_us=written_us,
        adds=sorted(adds, key=lambda file: file.path),
        drops=sorted(drops),
    )
    after = before.followed(manifest)
    if manifest.number % WHOLE_EVERY == 0:
        files = [file for _, file in sorted(after.files.items())]
        replaced = {path: at_us for path, at_us in after.replaced.items() if at_us > written_us - REMEMBERED_US}
        manifest = msgspec.structs.replace(manifest, whole=files, replaced=replaced)
    return after if folder.create(name_of(manifest.number), encode(manifest)) else None


def orphans(paths: Iterable[str], catalog: Catalog, replaced_before_us: int) -> list[str]:
    """Of these files those that can never count (again), and that nobody reads any more who began when they did."""
    found = []
    for path in paths:
        run = _RUN.match(path)
        if run is None or int(run[1]) > catalog.number or path in catalog.files:
            continue
        if catalog.replaced.get(path, -1) < replaced_before_us:
            found.append(path)
    return found
