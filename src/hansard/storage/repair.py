"""Putting good bytes where damaged ones are. Every member stores the same bytes, so a copy from elsewhere fits exactly.

The copy is written over the damaged place and synced. A crash in between leaves it damaged, as it was.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from hansard.batch import Batch

from . import index
from .bucket import BucketLog
from .disk import Disk
from .errors import Corrupt
from .manifest import segment_path
from .segment import Damage, walk
from .stock import Stock

INDEX_ENDING: Final = ".index"


class DoesNotFit(ValueError):
    """The copy is not of what is damaged: it covers other offsets or takes other space."""


def overwrite(disk: Disk, log: BucketLog, damage: Corrupt, copy: Sequence[Batch]) -> None:
    """The damaged place as it was before the damage; `copy` is the batches of the lost offsets, from another member."""
    if damage.length is None or damage.first is None or damage.end is None or not copy:
        raise DoesNotFit("what is damaged is not known exactly; the whole bucket has to be fetched anew")
    if copy[0].header.base_offset < damage.first or copy[-1].header.end_offset > damage.end:
        raise DoesNotFit(
            f"the copy covers offsets {copy[0].header.base_offset} to {copy[-1].header.end_offset - 1}, "
            f"the damage {damage.first} to {damage.end - 1}"
        )
    if sum(batch.length for batch in copy) != damage.length:
        raise DoesNotFit(f"the copy has {sum(batch.length for batch in copy)} bytes for {damage.length} damaged ones")
    if not _is_part_of(log, damage):
        raise DoesNotFit(f"{damage.path} no longer holds these offsets of the bucket: they were cut, dropped or filed")
    missing = not disk.exists(damage.path)
    file = disk.open(damage.path, create=missing)
    try:
        file.write(damage.position, [chunk for batch in copy for chunk in (batch.head, batch.body)])
        file.sync()
    finally:
        file.close()
    if missing:
        disk.sync_folder(damage.path.rpartition("/")[0])
    _check_digest(disk, log, damage)


def _is_part_of(log: BucketLog, damage: Corrupt) -> bool:
    """Journal files are used again, and segments go: what was damaged may not be there any more."""
    place = (damage.path, damage.position, damage.length)
    return any(segment_path(log.bucket, segment.id) == damage.path for segment in log.filed.segments) or any(
        (entry.file.path, entry.position, entry.length) == place for entry in log.tail
    )


def _check_digest(disk: Disk, log: BucketLog, damage: Corrupt) -> None:
    """A segment's digest tells whether all of it is what was filed; other damage in it may be left for later."""
    for segment in log.filed.segments:
        if segment_path(log.bucket, segment.id) == damage.path:
            digest = 0
            for _, item in walk(disk, log.bucket, segment):
                if isinstance(item, Damage):
                    return
                digest = index.extend_digest(digest, item.header)
            if digest != segment.digest:
                reason = "the copy is whole, but is not what was stored here"
                raise Corrupt(damage.path, damage.position, damage.length, reason, bucket=log.bucket)


def is_index(damage: Corrupt) -> bool:
    return damage.path.endswith(INDEX_ENDING)


def discard_index(store: Stock, damage: Corrupt) -> None:
    """An index is made anew from its segment when somebody wants it."""
    with suppress(FileNotFoundError):
        store.shelf.disk.remove(damage.path)
    store.shelf.forget()
