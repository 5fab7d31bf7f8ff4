"""What readers and filing share: the disk, the lock over what is in memory, and the indexes in use."""

from collections import OrderedDict
from threading import Lock

from .disk import Disk
from .index import SegmentIndex
from .manifest import Segment
from .segment import load_index

INDEX_BYTES_MAX = 32 << 20
"""Indexes kept in memory; those used least recently go first."""


class Shelf:
    def __init__(self, disk: Disk, block_bytes: int, *, read_only: bool) -> None:
        self.disk = disk
        self.lock = Lock()
        """Over every bucket's lists and the journal's files. Never held during IO."""
        self.block_bytes = block_bytes
        self.read_only = read_only
        self._indexes: OrderedDict[tuple[int, int, int, int], SegmentIndex] = OrderedDict()
        self._index_bytes = 0
        self._index_lock = Lock()

    def index(self, bucket: int, segment: Segment) -> SegmentIndex:
        """The segment's index, from memory, from its file, or made anew."""
        key = (bucket, segment.id, segment.length, segment.digest)
        with self._index_lock:
            found = self._indexes.get(key)
            if found is not None:
                self._indexes.move_to_end(key)
                return found
        made = load_index(self.disk, bucket, segment, self.block_bytes, read_only=self.read_only)
        with self._index_lock:
            if key not in self._indexes:
                self._indexes[key] = made
                self._index_bytes += made.byte_count
            while self._index_bytes > INDEX_BYTES_MAX and len(self._indexes) > 1:
                self._index_bytes -= self._indexes.popitem(last=False)[1].byte_count
        return made

    def forget(self) -> None:
        """What was made of segments that were damaged, or is not wanted any more, is made anew."""
        with self._index_lock:
            self._indexes.clear()
            self._index_bytes = 0
