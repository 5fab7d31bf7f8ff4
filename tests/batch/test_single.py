"""A single change is built and verified in its own way, which takes nothing that the general one refuses."""

import struct
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import pytest

from hansard.batch import HEADER_BYTES, Batch, BatchError, Flag, build, key_hash, merge, reopen, select
from hansard.batch.limits import KEY_BYTES_MAX, TAG_BYTES_MAX, TAGS_PER_CHANGE_MAX, VALUE_BYTES_MAX
from hansard.batch.single import built, is_sound
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
def test_uncommon_shapes_are_left_to_other_ways(batch: Batch) -> None:
    assert agreed(batch.to_bytes()) in ("accepted", "accepted, few vectors")


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


class Whole(NamedTuple):
    """A number that is no int, as numpy's are: with one of these everything is built in the general way."""

    number: int

    def __index__(self) -> int:
        return self.number


KEYS = (None, "", "k", "größe", b"", b"key", b"\xff", bytes(8), "k" * KEY_BYTES_MAX)
VALUES = (None, "", "v", "東京", b"", b"value", b"v" * 256, bytearray(b"v"), memoryview(b"v"))
ROWS: tuple[Sequence[str], ...] = (
    [],
    (),
    ["a"],
    ("a", "b"),
    ["größe", "東京"],
    ["a", "a"],
    ["t" * TAG_BYTES_MAX],
    [str(n) for n in range(64)],
)
BAD_TEXTS = (5, "\ud800", ["v"], b"k" * (KEY_BYTES_MAX + 1))
BAD_ROWS = (
    None,
    "tag",
    {"tag"},
    [None],
    [b"tag"],
    [["tag"]],
    [""],
    ["\ud800"],
    ["ä" * 129],
    [str(n) for n in range(65)],
)
NUMBERS = (0, 1, 5, 1 << 40, (1 << 63) - 1)
BAD_NUMBERS = (-1, -2, 1 << 63)


def arguments(random: Random) -> tuple[list[object], list[object], list[object] | None, list[int]]:
    """What a caller may pass for one change: mostly what makes sense, and now and then one thing that does not."""
    key, value, row = random.choice(KEYS), random.choice(VALUES), random.choice(ROWS)
    first = random.choice(NUMBERS[:-1])
    numbers = [random.choice(NUMBERS[1:]), first, random.randrange(-1, first)] if random.randrange(4) else [0, 0, -1]
    keys: list[object] = [key if random.randrange(12) else random.choice(BAD_TEXTS)]
    values: list[object] = [value if random.randrange(12) else random.choice(BAD_TEXTS)]
    rows: list[object] = [row if random.randrange(12) else random.choice(BAD_ROWS)]
    if not random.randrange(12):
        numbers[random.randrange(3)] = random.choice(NUMBERS + BAD_NUMBERS)
    if not random.randrange(30):
        random.choice((keys, rows)).append("more")
    return keys, values, rows if random.randrange(5) else None, numbers


def built_by(keys: object, values: object, tags: object, numbers: Sequence[object]) -> bytes | str:
    connection, first, previous = numbers
    try:
        batch = build(keys, values, tags, connection=connection, first_series=first, previous_series=previous)  # type: ignore[arg-type]
    except BatchError as refused:
        return f"{type(refused).__name__}: {refused}"
    assert type(batch.header.connection) is int
    return batch.to_bytes()


def test_both_ways_build_the_very_same_bytes_or_refuse_alike() -> None:
    random, kinds = Random(1), Counter[str]()
    for _ in range(5000):
        keys, values, tags, numbers = arguments(random)
        made = built_by(keys, values, tags, numbers)
        assert made == built_by(keys, values, tags, [Whole(number) for number in numbers])
        by_itself = built(keys, values, tags, *numbers) is not None
        kinds["by itself" if by_itself else "refused" if isinstance(made, str) else "in the general way"] += 1
    assert all(kinds[kind] > 500 for kind in ("by itself", "refused", "in the general way"))
