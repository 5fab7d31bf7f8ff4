"""Compressed bodies: zeros, as many as make the whole a multiple of 8, then one zstd frame up to the end.

The zeros stand in front because a frame can be told from zeros by its first byte, while where it ends nobody knows
before it is unpacked. So the reader knows the whole frame beforehand and unpacks it in one step, into memory of the
size that the header promises: a small body cannot fill the memory, and nothing can hide behind the frame.
"""

from typing import Final

import zstandard

from .errors import BadCompression
from .header import Buffer
from .layout import padding

LEVEL: Final = 3
"""zstd's own default: the levels above cost more processor time than the bytes they save are worth in a log."""


def compress(raw: Buffer, level: int) -> bytes:
    frame = zstandard.ZstdCompressor(level=level).compress(raw)
    return bytes(padding(len(frame))) + frame


def decompress(body: Buffer, raw_length: int) -> bytes:
    """The raw body, which the frame itself must say is of this length."""
    head = bytes(body[:8])
    frame = memoryview(body)[len(head) - len(head.lstrip(b"\0")) :]
    if len(body) - len(frame) > 7:
        raise BadCompression("the body begins with more zeros than the padding may have")
    try:
        promised = zstandard.get_frame_parameters(frame).content_size
        if promised != raw_length:
            raise BadCompression(f"the frame holds {promised} bytes, not {raw_length}")
        raw = zstandard.ZstdDecompressor().decompress(frame, raw_length, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise BadCompression(f"the body is no zstd frame: {error}") from error
    if len(raw) != raw_length:
        raise BadCompression(f"the frame gave {len(raw)} bytes, not {raw_length}")
    return raw
