"""What this participant's own copy of a bucket has, as checksums of ranges: for who compares the members' copies.

Every copy of a batch is the same bytes, so copies are alike where their headers are, each of which has the checksum of
its body; and every body is read and tried here. Damage is said where it is met, and left to whoever mends.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Struct
from xxhash import xxh64_intdigest

from hansard.participant.participant import Participant
from hansard.storage.errors import Corrupt, StorageError, Trimmed
from hansard.storage.store import Store

from .journal import Errand

BLOCK: Final = 1024
"""Offsets that have one checksum; a batch belongs to where it begins."""
BYTES_MAX: Final = 16 << 20
"""Of one answer: then it is asked again from where that ends."""
PAGE_BYTES: Final = 4 << 20

Told = Callable[[bytes], None]
Refused = Callable[[str], None]


class Digest(Struct, frozen=True, tag_field="ask", tag="digest"):
    bucket: int
    first: int = 0
    """Whoever goes on does so where the last answer ended."""
    end: int = -1
    """Nothing from this offset on; -1: up to what is committed."""


class Digests:
    """`run` has an errand done by the thread that reads."""

    def __init__(self, run: Callable[[Errand], None]) -> None:
        self._run = run

    def ask(self, asked: Digest, core: Participant, told: Told, refused: Refused) -> None:
        copy = core.copies.running.get(asked.bucket)
        if copy is None or copy.phaser is None:
            refused(f"there is no copy of bucket {asked.bucket} here, or it is being loaded")
            return
        committed = copy.phaser.ledger.committed
        stop = committed if asked.end < 0 else min(asked.end, committed)

        def done(found: dict[str, Any] | None) -> None:
            if found is None:
                refused(f"the copy of bucket {asked.bucket} here is gone")
            else:
                told(msgspec.json.encode(found))

        self._run(Errand(lambda store: digest(store, asked.bucket, asked.first, stop), done))


def digest(store: Store, bucket: int, first: int, stop: int) -> dict[str, Any] | None:
    """Of all batches that are whole before an offset; None where there is nothing to look at."""
    try:
        start = store.bounds(bucket)[0]
    except StorageError:
        return None
    first = offset = max(first, start)
    blocks: dict[int, list[int]] = {}
    damage: list[dict[str, Any]] = []
    byte_count = 0
    while offset < stop and byte_count < BYTES_MAX:
        try:
            batches = store.batches(bucket, offset, PAGE_BYTES)
        except Trimmed as error:
            first = offset = error.start
            blocks.clear()
            continue
        except Corrupt as error:
            damage.append({"first": error.first, "end": error.end, "path": error.path, "reason": error.reason})
            if error.end is None or error.end <= offset:
                offset = stop  # what comes after it is not known
            else:
                offset = error.end
            continue
        except StorageError:
            return None
        for batch in batches:
            if batch.header.end_offset > stop:
                break
            block = blocks.setdefault(batch.header.base_offset // BLOCK, [0, 0])
            block[0] = xxh64_intdigest(batch.head, block[0])  # a CRC of what ends with its own is always the same
            block[1] += len(batch)
            byte_count += batch.header.length
        before, offset = offset, max(offset, min(stop, batches[-1].header.end_offset)) if batches else stop
        if offset == before:
            break
    return {
        "bucket": bucket,
        "start": start,
        "first": first,
        "end": offset,
        "blocks": [[number * BLOCK, hash_, count] for number, (hash_, count) in sorted(blocks.items())],
        "damage": damage,
    }
