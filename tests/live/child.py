"""A process that appends as fast as it can and tells what is acknowledged, for others to kill or to watch.

    python -m tests.live.child DIRECTORY SEED [SUBMISSIONS]

Each of its threads submits one thing after the other, without end unless it is told how many; a submission is one
change or a batch. Its name, `SEED/THREAD/NUMBER`, says what is in it, so that whoever reads the log later knows what
must be there. When the log has acknowledged it, and not before, one line goes to standard output in one write.
"""

import os
import sys
import threading
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from random import Random
from typing import NamedTuple

from crc32c import crc32c

from hansard.batch import Change
from hansard.embedded import Log, NewChange, open_on
from hansard.storage.disk import RealDisk
from hansard.storage.settings import StoreSettings

THREADS = 3
BATCH_SHARE = 0.2
LARGE_SHARE = 0.02
TAGS = ("red", "green", "blue")
SETTINGS = StoreSettings(
    journal_file_bytes=8 << 10,
    unfiled_bytes_max=64 << 10,
    unfiled_records_max=80,
    segment_bytes=128 << 10,
    block_bytes=2 << 10,
)
"""So small that within some hundred appends every kind of file is begun, filed and used again."""


class Receipt(NamedTuple):
    """A line of the child's: the submission is on disk, from this offset on."""

    offset: int
    change_count: int
    name: str
    crc: int

    def __str__(self) -> str:
        return f"{self.offset} {self.change_count} {self.name} {self.crc}\n"

    @classmethod
    def parse(cls, line: str) -> "Receipt":
        offset, change_count, name, crc = line.split()
        return cls(int(offset), int(change_count), name, int(crc))


def submission(name: str) -> list[NewChange]:
    """The changes that a name stands for, the same in every process. A key is the name and the change's place."""
    random = Random(name)
    draw = random.random()
    if draw < LARGE_SHARE:  # more than a journal file holds
        change_count, value_bytes_max = random.randint(100, 300), 1_000
    else:
        change_count, value_bytes_max = random.randint(2, 40) if draw < BATCH_SHARE else 1, 200
    return [
        NewChange(f"{name}/{place}".encode(), _value(random, value_bytes_max), tuple(random.sample(TAGS, place % 3)))
        for place in range(change_count)
    ]


def _value(random: Random, bytes_max: int) -> bytes | None:
    size = random.randint(-bytes_max // 20, bytes_max)
    return random.randbytes(size) if size >= 0 else None


def checksum(changes: Sequence[NewChange | Change]) -> int:
    return crc32c(repr([(change.key, change.value) for change in changes]).encode())


def opened(directory: Path, *, read_only: bool = False) -> Log:
    return open_on(RealDisk(directory), path=str(directory), read_only=read_only, settings=SETTINGS)


def run(directory: Path, seed: str, submissions: int | None = None) -> None:
    threading.excepthook = _end_of_process
    with opened(directory) as log:
        threads = [
            threading.Thread(target=_submit, args=(log, f"{seed}/{thread}", submissions)) for thread in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _submit(log: Log, prefix: str, submissions: int | None) -> None:
    for number in count() if submissions is None else range(submissions):
        name = f"{prefix}/{number}"
        changes = submission(name)
        if len(changes) == 1:
            offset = log.append(*changes[0]).offset
        else:
            receipts = log.append_many(changes)
            offset = receipts[0].offset
            assert [receipt.offset for receipt in receipts] == list(range(offset, offset + len(changes)))
        receipt = Receipt(offset, len(changes), name, checksum(changes))
        os.write(1, str(receipt).encode())


def _end_of_process(failure: threading.ExceptHookArgs) -> None:
    """A thread that fails ends them all: the others would hide it."""
    sys.excepthook(failure.exc_type, failure.exc_value or failure.exc_type(), failure.exc_traceback)
    os._exit(1)


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else None)
