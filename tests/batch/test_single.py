"""A single change is verified in its own way, which never takes what the general one refuses."""

import struct
from collections import Counter
from collections.abc import Sequence

import pytest

from hansard.batch import HEADER_BYTES, Batch, Flag, build, key_hash, merge, reopen, select
from hansard.batch.limits import KEY_BYTES_MAX, TAG_BYTES_MAX, TAGS_PER_CHANGE_MAX, VALUE_BYTES_MAX
from hansard.batch.single import is_sound
from tests.batch.agreement import BYTES, agreed, case
from tests.batch.sealing import with_body, with_bytes

BY_ITSELF = "accepted, no vectors"

COMMON = (
    build(["key"], ["value"], connection=5, first_series=3, previous_series=2),
    build(["k"], ["v"], [[]]).stamped(epoch=1, base_offset=9, timestamp=7),
    build([b""], [b""]),
    build(["k"], ["v" * 9], [["a"]], connection=1),
    build(["k"], ["v"], [["größe", "ab", "abc"]]),
    build([None], ["value"], [["a", "b"]]),
    build(["key"], [None], [["a", "b"]]),
    build([None], [None]).marked_internal(),
    build([None], [None], [["a", "bc"]], connection=1),
)
"""What comes from clients all the time."""

TWO = build(["a", "b"], ["1", "2"], [["x"], ["y"]])
UNCOMMON = (
    TWO,
    select(TWO, TWO.offsets == 1),
    select(TWO, TWO.offsets < 0),
    build(["a"], ["1"], timestamps=[4]),
    build(["a"], ["1"], connection=2, series=[4]),
    build(["a"], ["1"], connections=[2], series=[4]),
    build(["a"], ["1"], [["x", "x"]]),
    build(["a"], ["1" * 200]).compressed(),
    merge([build(["a"], ["1"], connection=1), select(TWO, TWO.offsets < 0)]),
)


@pytest.mark.parametrize("batch", COMMON, ids=repr)
def test_common_shapes_need_no_vectors(batch: Batch) -> None:
    assert is_sound(reopen(batch.to_bytes()), hashes=True)
    assert agreed(batch.to_bytes()) == BY_ITSELF


@pytest.mark.parametrize("batch", UNCOMMON, ids=repr)
def test_uncommon_shapes_are_left_to_the_general_way(batch: Batch) -> None:
    assert agreed(batch.to_bytes()) == "accepted"


@pytest.mark.parametrize("batch", COMMON, ids=repr)
def test_both_ways_agree_on_every_changed_byte(batch: Batch) -> None:
    raw = batch.to_bytes()
    for position, old in enumerate(raw[HEADER_BYTES:]):
        for new in {*BYTES, *(old ^ 1 << bit for bit in range(8))} - {old}:
            agreed(with_bytes(raw, position, bytes([new])))


def test_both_ways_agree_on_damaged_single_changes() -> None:
    """Cases of the long run, with numbers that are the same every time, and of every outcome that the columns have."""
    outcomes = Counter(agreed(case(number)) for number in range(10_000))
    assert outcomes[BY_ITSELF] > 1500
    for outcome in ("accepted", "BadVector", "BadTag", "OverLimit", "WrongKeyHash", "BadCompression", "TooShort"):
        assert outcomes[outcome] > 50


def forged(key: bytes, value: bytes, tags: Sequence[bytes], padding: bytes | None = None, flags: int = 0) -> bytes:
    """A single change with good checksums that no builder would make."""
    ends = [0]
    for tag in tags:
        ends.append(ends[-1] + len(tag))
    bits = b"\0" * (flags // Flag.NULL_KEYS).bit_count()
    columns = struct.pack("<q6i", key_hash(key), 0, len(key), 0, len(value), 0, len(tags))
    dictionary = struct.pack(f"<{len(tags)}i{len(ends)}i", *range(len(tags)), *ends)
    body = columns + dictionary + bits + b"".join(tags) + key + value
    body += bytes(-len(body) % 8) if padding is None else padding
    return with_body(build(["k"], ["v"]).to_bytes(), body, tag_codes=len(tags), tag_names=len(tags), flags=flags)


MANY = [b"%d" % number for number in range(TAGS_PER_CHANGE_MAX + 1)]


@pytest.mark.parametrize(
    ("outcome", "raw"),
    [
        (BY_ITSELF, forged(b"k" * KEY_BYTES_MAX, b"v", [b"t" * TAG_BYTES_MAX])),
        ("OverLimit", forged(b"k" * (KEY_BYTES_MAX + 1), b"v", [])),
        (BY_ITSELF, forged(b"k", bytes(VALUE_BYTES_MAX), [])),
        ("OverLimit", forged(b"k", bytes(VALUE_BYTES_MAX + 1), [])),
        ("OverLimit", forged(b"k", b"v", [b"t" * (TAG_BYTES_MAX + 1)])),
        (BY_ITSELF, forged(b"k", b"v", MANY[:-1])),
        ("OverLimit", forged(b"k", b"v", MANY)),
        ("BadTag", forged(b"k", b"v", [b"a", b""])),
        ("BadTag", forged(b"k", b"v", [b"a", b"b", b"a"])),
        ("BadTag", forged(b"k", b"v", [b"a\xc3", b"\xa4"])),
        ("BadTag", forged(b"k", b"v", [b"\xed\xa0\x80"])),
        (BY_ITSELF, forged(b"k", b"v", [], bytes(2))),
        ("BadVector", forged(b"k", b"v", [], bytes(10))),
        ("BadVector", forged(b"k", b"v", [], b"\0\1")),
        ("BadVector", forged(b"k", b"", [], flags=Flag.NULL_KEYS)),
        ("BadVector", forged(b"", b"v", [], flags=Flag.NULL_KEYS | Flag.NULL_VALUES)),
        ("WrongKeyHash", forged(b"", b"v", [], flags=Flag.NULL_KEYS)),
    ],
)
def test_both_ways_agree_at_the_limits(outcome: str, raw: bytes) -> None:
    assert agreed(raw) == outcome
