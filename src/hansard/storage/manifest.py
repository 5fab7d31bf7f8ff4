"""The manifest: which segments make up each bucket, and from which journal file on nothing is in them yet.

One file, `manifest`, replaced as a whole. What it names is on disk before it is; what it does not name does not count:
bytes of a segment past its length, and files that no bucket lists, are leftovers of a crash or of retention.

    0  4  magic "HNSM"
    4  4  format version
    8  4  CRC32C of the rest
    12    MessagePack
"""

import struct
from typing import Final

import msgspec
from crc32c import crc32c

from . import document
from .disk import Disk
from .errors import Corrupt, FormatMismatch
from .record import Moment

PATH: Final = "manifest"
MAGIC: Final = b"HNSM"
VERSION: Final = 1
_HEAD = struct.Struct("<4sII")


class Segment(msgspec.Struct, frozen=True, array_like=True):
    """A file of batches, one after the other, all on disk."""

    id: int
    base: int
    """The first offset that it covers."""
    end: int
    """The first offset after it."""
    length: int
    first_timestamp: int
    last_timestamp: int
    change_count: int
    epoch: int
    """Of its last batch."""
    digest: int
    """CRC32C over its batches' header checksums, in order: it stands for the whole content."""
    sealed: bool
    """Not appended to any more."""


class Hold(msgspec.Struct, frozen=True, array_like=True):
    """A reader that retention waits for: nothing from `offset` on is dropped before `expires_at`."""

    name: str
    bucket: int
    offset: int
    expires_at: int
    """Microseconds since 1970."""


class BucketEntry(msgspec.Struct, frozen=True, array_like=True):
    bucket: int
    start: int = 0
    """Retention has dropped what was before; from here on all that ever was there is."""
    end: int = 0
    """Where the filed part ends; also when retention has dropped all of it."""
    epoch: int = 0
    timestamp: int = 0
    segments: tuple[Segment, ...] = ()
    note: bytes = b""
    forked: Moment | None = None
    """Where in the journal the fork lies that made the bucket, if that is not filed: until the journal comes to it, the
    bucket is not there. None for a bucket that is filed."""


class Manifest(msgspec.Struct, frozen=True, array_like=True):
    journal: int
    """The number of the first journal file that is not filed."""
    next_segment: int
    buckets: tuple[BucketEntry, ...] = ()
    holds: tuple[Hold, ...] = ()


def bucket_path(bucket: int) -> str:
    return f"buckets/{bucket:05d}"


def segment_path(bucket: int, segment_id: int) -> str:
    return f"{bucket_path(bucket)}/{segment_id:010d}.segment"


def index_path(bucket: int, segment_id: int) -> str:
    return f"{bucket_path(bucket)}/{segment_id:010d}.index"


def save(disk: Disk, manifest: Manifest) -> None:
    """On disk when this returns."""
    body = msgspec.msgpack.encode(manifest)
    document.replace(disk, PATH, _HEAD.pack(MAGIC, VERSION, crc32c(body)) + body)


def load(disk: Disk) -> Manifest | None:
    data = document.read(disk, PATH)
    if data is None:
        return None
    if len(data) < _HEAD.size:
        raise Corrupt(PATH, 0, len(data), "it is cut short")
    magic, version, crc = _HEAD.unpack_from(data)
    if magic != MAGIC:
        raise Corrupt(PATH, 0, 4, "it does not begin as a manifest does")
    if version != VERSION:
        raise FormatMismatch(PATH, version, VERSION)
    body = data[_HEAD.size :]
    if crc32c(body) != crc:
        raise Corrupt(PATH, _HEAD.size, len(body), "its checksum does not match")
    return msgspec.msgpack.decode(body, type=Manifest)
