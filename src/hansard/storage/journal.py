"""The journal: what was appended last, for all buckets, in one place, so that one fdatasync serves them all.

Files are `journal/NN.journal`, each a slot that is used again and again. A file begins with a header:

    0   4  magic "HNSJ"
    4   4  format version
    8   8  number of the file; rises by one with each file, however often its slot is reused
    16  4  where the file with the number before it ended; 0 in the first
    20  4  CRC32C of the above

then records (see record.py), then anything: zeros, or what its slot held before. Invariants:

- a file is written only while it has the highest number, and is synced to its end before the next one begins;
- the header of a file is on disk before anything relies on it: it is synced when the file begins;
- files with a number below the manifest's are filed, and their slots are free.

Crash cases: a file whose header is torn was never begun. A torn record at the end of the last file was never
acknowledged, and is overwritten. Written space is reused because fdatasync is cheaper there than on new space.
"""

import struct
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final, NamedTuple

from crc32c import crc32c

from .disk import Buffer, Disk, File
from .errors import Corrupt, DiskFull, FormatMismatch, SyncFailed
from .record import RECORD_BYTES, Kind, Record, first_record_number, pack

FOLDER: Final = "journal"
MAGIC: Final = b"HNSJ"
VERSION: Final = 1
HEADER_BYTES: Final = 24
STEP_BYTES: Final = 1 << 20
"""A new slot grows by this much at a time, so that a small log stays small."""
FREE_SLOTS_MAX: Final = 4
_PACKED = struct.Struct("<4sIQII")


class JournalFile:
    """One slot in one use. When the slot is reused another object stands for it, and this one is `retired`: what a
    reader got from it counts only if it is not retired afterwards."""

    def __init__(self, path: str, file: File, number: int, end: int, last_crc: int = 0) -> None:
        self.path = path
        self.file = file
        self.number = number
        self.end = end
        self.synced = end
        """On disk for sure; a mark may lie between here and the end, and what is placed and not settled."""
        self.last_crc = last_crc
        self.allocated = file.size()
        """Written already, if only with zeros: a sync of what is put there need not write down a new length."""
        self.record_count = 0
        self.retired = False


class Placed(NamedTuple):
    """Records that are on disk once their file is synced."""

    file: JournalFile
    end: int
    records: list[Record]

    def settle(self) -> None:
        """It is synced. A later sync may have been heard of before."""
        self.file.synced = max(self.file.synced, self.end)


class Journal:
    """Appends and syncs. One thread at a time; readers of its files need nothing from it."""

    def __init__(self, disk: Disk, file_bytes: int) -> None:
        self._disk = disk
        self._file_bytes = file_bytes
        self._step_bytes = min(STEP_BYTES, file_bytes)
        self.files: list[JournalFile] = []
        """Those not yet filed, oldest first; the last one is written to."""
        self.unfiled_records = 0
        """In these files; marks do not count."""
        self._free: list[tuple[str, File]] = []

    @property
    def current(self) -> JournalFile:
        return self.files[-1]

    @property
    def unfiled_bytes(self) -> int:
        total = 0
        for file in self.files:
            total += file.end
        return total

    def write(self, records: Sequence[Record]) -> list[Record]:
        """All of them on disk, in the places that they are returned with; or DiskFull, and none is there."""
        total = sum([RECORD_BYTES + record.length for record in records])
        if self.current.end > HEADER_BYTES and self.current.end + total > self._file_bytes:
            self.begin_file()
        target = self.current
        if target.end + total > target.allocated:
            wanted = -(-(target.end + total) // self._step_bytes) * self._step_bytes
            target.file.allocate(wanted)
            target.allocated = wanted
        placed = self.place(records)
        target.file.sync()
        placed.settle()
        return placed.records

    def has_place(self, end: int) -> bool:
        """Whether records that would end there can be placed without anything that takes long."""
        target = self.files[-1]
        return end <= target.allocated and (end <= self._file_bytes or target.end == HEADER_BYTES)

    def place(self, records: Sequence[Record]) -> Placed:
        """Written where there is a place for them, and not synced; or DiskFull, and none is there. What else is placed
        before they are settled says no more of them than that they were written."""
        target = self.files[-1]
        placed: list[Record] = []
        chunks: list[Buffer] = []
        position, crc = target.end, target.last_crc
        for record in records:
            if record.position != position:
                record = record.at(position)
            head, crc = pack(record, target.number, target.synced, crc)
            placed.append(record)
            chunks += (head, record.content) if record.batch is None else (head, record.batch.head, record.batch.body)
            position += RECORD_BYTES + record.length
        try:
            target.file.write(target.end, chunks)
        except DiskFull:
            self._unwrite(target, placed)
            raise
        target.end, target.last_crc = position, crc
        target.record_count += len(placed)
        self.unfiled_records += len(placed)
        return Placed(target, position, placed)

    def _unwrite(self, target: JournalFile, placed: Sequence[Record]) -> None:
        """A part of the records may be there; make sure that no recovery ever finds one of them, nor chains a later
        one to the same first record when that is written again. If that fails too, nobody knows what is there."""
        size = target.file.size()
        try:
            for record in placed:
                if record.position < size:
                    target.file.write(record.position, [bytes(min(RECORD_BYTES, size - record.position))])
        except DiskFull as error:
            raise SyncFailed(target.path) from error
        target.file.sync()

    def vouch(self) -> None:
        """Says, without a sync of its own, that all before it is on disk: otherwise damage to the last record could
        not be told from a torn write. Losing it to a crash loses only that knowledge, and the next record says it too,
        so a mark is worth its while when nothing else is about to be written."""
        target = self.current
        vouched = target.end != target.synced or target.end == HEADER_BYTES
        if vouched or target.end + RECORD_BYTES > target.allocated:
            return
        mark = Record(Kind.MARK, 0, 0, 0, target.end, 0, 0)
        head, crc = pack(mark, target.number, target.synced, target.last_crc)
        try:
            target.file.write(target.end, [head])
        except DiskFull:  # the records are on disk and count, with or without a mark
            return
        target.end, target.last_crc = target.end + RECORD_BYTES, crc

    def begin_file(self) -> None:
        """The next file, on disk with its header, in a free slot if there is one."""
        number, previous_end = (self.current.number + 1, self.current.end) if self.files else (1, 0)
        if self.files:
            self._finish(self.current)
        path, file = self._free.pop() if self._free else self._new_slot()
        try:
            file.allocate(self._step_bytes)
            file.write(0, [pack_header(number, previous_end)])
        except DiskFull:
            self._free.append((path, file))
            raise
        file.sync()
        self.files.append(JournalFile(path, file, number, HEADER_BYTES))

    def _finish(self, last: JournalFile) -> None:
        """The next header says that all of this file is on disk. What nobody has heard to be synced is written once
        more: a sync of it that has failed meanwhile would make this one believe that it had nothing to do."""
        start = last.synced
        if last.end > start:
            last.file.write(start, [last.file.read(start, last.end - start)])
        last.file.sync()

    def _new_slot(self) -> tuple[str, File]:
        taken = set(self._disk.list(FOLDER))
        slot = next(slot for slot in range(len(taken) + 1) if f"{slot:02d}.journal" not in taken)
        path = f"{FOLDER}/{slot:02d}.journal"
        file = self._disk.open(path, create=True)
        self._disk.sync_folder(FOLDER)
        return path, file

    def release(self, number: int) -> None:
        """Everything below this file is filed: their slots are free. No IO: readers wait for the lock this is under."""
        while self.files[0].number < number:
            filed = self.files.pop(0)
            filed.retired = True
            self.unfiled_records -= filed.record_count
            self.add_free(filed.path, filed.file)

    def add_free(self, path: str, file: File) -> None:
        """A slot that holds nothing of the journal, for the next file."""
        self._free.append((path, file))

    def remove_surplus(self) -> None:
        """Give back the space of more free slots than will be used soon."""
        while len(self._free) > FREE_SLOTS_MAX:
            path, file = self._free.pop(0)
            file.close()
            self._disk.remove(path)

    def close(self) -> None:
        for file in [*(live.file for live in self.files), *(file for _, file in self._free)]:
            file.close()


def pack_header(number: int, previous_end: int) -> bytes:
    bare = _PACKED.pack(MAGIC, VERSION, number, previous_end, 0)[:-4]
    return bare + crc32c(bare).to_bytes(4, "little")


def read_header(path: str, data: bytes) -> tuple[int, int] | None:
    """The file's number and the end of the file before it; None for a slot that holds no file."""
    if len(data) < HEADER_BYTES:
        return None
    magic, version, number, previous_end, crc = _PACKED.unpack_from(data)
    if magic != MAGIC or crc32c(data[: HEADER_BYTES - 4]) != crc:
        return None
    if version != VERSION:
        raise FormatMismatch(path, version, VERSION)
    return number, previous_end


def live_files(
    disk: Disk, first: int, *, read_only: bool
) -> tuple[list[tuple[JournalFile, int]], list[tuple[str, File]]]:
    """The files from number `first` on, oldest first, each with the end that it gives to the one before; and the
    free slots. A number that is missing in between is damage: it was on disk, or its successor would not be."""
    live: list[tuple[JournalFile, int]] = []
    free: list[tuple[str, File]] = []
    with ExitStack() as undo:
        _sort_files(disk, first, live, free, undo, read_only=read_only)
        undo.pop_all()
    return live, free


def _sort_files(
    disk: Disk,
    first: int,
    live: list[tuple[JournalFile, int]],
    free: list[tuple[str, File]],
    undo: ExitStack,
    *,
    read_only: bool,
) -> None:
    for name in disk.list(FOLDER):
        if not name.endswith(".journal"):
            continue
        path = f"{FOLDER}/{name}"
        file = disk.open(path, read_only=read_only)
        undo.callback(file.close)
        header = read_header(path, file.read(0, HEADER_BYTES))
        if header is None and (lost := first_record_number(file.read(HEADER_BYTES, RECORD_BYTES))) >= first:
            raise Corrupt(path, 0, HEADER_BYTES, f"the header of file number {lost} is damaged")
        if header is None or header[0] < first:
            free.append((path, file))
        else:
            live.append((JournalFile(path, file, header[0], HEADER_BYTES), header[1]))
    live.sort(key=lambda item: item[0].number)
    numbers = [file.number for file, _ in live]
    if not numbers or numbers != list(range(first, first + len(numbers))):
        missing = next(number for number in range(first, first + len(numbers) + 1) if number not in numbers)
        raise Corrupt(FOLDER, 0, None, f"file number {missing} is missing or its header is damaged")
