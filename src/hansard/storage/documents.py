"""The documents of the buckets: named byte strings, each in a file of its own beside the bucket's segments.

A file is `buckets/BBBBB/NAME.document`, replaced as a whole:

    0   4  magic "HNSD"
    4   4  format version
    8   8  number of the journal file that was written to when it was kept...
    16  4  ...and how far that was on disk
    20  4  CRC32C of the content
    24  8  length of the content
    32  4  CRC32C of the above
    36     content

No journal record and no manifest names a document. But dropping a bucket is a journal record, and if a crash comes
before its documents are removed, whoever replays that record has to remove those of then, and not those that were kept
since: so each says at what moment of the journal it was kept. A fork is a journal record too. Before it, the documents
that the new bucket gets are drafts, `NAME.document.fork-NUMBER-POSITION` after such a moment; then they are renamed.
"""

import struct
from collections.abc import Collection, Mapping
from typing import Final

from crc32c import crc32c

from . import document
from .disk import Disk
from .errors import Corrupt, DiskFull, SyncFailed
from .manifest import bucket_path
from .record import Moment

ENDING: Final = ".document"
MAGIC: Final = b"HNSD"
VERSION: Final = 1
_PACKED = struct.Struct("<4sIQIIQI")
HEADER_BYTES: Final = _PACKED.size


def document_path(bucket: int, name: str) -> str:
    return f"{bucket_path(bucket)}/{name}{ENDING}"


def _draft_ending(drafted: Moment) -> str:
    return f"{ENDING}.fork-{drafted.number}-{drafted.position}"


class Documents:
    """Which documents there are. Invariant: those that are listed are on disk, and no others count."""

    def __init__(
        self, disk: Disk, dropped: Mapping[int, Moment], forked: Mapping[int, Moment], *, read_only: bool
    ) -> None:
        """Those that the buckets' folders hold, without what was kept before its bucket was dropped, and with what was
        drafted for a fork that was made since."""
        self._disk = disk
        self._names: dict[int, frozenset[str]] = {}
        self._drafts: dict[tuple[int, str], str] = {}
        """The files of documents that only a reader has found, who may not rename them."""
        for folder in disk.list("buckets"):
            endings = (name.removesuffix(ENDING) for name in disk.list(f"buckets/{folder}") if name.endswith(ENDING))
            if (names := frozenset(endings)) and folder.isdigit():
                self._names[int(folder)] = names
        for bucket, moment in sorted(dropped.items()):
            gone = [name for name in self.names(bucket) if self._is_before(bucket, name, moment)]
            self._remove(bucket, gone, read_only=read_only)
        for bucket, drafted in sorted(forked.items()):
            self.adopt(bucket, drafted, read_only=read_only)

    def buckets(self) -> set[int]:
        return set(self._names)

    def names(self, bucket: int) -> list[str]:
        return sorted(self._names.get(bucket, ()))

    def keep(self, bucket: int, name: str, content: bytes, moment: Moment) -> None:
        """On disk when this returns; `moment` is not after what the journal gets next."""
        head = _PACKED.pack(MAGIC, VERSION, *moment, crc32c(content), len(content), 0)[:-4]
        self._disk.make_folder(bucket_path(bucket))
        path = document_path(bucket, name)
        try:
            document.replace(self._disk, path, head + crc32c(head).to_bytes(4, "little"), content)
        except DiskFull:
            if self._disk.exists(f"{path}.new"):
                self._disk.remove(f"{path}.new")
            raise
        self._names[bucket] = self._names.get(bucket, frozenset()) | {name}

    def discard(self, bucket: int, name: str) -> None:
        if name in self._names.get(bucket, ()):
            self._remove(bucket, [name])

    def drop(self, bucket: int) -> None:
        """All of a bucket's."""
        self._remove(bucket, self.names(bucket))

    def links(self, source: int, bucket: int, drafted: Moment) -> list[tuple[str, str]]:
        """The files of a bucket's documents, with the names that they get in a fork of it."""
        ending = _draft_ending(drafted)
        return [(document_path(source, name), f"{bucket_path(bucket)}/{name}{ending}") for name in self.names(source)]

    def adopt(self, bucket: int, drafted: Moment, *, read_only: bool = False) -> None:
        """What was linked for a fork counts, now that the fork is in the journal."""
        ending = _draft_ending(drafted)
        found = [name for name in self._disk.list(bucket_path(bucket)) if name.endswith(ending)]
        names = [name.removesuffix(ending) for name in found]
        for name in names:
            draft = f"{bucket_path(bucket)}/{name}{ending}"
            if read_only:
                self._drafts[bucket, name] = draft
                continue
            try:
                self._disk.rename(draft, document_path(bucket, name))
            except DiskFull as error:  # the fork is made, so this cannot be refused; the next process goes on with it
                raise SyncFailed(draft) from error
        if names:
            if not read_only:
                self._disk.sync_folder(bucket_path(bucket))
            self._names[bucket] = self._names.get(bucket, frozenset()) | frozenset(names)

    def give_up(self, paths: Collection[str]) -> None:
        """Those of these files that are damaged."""
        for bucket in sorted(self._names):
            for name in self.names(bucket):
                if document_path(bucket, name) in paths and self.damage(bucket, name) is not None:
                    self.discard(bucket, name)

    def damage(self, bucket: int, name: str) -> Corrupt | None:
        try:
            self.read(bucket, name)
        except Corrupt as error:
            return error
        return None

    def _remove(self, bucket: int, names: list[str], *, read_only: bool = False) -> None:
        """First from the list, so that no reader looks for a file that is gone."""
        if not names:
            return
        self._names[bucket] -= frozenset(names)
        if not self._names[bucket]:
            del self._names[bucket]
        if not read_only:
            for path in (document_path(bucket, name) for name in names):
                if self._disk.exists(path):
                    self._disk.remove(path)
            self._disk.sync_folder(bucket_path(bucket))

    def read(self, bucket: int, name: str) -> bytes | None:
        """The content; None if there is none of that name."""
        listed = self._names.get(bucket, frozenset())
        path = self._drafts.get((bucket, name)) or document_path(bucket, name)
        if name not in listed:
            return None
        try:
            file = self._disk.open(path, read_only=True)
        except FileNotFoundError:
            if self._names.get(bucket) is not listed:  # discarded meanwhile
                return self.read(bucket, name)
            raise Corrupt(path, 0, None, "the file is missing", bucket=bucket) from None
        try:
            head = file.read(0, HEADER_BYTES)
            content = file.read(HEADER_BYTES, max(0, file.size() - HEADER_BYTES))
        finally:
            file.close()
        crc, length = _check_header(bucket, path, head)
        if len(content) != length:
            problem = f"it holds {len(content)} bytes, and {length} were written"
            raise Corrupt(path, HEADER_BYTES, None, problem, bucket=bucket)
        if crc32c(content) != crc:
            raise Corrupt(path, HEADER_BYTES, length, "its checksum does not match", bucket=bucket)
        return content

    def _is_before(self, bucket: int, name: str, moment: Moment) -> bool:
        """One whose header is damaged stays, to be found damaged by whoever reads it."""
        file = self._disk.open(document_path(bucket, name), read_only=True)
        try:
            head = file.read(0, HEADER_BYTES)
        finally:
            file.close()
        try:
            _check_header(bucket, "", head)
        except Corrupt:
            return False
        _, _, number, position, *_ = _PACKED.unpack(head)
        return Moment(number, position) <= moment


def _check_header(bucket: int, path: str, head: bytes) -> tuple[int, int]:
    """The checksum and the length of the content."""
    if len(head) < HEADER_BYTES:
        raise Corrupt(path, 0, len(head), "it is cut short", bucket=bucket)
    magic, version, _, _, crc, length, head_crc = _PACKED.unpack(head)
    if (magic, version) != (MAGIC, VERSION) or crc32c(head[:-4]) != head_crc:
        raise Corrupt(path, 0, HEADER_BYTES, "its header is damaged", bucket=bucket)
    return crc, length
