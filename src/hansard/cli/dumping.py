"""`hansard log dump`: the log as it lies on disk, batch by batch."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import typer

from hansard.batch import Batch, Flag
from hansard.embedded.opening import store_on
from hansard.storage.bucket import BucketLog
from hansard.storage.disk import RealDisk
from hansard.storage.errors import Corrupt
from hansard.storage.extent import TailExtent
from hansard.storage.manifest import segment_path
from hansard.storage.segment import Damage, walk
from hansard.storage.store import Store

from .output import change_lines, cut, json_change, json_line, shown, terminal_width, time_text, write_lines

TAGS_SHOWN_MAX = 8


class Found(NamedTuple):
    """A batch, or what is wrong where one should be."""

    file: str
    position: int
    bucket: int
    batch: Batch | None
    problem: str = ""
    length: int | None = None


def dump(directory: str, *, changes: bool, as_json: bool) -> None:
    store = store_on(RealDisk(Path(directory)), path=directory, create=False, read_only=True)
    damaged, width = False, terminal_width()
    try:
        for found in batches(store):
            damaged = damaged or found.batch is None
            if as_json:
                write_lines([json_line(_json(found, changes=changes))])
            else:
                write_lines(_lines(found, width, changes=changes))
    finally:
        store.close()
    if damaged:
        raise typer.Exit(1)


def batches(store: Store) -> Iterator[Found]:
    """Bucket by bucket: the segments in order, then what is still in the journal."""
    for bucket in store.buckets():
        log = store.log(bucket)
        yield from _in_segments(store, log)
        yield from _in_journal(store, log)


def _in_segments(store: Store, log: BucketLog) -> Iterator[Found]:
    for segment in log.filed.segments:
        path = segment_path(log.bucket, segment.id)
        try:
            for position, item in walk(store.shelf.disk, log.bucket, segment):
                if isinstance(item, Damage):
                    yield Found(path, position, log.bucket, None, item.reason, item.length)
                else:
                    yield Found(path, position, log.bucket, item)
        except Corrupt as error:
            yield Found(path, error.position, log.bucket, None, error.reason, error.length)


def _in_journal(store: Store, log: BucketLog) -> Iterator[Found]:
    for entry in log.tail:
        extent = TailExtent(log.bucket, entry.file, (entry,), entry.base, entry.end)
        for item in extent.fetch(store.shelf.disk):
            if isinstance(item, Corrupt):
                yield Found(entry.file.path, entry.position, log.bucket, None, item.reason, item.length)
            else:
                yield Found(entry.file.path, entry.position, log.bucket, item)


def _json(found: Found, *, changes: bool) -> dict[str, Any]:
    where = {"file": found.file, "position": found.position, "bucket": found.bucket}
    if found.batch is None:
        return {**where, "length": found.length, "damage": found.problem}
    header = found.batch.header
    row = {
        **where,
        "length": header.length,
        "epoch": header.epoch,
        "first": header.base_offset,
        "end": header.end_offset,
        "count": header.change_count,
        "first_time": time_text(header.first_timestamp),
        "last_time": time_text(header.last_timestamp),
        "compressed": bool(header.flags & Flag.COMPRESSED),
        "raw_length": header.raw_length,
        "internal": bool(header.flags & Flag.INTERNAL),
        "tags": [name.decode() for name in found.batch.tag_names],
    }
    if changes:
        row["changes"] = [json_change(change) for change in found.batch.changes()]
    return row


def _lines(found: Found, width: int | None, *, changes: bool) -> Iterator[str]:
    where = f"{found.file}  {found.position:>10}"
    if found.batch is None:
        yield cut(f"{where}  DAMAGED: {found.problem}", width)
        return
    header = found.batch.header
    kept = "zstd" if header.flags & Flag.COMPRESSED else "plain"
    names = found.batch.tag_names
    tags = ",".join(shown(name) for name in names[:TAGS_SHOWN_MAX]) or "-"
    more = f" and {len(names) - TAGS_SHOWN_MAX} more" if len(names) > TAGS_SHOWN_MAX else ""
    internal = "  internal" if header.flags & Flag.INTERNAL else ""
    offsets = f"{header.base_offset}..{header.end_offset - 1}"
    yield cut(
        f"{where}  bucket {found.bucket}  epoch {header.epoch}  offsets {offsets:<15}  {header.change_count:>6} changes"
        f"  {time_text(header.last_timestamp)}  {header.length:>8} bytes  {kept}{internal}  tags {tags}{more}",
        width,
    )
    if changes:
        yield from change_lines(list(found.batch.changes()), width, indent="    ")
