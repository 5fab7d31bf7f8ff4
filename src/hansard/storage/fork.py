"""Forking: a bucket becomes what another one is, its source, and costs the same however long that one's history is.

Segments are shared: the new bucket's folder gets names of its own (links) for the source's files, and what is shared is
sealed in both, so that neither ever changes it. What is in the journal is in the tails of both, and each files it for
itself. Documents are links too.

One journal record makes it true. It says what the bucket has in segments, so that nothing that happens to the source
later matters to it: not a cut, not a trim, not a drop. Only the tail comes from the source, as it is where somebody who
reads the journal meets the record.

Crash cases. The links are on disk before the record: without it they are leftovers, and with it they are there. But
documents count without being listed, so they are linked under names that do not count, are given the right ones after
the record, and by whoever finds them when the store is opened. Such a name says where the journal ended when it was
made, and so does the record, lest documents of a fork that never was be taken for those of an earlier one.
"""

from collections.abc import Callable
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from .bucket import BucketLog
from .disk import Disk
from .filing import all_sealed
from .manifest import BucketEntry, bucket_path, index_path, segment_path
from .record import Kind, Moment, Record

Links = list[tuple[str, str]]
"""Files that are there, each with its further name."""


class Origin(msgspec.Struct, frozen=True, array_like=True):
    """What the record of a fork holds."""

    source: int
    drafted: Moment
    """Where the journal ended when the bucket's documents were linked."""
    filed: BucketEntry | None
    """What the bucket has in segments, and its note; None where the source has documents only."""
    in_doubt: bool
    """Damage hid how the source ends."""


def record_of(log: BucketLog | None, write: tuple[int, int], drafted: Moment) -> tuple[Record, Origin]:
    """The record that makes a bucket, the first of the two, what the other one is, whose log this is."""
    bucket, source = write
    filed, end, mark, in_doubt = None, 0, 0, False
    if log is not None:
        filed = replace(all_sealed(log.filed), bucket=bucket, note=log.note, forked=None)
        end, mark, in_doubt = log.end, log.note_mark, log.doubt is not None
    origin = Origin(source, drafted, filed, in_doubt)
    content = msgspec.msgpack.encode(origin)
    return Record(Kind.FORK, bucket, 0, end, 0, len(content), 0, content=content, note_mark=mark), origin


def origin_of(record: Record) -> Origin:
    return msgspec.msgpack.decode(record.content, type=Origin)


def segment_links(filed: BucketEntry, bucket: int, is_named: Callable[[int, int], bool]) -> Links:
    """The files of the segments and of their indexes, but for those that the bucket has names for already: so it was a
    fork of the same before, and was dropped since, and whoever reads the journal again may need them."""
    return [
        (path(filed.bucket, segment.id), path(bucket, segment.id))
        for segment in filed.segments
        if not is_named(bucket, segment.id)
        for path in (segment_path, index_path)
    ]


def link(disk: Disk, bucket: int, links: Links) -> None:
    """On disk when this returns. A file that is missing is an index, or damage of the source's: so it is missing in the
    fork too."""
    if not links:
        return
    disk.make_folder(bucket_path(bucket))
    unlink(disk, links)  # what a crash or an unfinished filing has left under such a name
    for source, target in links:
        with suppress(FileNotFoundError):
            disk.link(source, target)
    disk.sync_folder(bucket_path(bucket))


def unlink(disk: Disk, links: Links) -> None:
    for _, target in links:
        with suppress(FileNotFoundError):
            disk.remove(target)
