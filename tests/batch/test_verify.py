"""Bytes that are no batch are refused, each for its own reason, even when their checksums are right."""

from collections.abc import Iterator

import pytest

from hansard.batch import HEADER_BYTES, Batch, Flag, Malformed, build, merge, select, verify
from hansard.batch import errors as e
from hansard.batch.limits import BATCH_BYTES_MAX, CHANGES_MAX, INT64_MAX, SPAN_MAX, TIMESTAMP_MAX
from tests.batch.sealing import resealed, with_body, with_bytes, with_frame, with_number, zstd

PLAIN = build(["a", "bb", "ccc"], ["1", "22", "333"], [["x", "y"], [], ["x"]], connection=7, first_series=5)
NULLS = build(["a", None, "ccc"], ["1", "22", None], [["x"], ["y"], []])
TIMED = build(["a", "b"], ["1", "2"], timestamps=[10, 20])
GAPS = build(["a", "b", "c"], ["1", "2", "3"], connection=7, series=[5, 6, 9])
SEVERAL = merge([build(["a"], ["1"], connection=1), build(["b", "c"], ["2", "3"], connection=2), build(["d"], ["4"])])
PART = select(PLAIN.stamped(epoch=1, base_offset=100, timestamp=3), PLAIN.offsets != 1)
NOTHING = select(PLAIN, PLAIN.offsets < 0)

RAW = PLAIN.to_bytes()
BODY = RAW[HEADER_BYTES:]
NAMES = PLAIN.layout.blobs


@pytest.mark.parametrize("batch", [PLAIN, NULLS, TIMED, GAPS, SEVERAL, PART, NOTHING], ids=repr)
def test_what_was_built_passes(batch: Batch) -> None:
    assert verify(batch.to_bytes()) == batch


def flags(batch: Batch, *added: int) -> int:
    return batch.header.flags | sum(added)


def damaged_headers() -> Iterator[tuple[type[Malformed], str, bytes]]:
    yield e.TooShort, "0 bytes", b""
    yield e.TooShort, "95 bytes", RAW[:95]
    yield e.TooShort, "where the batch needs", RAW[:-1]
    yield e.TooLong, "follows", RAW + b"\0"
    yield e.WrongMagic, "HNSX", b"HNSX" + RAW[4:]
    yield e.UnknownVersion, "format 2", resealed(RAW, version=2)
    yield e.UnknownFlags, "0x0100", resealed(RAW, flags=256)
    yield e.BadChecksum, "header", RAW[:8] + b"\xff" + RAW[9:]
    yield e.BadChecksum, "body", RAW[:-1] + b"\1"
    yield e.OverLimit, "changes", resealed(RAW, change_count=CHANGES_MAX + 1)
    yield e.OverLimit, "body_length", resealed(RAW, body_length=BATCH_BYTES_MAX - 88)
    yield e.OverLimit, "raw_length", resealed(RAW, raw_length=BATCH_BYTES_MAX - 88)
    yield e.OverLimit, "span", resealed(PART.to_bytes(), span=SPAN_MAX + 1)
    yield e.BadHeader, "body_length", with_body(RAW, BODY + b"\0")
    yield e.BadHeader, "raw_length", resealed(RAW, raw_length=len(BODY) + 1)
    yield e.BadHeader, "raw_length", resealed(RAW, raw_length=len(BODY) + 8)
    yield e.BadHeader, "tag_names", resealed(RAW, tag_names=4)
    yield e.BadHeader, "span", resealed(RAW, span=2)
    yield e.BadHeader, "span", resealed(RAW, span=4)
    yield e.BadHeader, "span", resealed(NOTHING.to_bytes(), span=0)
    yield e.BadHeader, "epoch", resealed(RAW, epoch=-1)
    yield e.BadHeader, "base_offset", resealed(RAW, base_offset=-1)
    yield e.BadHeader, "base_offset", resealed(RAW, base_offset=INT64_MAX - 2)
    yield e.BadHeader, "timestamps", resealed(RAW, first_timestamp=-1)
    yield e.BadHeader, "timestamps", resealed(TIMED.to_bytes(), first_timestamp=21)
    yield e.BadHeader, "timestamps", resealed(TIMED.to_bytes(), last_timestamp=TIMESTAMP_MAX + 1)
    yield e.BadHeader, "last_timestamp", resealed(RAW, last_timestamp=1)
    yield e.BadHeader, "last_timestamp", resealed(NOTHING.to_bytes(), last_timestamp=1, flags=flags(NOTHING, 8))
    yield e.BadHeader, "connection", resealed(RAW, connection=-1)
    yield e.BadHeader, "connection", resealed(SEVERAL.to_bytes(), connection=1)
    yield e.BadHeader, "first_series", resealed(RAW, first_series=-1)
    yield e.BadHeader, "first_series", resealed(RAW, first_series=INT64_MAX - 2)
    yield e.BadHeader, "first_series", resealed(SEVERAL.to_bytes(), first_series=1)
    yield e.BadHeader, "first_series", resealed(NULLS.to_bytes(), previous_series=0)
    yield e.BadHeader, "previous_series", resealed(RAW, previous_series=5)
    yield e.BadHeader, "previous_series", resealed(RAW, previous_series=-2)
    yield e.BadHeader, "series", resealed(GAPS.to_bytes(), connection=0, first_series=0)
    yield e.BadHeader, "series", resealed(SEVERAL.to_bytes(), flags=Flag.CONNECTIONS)


def damaged_vectors() -> Iterator[tuple[type[Malformed], str, bytes]]:
    yield e.TooShort, "where the batch needs", with_body(RAW, b"")
    yield e.TooShort, "where the batch needs", resealed(RAW, tag_codes=2**32 - 1, tag_names=2**32 - 1)
    yield e.BadVector, "ends: lead outside", with_number(RAW, "value_ends", 3, 1 << 30)
    yield e.BadVector, "ends: lead outside", with_number(RAW, "key_ends", 3, -1)
    yield e.BadVector, "ends: lead outside", with_number(RAW, "name_ends", 2, -(1 << 31))
    yield e.BadVector, "padding", with_number(RAW, "value_ends", 3, 5)
    yield e.BadVector, "padding", with_body(RAW, BODY + bytes(8))
    yield e.BadVector, "padding", with_bytes(RAW, len(BODY) - 1, b"\1")
    yield e.BadVector, "key_ends: does not rise", with_number(RAW, "key_ends", 0, 1)
    yield e.BadVector, "key_ends: does not rise", with_number(RAW, "key_ends", 1, 4)
    yield e.BadVector, "key_ends: does not rise", with_number(RAW, "key_ends", 1, -(1 << 31))
    yield e.BadVector, "value_ends: does not rise", with_number(RAW, "value_ends", 2, 7)
    yield e.BadVector, "tag_ends: does not rise", with_number(RAW, "tag_ends", 1, 4)
    yield e.BadVector, "tag_ends: does not end", with_number(RAW, "tag_ends", 3, 2)
    yield e.BadVector, "name_ends: does not rise", with_number(RAW, "name_ends", 1, 3)
    yield e.BadVector, "tag_codes", with_number(RAW, "tag_codes", 0, 2)
    yield e.BadVector, "tag_codes", with_number(RAW, "tag_codes", 0, -1)
    yield e.BadVector, "key_bits: what is missing", with_bytes(NULLS.to_bytes(), NULLS.layout.key_bits, b"\4")
    yield e.BadVector, "key_bits: has bits past", with_bytes(NULLS.to_bytes(), NULLS.layout.key_bits, b"\x0d")
    yield e.BadVector, "value_bits: what is missing", with_bytes(NULLS.to_bytes(), NULLS.layout.value_bits, b"\2")
    yield e.BadVector, "value_bits: has bits past", with_bytes(NULLS.to_bytes(), NULLS.layout.value_bits, b"\x83")
    yield e.BadVector, "offsets", with_number(PART.to_bytes(), "offsets", 0, -1)
    yield e.BadVector, "offsets", with_number(PART.to_bytes(), "offsets", 0, 2)
    yield e.BadVector, "offsets", with_number(PART.to_bytes(), "offsets", 1, 3)
    yield e.BadVector, "timestamps: do not begin", with_number(TIMED.to_bytes(), "timestamps", 0, 9)
    yield e.BadVector, "timestamps: do not begin", with_number(TIMED.to_bytes(), "timestamps", 1, 21)
    yield e.BadVector, "timestamps: goes back", with_number(TIMED.to_bytes(), "timestamps", 1, 9)
    yield e.BadVector, "timestamps: is out of range", with_number(TIMED.to_bytes(), "timestamps", 0, -1)
    yield e.BadVector, "timestamps: is out of range", with_number(TIMED.to_bytes(), "timestamps", 1, INT64_MAX)
    yield e.BadVector, "series: does not rise", with_number(GAPS.to_bytes(), "series", 1, 5)
    yield e.BadVector, "series: begins with", with_number(GAPS.to_bytes(), "series", 0, 4)
    yield e.BadVector, "series: is negative", with_number(GAPS.to_bytes(), "series", 2, -1)
    yield e.BadVector, "series: does not rise", with_number(SEVERAL.to_bytes(), "series", 2, 0)
    yield e.BadVector, "series: is given for", with_number(SEVERAL.to_bytes(), "series", 3, 1)
    yield e.BadVector, "connections", with_number(SEVERAL.to_bytes(), "connections", 0, -1)
    yield e.WrongKeyHash, "change 1", with_number(RAW, "hashes", 1, 0)
    yield e.WrongKeyHash, "change 1", with_number(NULLS.to_bytes(), "hashes", 1, 43)


def damaged_tags() -> Iterator[tuple[type[Malformed], str, bytes]]:
    long_tags = build(["k"], ["v"], [["t" * 256, "u"]]).to_bytes()
    many_tags = build(["k", "k"], ["v", "v"], [["t"] * 64, ["t"]]).to_bytes()
    two_bytes = build(["k"], ["v"], [["ab", "cd"]])
    yield e.BadTag, "no change carries", with_number(RAW, "tag_codes", 1, 0)
    yield e.BadTag, "is empty", with_number(RAW, "name_ends", 1, 0)
    yield e.BadTag, "stands twice", with_bytes(RAW, NAMES, b"yy")
    yield e.BadTag, "not UTF-8", with_bytes(RAW, NAMES, b"\xff")
    yield e.BadTag, "cut in two", with_bytes(two_bytes.to_bytes(), two_bytes.layout.blobs, b"a\xc3\xa4d")
    yield e.OverLimit, "bytes of a tag", with_number(long_tags, "name_ends", 1, 257)
    yield e.OverLimit, "tags of a change", with_number(many_tags, "tag_ends", 1, 65)


def damaged_frames() -> Iterator[tuple[type[Malformed], str, bytes]]:
    longer = zstd(BODY + bytes(8))
    yield e.BadCompression, "no zstd frame", with_frame(RAW, BODY)
    yield e.BadCompression, "no zstd frame", with_frame(RAW, b"")
    yield e.BadCompression, "no zstd frame", with_frame(RAW, zstd(BODY)[:-1])
    yield e.BadCompression, "no zstd frame", with_frame(RAW, zstd(BODY) + b"\1")
    yield e.BadCompression, "no zstd frame", with_frame(RAW, zstd(BODY) + zstd(b""))
    yield e.BadCompression, "the frame holds", with_frame(RAW, zstd(BODY, says_its_size=False))
    yield e.BadCompression, "the frame holds", with_frame(RAW, longer)
    yield e.BadCompression, "more zeros", with_frame(RAW, bytes(8) + zstd(BODY))
    yield e.TooShort, "where the batch needs", with_frame(RAW, zstd(b""), raw_length=0)
    yield e.BadVector, "padding", with_frame(RAW, longer, raw_length=len(BODY) + 8)


def damaged_texts() -> Iterator[tuple[type[Malformed], str, bytes]]:
    """Longer than allowed: two neighbours whose common end is moved."""
    key = build(["k" * 32_768, "k"], ["v", "v"]).to_bytes()
    value = build(["k", "k"], [b"v" * (8 << 20), "v"]).to_bytes()
    yield e.OverLimit, "bytes of a key", with_number(key, "key_ends", 1, 32_769)
    yield e.OverLimit, "bytes of a value", with_number(value, "value_ends", 1, (8 << 20) + 1)


CASES = [*damaged_headers(), *damaged_vectors(), *damaged_tags(), *damaged_frames(), *damaged_texts()]


@pytest.mark.parametrize(("error", "reason", "raw"), CASES, ids=[f"{case[0].__name__}: {case[1]}" for case in CASES])
def test_what_is_no_batch_is_refused_with_its_reason(error: type[Malformed], reason: str, raw: bytes) -> None:
    with pytest.raises(Malformed, match=reason) as refused:
        verify(raw)
    assert type(refused.value) is error


def test_there_is_a_case_for_every_kind_of_malformed() -> None:
    assert {error for error, _, _ in CASES} == set(Malformed.__subclasses__())


def test_wrong_hashes_are_believed_of_a_peer_that_has_checked_them() -> None:
    raw = with_number(RAW, "hashes", 1, 0)
    assert verify(raw, hashes=False).key_hashes[1] == 0


def test_a_frame_that_unpacks_to_more_than_it_says_is_stopped_there() -> None:
    """Blocks of one repeated byte: 4 bytes that become 128 KiB each, under a frame header that promises little."""
    block = ((128 << 10) << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
    header = b"\x28\xb5\x2f\xfd" + bytes([0b1000_0000, 0x58]) + len(BODY).to_bytes(4, "little")
    bomb = header + block * 100_000
    with pytest.raises(e.BadCompression):
        verify(with_frame(RAW, bomb))


def test_buffers_of_any_shape_are_read_as_bytes() -> None:
    """`len` of a memoryview counts its elements, whatever they are."""
    for view in (memoryview(RAW).cast("Q"), memoryview(RAW).cast("b"), memoryview(RAW[::-1])[::-1]):
        assert verify(view) == PLAIN
