"""A whole log in one file: what `hansard dump` writes and `hansard load` reads.

    a line of JSON      {"hansard dump": 1, "log": ..., "buckets": ..., "settings": ...}
    batches             each behind 16 bytes: its bucket, its length, where the batch before it in that bucket ends
    NO_BUCKET, and a line of JSON   {"ends": [...], "connections": ..., "changes": ..., "batches": ...}

Numbers are little-endian. Batches are the very bytes that clusters keep, with their own checksums; a file without its
last line was not written to its end.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, NamedTuple, Self

import msgspec

from hansard.batch import Batch, BatchError, reopen

FORMAT: Final = 1
RECORD: Final = struct.Struct("<IIQ")
NO_BUCKET: Final = 0xFFFF_FFFF
HEADER_BYTES_MAX: Final = 1 << 20


class BadChest(OSError):
    """A file that is no dump, or not a whole one."""


class Entry(NamedTuple):
    bucket: int
    follows: int
    batch: Batch


class ChestWriter:
    """Written beside its place, and put there when it is whole."""

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self._path = path
        self._partial = path.with_name(f"{path.name}.partial")
        self._file: BinaryIO = self._partial.open("wb")
        self._file.write(msgspec.json.encode({"hansard dump": FORMAT, **header}) + b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._partial.unlink(missing_ok=True)

    def put(self, entry: Entry) -> None:
        batch = entry.batch
        self._file.write(RECORD.pack(entry.bucket, batch.length, entry.follows))
        self._file.write(batch.head)
        self._file.write(batch.body)

    def finish(self, footer: dict[str, Any]) -> None:
        self._file.write(RECORD.pack(NO_BUCKET, 0, 0) + msgspec.json.encode(footer) + b"\n")
        self._file.close()
        self._partial.replace(self._path)


class ChestReader:
    """`footer` is known once all entries were read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO = path.open("rb")
        self.size = path.stat().st_size
        self.footer: dict[str, Any] = {}
        try:
            self.header: dict[str, Any] = msgspec.json.decode(self._file.readline(HEADER_BYTES_MAX))
            version = self.header["hansard dump"]
        except (msgspec.DecodeError, KeyError, TypeError):
            self._file.close()
            raise BadChest(f"{path} is no dump of a cluster") from None
        if version != FORMAT:
            self._file.close()
            raise BadChest(f"{path} is a dump of format {version}, and this is hansard for format {FORMAT}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def position(self) -> int:
        return self._file.tell()

    def entries(self) -> Iterator[Entry]:
        while True:
            bucket, length, follows = RECORD.unpack(self._exactly(RECORD.size))
            if bucket == NO_BUCKET:
                self.footer = msgspec.json.decode(self._file.readline())
                return
            try:
                batch = reopen(memoryview(self._exactly(length)), 0)
            except BatchError as error:
                raise BadChest(f"{self._path} is damaged before byte {self.position}: {error}") from error
            yield Entry(bucket, follows, batch)

    def _exactly(self, length: int) -> bytes:
        data = self._file.read(length)
        if len(data) < length:
            raise BadChest(f"{self._path} ends in the middle: it was not written to its end")
        return data
