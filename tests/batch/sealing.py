"""Batches damaged on purpose and sealed again: with good checksums, so that the checks behind those are reached."""

from crc32c import crc32c
from zstandard import ZstdCompressor

from hansard.batch import HEADER_BYTES, Flag, trust
from hansard.batch.header import Header, unpack
from hansard.batch.layout import layout


def resealed(raw: bytes, **fields: object) -> bytes:
    """The same body under a header with these fields changed."""
    return unpack(raw)._replace(**fields).packed() + raw[HEADER_BYTES:]  # type: ignore[arg-type]


def with_body(raw: bytes, body: bytes, **fields: object) -> bytes:
    """Another body, with a header that says so."""
    lengths = {"body_length": len(body), "raw_length": len(body), "body_crc": crc32c(body)}
    return resealed(raw[:HEADER_BYTES] + body, **(lengths | fields))


def with_bytes(raw: bytes, position: int, patch: bytes, **fields: object) -> bytes:
    """Some bytes of the body replaced."""
    body = raw[HEADER_BYTES:]
    return with_body(raw, body[:position] + patch + body[position + len(patch) :], **fields)


def with_number(raw: bytes, column: str, index: int, number: int, **fields: object) -> bytes:
    """One entry of a vector replaced."""
    width = 8 if column in ("hashes", "timestamps", "connections", "series") else 4
    position = getattr(layout(trust(raw).header), column) + width * index
    return with_bytes(raw, position, number.to_bytes(width, "little", signed=True), **fields)


def with_frame(raw: bytes, frame: bytes, raw_length: int | None = None) -> bytes:
    """A body said to be compressed, made of this frame and the padding that it needs."""
    header: Header = unpack(raw)
    body = bytes(-len(frame) % 8) + frame
    length = header.raw_length if raw_length is None else raw_length
    return with_body(raw, body, raw_length=length, flags=header.flags | Flag.COMPRESSED)


def zstd(raw: bytes, *, says_its_size: bool = True) -> bytes:
    return ZstdCompressor(write_content_size=says_its_size).compress(raw)
