"""What must be on disk before what, checked in the trace of a process: nothing here trusts the code that it checks.

Kills prove nothing about it, because what a process has written outlives the process: only a sync that has returned
makes it outlive the machine. A sync counts for what had been written before the sync began, if it succeeded, and from
the moment when it returned. Where records and headers lie is in docs/reference/storage-format.md.
"""

import struct
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import msgpack

from tests.live.child import Receipt
from tests.live.trace import NEVER, Call

RECORD_BYTES: Final = 64
BATCH: Final = 1
_KIND: Final = struct.Struct("<4s8xI")
_SPAN: Final = struct.Struct("<qq4xI")
"""The bucket's end before and after, the bucket, the length of the batch; from byte 24 of a record on."""
_HEADER: Final = struct.Struct("<4s4xQ")
_INTEGER_BYTES: Final = {0xCC: 2, 0xCD: 3, 0xCE: 5}


class Step(NamedTuple):
    """Something that others rely on: done at one moment, and on disk at a later one."""

    what: str
    done: int
    safe: int


class StoredRecord(NamedTuple):
    """A record of the journal that adds the offsets from `first` up to `end`."""

    first: int
    end: int
    written: int


class Syncs:
    """Those that succeeded."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._of = defaultdict[str, list[Call]](list)
        for call in calls:
            if call.name in ("fsync", "fdatasync") and call.result == 0:
                self._of[call.path].append(call)

    def after(self, path: str, moment: int) -> int:
        """When a sync of the path, begun after a moment, had returned."""
        return min((sync.ended for sync in self._of[path] if sync.began > moment), default=NEVER)

    def written(self, call: Call) -> Step:
        """Bytes in a file."""
        return Step(f"bytes of {Path(call.path).name}", call.ended, self.after(call.path, call.ended))

    def named(self, call: Call) -> Step:
        """A name in a folder: made, or given to another file."""
        folder = str(Path(call.path).parent)
        return Step(f"the name {Path(call.path).name}", call.ended, self.after(folder, call.ended))


def complaints(calls: Sequence[Call], directory: Path) -> list[str]:
    """Whatever was done before what it relies on was on disk."""
    return [*early_receipts(calls, directory), *early_renames(calls, directory), *early_reuses(calls, directory)]


def receipts(calls: Sequence[Call]) -> Iterator[tuple[Call, Receipt]]:
    for call in calls:
        if call.name == "write" and call.descriptor == 1:
            yield call, Receipt.parse(call.data.decode())


def early_receipts(calls: Sequence[Call], directory: Path) -> Iterator[str]:
    """A receipt relies on the records that hold its offsets and on every byte of the journal before them, for without
    these recovery would not get to the records; and on the names of the files and folders that lead to them."""
    syncs = Syncs(calls)
    writes = [call for call in calls if _is_write(call) and call.path.endswith(".journal")]
    steps = [syncs.written(call) for call in writes] + [syncs.named(call) for call in _makings(calls, directory)]
    records = [record for call in writes for record in _records(call)]
    for call, receipt in receipts(calls):
        offsets = range(receipt.offset, receipt.offset + receipt.change_count)
        holding = [record for record in records if record.first < offsets.stop and offsets.start < record.end]
        held = {offset for record in holding for offset in range(record.first, record.end)}
        if not held.issuperset(offsets):
            yield f"line {call.began}: a receipt for {receipt.name}, which no record holds"
            continue
        stored = max(record.written for record in holding)
        for step in steps:
            if step.done <= stored and step.safe >= call.began:
                yield f"line {call.began}: a receipt for {receipt.name}, but {step.what} (line {step.done}) may be lost"


def _is_write(call: Call) -> bool:
    return call.name in ("pwritev", "pwritev2", "pwrite64") and call.result > 0


def _makings(calls: Sequence[Call], directory: Path) -> list[Call]:
    """The first appearance of each name without which the journal is not found."""
    journal = directory / "journal"
    needed = {str(path) for path in (journal, directory, *directory.parents)}
    needed |= {str(directory / name) for name in ("manifest", "identity.json")}
    first: dict[str, Call] = {}
    for call in calls:
        made = call.name.startswith(("mkdir", "rename")) or "O_CREAT" in call.arguments
        if made and call.result >= 0 and (call.path in needed or Path(call.path).parent == journal):
            first.setdefault(call.path, call)
    return list(first.values())


def _records(call: Call) -> Iterator[StoredRecord]:
    """Those of one write to the journal."""
    data, position = call.data, 0
    assert len(data) == call.result, f"a write that was cut short is not understood here: {call}"
    while data[position : position + 4] == b"HNSR":
        _, kind = _KIND.unpack_from(data, position)
        before, after, length = _SPAN.unpack_from(data, position + 24)
        if kind == BATCH:
            yield StoredRecord(before, after, call.ended)
        position += RECORD_BYTES + length
    assert position in (0, len(data)), f"neither records nor anything else: {call}"


def early_renames(calls: Sequence[Call], directory: Path) -> Iterator[str]:
    """A file that takes another's place relies on its own bytes. A manifest relies on the segments that it names, too,
    and on the beginning of the journal file from which on it needs the journal."""
    syncs = Syncs(calls)
    segments = list(_segment_steps(calls, directory))
    headers = [(number, syncs.written(call)) for call, number in _headers(calls)]
    for rename in _renames(calls):
        steps = [syncs.written(call) for call in _writes_before(calls, rename)]
        if rename.path == str(directory / "manifest"):
            first = _first_unfiled(_writes_before(calls, rename)[-1].data)
            steps += segments + [step for number, step in headers if number == first]
        for step in steps:
            if step.done < rename.began <= step.safe:
                what = f"{Path(rename.path).name} is replaced"
                yield f"line {rename.began}: {what}, but {step.what} (line {step.done}) may be lost"


def _segment_steps(calls: Sequence[Call], directory: Path) -> Iterator[Step]:
    syncs = Syncs(calls)
    for call in calls:
        if call.result < 0 or not Path(call.path).is_relative_to(directory / "buckets"):
            continue
        is_segment = call.path.endswith(".segment")
        if is_segment and _is_write(call):
            yield syncs.written(call)
        elif call.name.startswith("mkdir") or (is_segment and "O_CREAT" in call.arguments):
            yield syncs.named(call)


def _renames(calls: Sequence[Call]) -> list[Call]:
    return [call for call in calls if call.name.startswith("rename") and call.result == 0]


def _writes_before(calls: Sequence[Call], rename: Call) -> list[Call]:
    """What was written into the file that a rename puts in place; it was the last one of that name."""
    return [call for call in calls if _is_write(call) and call.path == rename.source and call.ended < rename.began]


def early_reuses(calls: Sequence[Call], directory: Path) -> Iterator[str]:
    """A journal file that is written over relies on a manifest, on disk, that no longer needs it."""
    syncs = Syncs(calls)
    manifests = [
        (_first_unfiled(_writes_before(calls, rename)[-1].data), syncs.named(rename).safe)
        for rename in _renames(calls)
        if rename.path == str(directory / "manifest")
    ]
    held: dict[str, int] = {}
    for call, number in _headers(calls):
        before = held.get(call.path)
        if before == number:
            continue  # a recovery writes the header of the file that it goes on with once more
        if before is not None and not any(first > before and safe < call.began for first, safe in manifests):
            yield f"line {call.began}: {Path(call.path).name} is written over, but file {before} may be needed"
        held[call.path] = number


def reuse_count(calls: Sequence[Call]) -> int:
    """How often a journal file was written over."""
    files = {(call.path, number) for call, number in _headers(calls)}
    return len(files) - len({path for path, _ in files})


def _headers(calls: Sequence[Call]) -> Iterator[tuple[Call, int]]:
    """Beginnings of journal files, with their numbers."""
    for call in calls:
        if _is_write(call) and call.path.endswith(".journal") and call.position == 0 and call.data[:4] == b"HNSJ":
            yield call, _HEADER.unpack_from(call.data)[1]


def _first_unfiled(manifest: bytes) -> int:
    """The first number in the array that follows twelve bytes of header."""
    assert manifest[:4] == b"HNSM"
    return msgpack.decode(manifest[13:][: _INTEGER_BYTES.get(manifest[13], 1)], type=int)
