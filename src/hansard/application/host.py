"""An application at a place in the log of one bucket.

The *level* is the number of buckets as the log has it at that place: when it rises, the bucket was split, and the host
has the application purge. A half of a split goes on from the image of the whole, under its own number.
"""

import re
from collections.abc import Sequence
from typing import Final

from hansard.batch import Batch, Flag, bucket_mask, bucket_of, key_hash, select

from .application import Application
from .errors import BadName, NewerImage
from .image import Image

_NAME: Final = re.compile(r"[a-z0-9-]{1,28}")


class Host:
    """Invariant: the application has seen exactly what is before `offset` and belongs to the bucket at `level`, and
    what was before a split is purged."""

    __slots__ = ("_founded", "application", "bucket", "level", "name", "offset")

    def __init__(self, application: Application, bucket: int = 0, founded: int = 1) -> None:
        """`founded` is the level at which the log begins: only in one that was imported is something of others' before
        the first entry that says what it is."""
        name = getattr(application, "name", None)
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise BadName(name)
        self.application = application
        self.name = name
        self.bucket = bucket
        self.offset = 0
        self._founded = self.level = founded

    def apply(self, batch: Batch) -> dict[int, bytes]:
        """The next batch of the log. The results that it has, by the offsets of their changes."""
        assert batch.header.base_offset == self.offset, f"{batch} is to follow {self.offset}"
        self.offset = batch.header.end_offset
        if batch.header.flags & Flag.INTERNAL or not batch.header.change_count:
            return {}
        own = select(batch, bucket_mask(batch, bucket_of(self.bucket, self.level), self.level))
        if not len(own):
            return {}
        results = self.application.apply_batch(own)
        return _by_offset(own, results)

    def rise(self, level: int) -> None:
        """From here on the log is that of a bucket among so many."""
        if level > self.level:
            self.level = level
            self.application.purge(self.belongs)

    def belongs(self, key: bytes) -> bool:
        return bucket_of(key_hash(key), self.level) == bucket_of(self.bucket, self.level)

    def image(self) -> Image:
        application = self.application
        return Image(self.name, application.version, self.offset, self.level, tuple(application.image()))

    def restore(self, image: Image) -> None:
        assert image.name == self.name
        if image.version > self.application.version:
            raise NewerImage(self.name, image.version, self.application.version)
        self.application.join(image.version, image.entries)
        self.offset, self.level = image.offset, image.level

    def clear(self) -> None:
        """As before the log began."""
        self.application.join(self.application.version, ())
        self.offset, self.level = 0, self._founded


def _by_offset(batch: Batch, results: Sequence[bytes | None]) -> dict[int, bytes]:
    assert len(results) == len(batch), f"{len(results)} results for {len(batch)} changes"
    if not any(result is not None for result in results):
        return {}
    pairs = zip(batch.offsets.tolist(), results, strict=True)
    return {offset: result for offset, result in pairs if result is not None}
