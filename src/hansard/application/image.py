"""The state of an application as it is stored and sent: by key, so that a split can divide it."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct


class Image(Struct, frozen=True, array_like=True):
    name: str
    version: int
    """Of the application that it is of."""
    offset: int
    """All before it in the log is applied, and nothing else."""
    level: int
    """How many buckets there were by then: it has what belongs to the bucket at this level."""
    entries: tuple[tuple[bytes | None, bytes], ...]

    @property
    def byte_count(self) -> int:
        """About what storing it costs."""
        return sum([len(key or b"") + len(content) + 8 for key, content in self.entries])


def encode(image: Image) -> bytes:
    return msgspec.msgpack.encode(image)


def decode(content: bytes) -> Image:
    """Raises msgspec.MsgspecError where it is none."""
    return msgspec.msgpack.decode(content, type=Image)


def named(images: Iterable[Image], name: str) -> Image | None:
    return next((image for image in images if image.name == name), None)
