"""Batches of one change are verified without vectors, plain ones with few: of any bytes all ways must say the same.

    python -m tests.batch.agreement --seconds 600
    python -m tests.batch.agreement --first 12345 --cases 1

A case is a number, as in tests.batch.fuzz; here nearly all are single changes, damaged where their own way looks and
sealed again, so that it comes down to the columns.
"""

import argparse
import struct
import time
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

from hansard.batch import (
    HEADER_BYTES,
    Batch,
    Flag,
    Malformed,
    build,
    check_hashes,
    key_hash,
    plain,
    reopen,
    select,
    single,
    verify,
)
from hansard.batch.errors import TooLong
from hansard.batch.header import unpack
from hansard.batch.layout import ABSENT, layout
from hansard.batch.verification import check_columns
from tests.batch.fuzz import EDGES, damaged, with_edge
from tests.batch.sealing import resealed, with_body, with_bytes, with_frame, zstd

NAMES = ("a", "b", "ab", "größe", "東京", "tenant-1", "x" * 256)
TEXTS = (None, b"", b"k", b"key-1", "größe".encode(), b"\0", bytes(9), b"\xff\xfe", b"v" * 40)
BYTES = (0, 1, 2, 3, 4, 7, 8, 0x2A, 0x40, 0x7F, 0x80, 0xA4, 0xC0, 0xC3, 0xF0, 0xFE, 0xFF)
INT32_COLUMNS = ("offsets", "key_ends", "value_ends", "tag_ends", "tag_codes", "name_ends")
INT64_COLUMNS = ("hashes", "timestamps", "connections", "series")
NEAR = (-2, -1, 1, 2, 8, 256)


def by_vectors(raw: bytes, *, hashes: bool) -> str:
    """What `verify` says of a batch of any shape."""
    try:
        batch = reopen(raw)
        if batch.length != len(raw):
            raise TooLong(batch.length, len(raw))
        check_columns(batch)
        if hashes:
            check_hashes(batch)
    except Malformed as refused:
        return f"{type(refused).__name__}: {refused}"
    return "accepted"


def by_verify(raw: bytes, *, hashes: bool) -> str:
    try:
        batch = verify(raw, hashes=hashes)
    except Malformed as refused:
        return f"{type(refused).__name__}: {refused}"
    assert batch.to_bytes() == raw
    return "accepted"


def agreed(raw: bytes) -> str:
    """The common answer, and whether it took vectors to get there."""
    believed, expected = by_verify(raw, hashes=False), by_vectors(raw, hashes=False)
    assert believed == expected, f"{believed} instead of {expected}, hashes believed: {raw.hex()}"
    said, expected = by_verify(raw, hashes=True), by_vectors(raw, hashes=True)
    assert said == expected, f"{said} instead of {expected}: {raw.hex()}"
    if said != "accepted":
        return said.partition(":")[0]
    batch = reopen(raw)
    if single.is_sound(batch, hashes=True):
        return "accepted, no vectors"
    return "accepted, few vectors" if plain.is_sound(batch, hashes=True) else said


def case(number: int) -> bytes:
    random = Random(number)
    raw = sound(random).to_bytes()
    for _ in range(random.randrange(4)):
        raw = random.choice(DAMAGES)(raw, random)
    if not random.randrange(32):
        raw += random.randbytes(random.randrange(1, 16))
    return raw


def sound(random: Random) -> Batch:
    """Mostly one change as its client sends it; seldom several, none, or one that has been through other hands."""
    count = random.choice((1,) * 12 + (2, 2, 3, 3, 9))
    tags = [random.choices(NAMES, k=random.randrange(4)) for _ in range(count)]
    numbers: Sequence[dict[str, object]] = (
        {},
        {"connection": 5, "first_series": 3, "previous_series": 2},
        {"connection": 5, "series": range(9, 9 + count)},
        {"connections": [7] * count, "series": range(9, 9 + count)},
        {"timestamps": range(count)},
    )
    chosen = random.choice(numbers[:2] if random.randrange(4) else numbers)
    batch = build(random.choices(TEXTS, k=count), random.choices(TEXTS, k=count), tags, **chosen)  # type: ignore[arg-type]
    if random.randrange(2):
        batch = batch.placed(epoch=3, base_offset=1000)
    if not random.randrange(4):
        batch = batch.marked_internal()
    if not random.randrange(12):
        batch = select(batch, batch.offsets % 2 == random.randrange(2))
    return batch if random.randrange(12) else batch.compressed()


# Each gives a damaged batch with good checksums, if the one that it got could be damaged so.

Damage = Callable[[bytes, Random], bytes]


def _number(raw: bytes, random: Random) -> bytes:
    """An entry of a column: moved a little, or far out."""
    header, body = unpack(raw), raw[HEADER_BYTES:]
    where = layout(header)
    column = random.choice(INT32_COLUMNS if random.randrange(5) else INT64_COLUMNS)
    width = 4 if column in INT32_COLUMNS else 8
    counts = {"tag_codes": header.tag_codes, "name_ends": header.tag_names + 1}
    ends = header.change_count + (column in ("key_ends", "value_ends", "tag_ends"))
    start = getattr(where, column) + width * random.randrange(min(counts.get(column, ends), 100) or 1)
    if getattr(where, column) == ABSENT or start + width > len(body):
        return raw
    old = int.from_bytes(body[start : start + width], "little", signed=True)
    number = random.choice((old + random.choice(NEAR), random.choice(EDGES)))
    return with_bytes(raw, start, (number % (1 << 8 * width)).to_bytes(width, "little"))


def _ends_together(raw: bytes, random: Random) -> bytes:
    """Bytes change hands between names, keys and values: every sum stays right, and the hash may fit again."""
    header, body = unpack(raw), raw[HEADER_BYTES:]
    where, count = layout(header), header.change_count
    lasts = [where.key_ends + 4 * count, where.value_ends + 4 * count, where.name_ends + 4 * header.tag_names]
    if where.blobs > len(body):
        return raw
    distance = random.choice(NEAR)
    for start, change in zip(random.sample(lasts, 2), (distance, -distance), strict=True):
        number = int.from_bytes(body[start : start + 4], "little") + change
        body = body[:start] + (number % (1 << 32)).to_bytes(4, "little") + body[start + 4 :]
    return _hashed(with_body(raw, body), random)


def _hashed(raw: bytes, random: Random) -> bytes:
    """The first hash made to fit whatever key stands there now."""
    try:
        batch = reopen(raw)
        key = bytes(batch.raw[batch.blobs.keys : batch.blobs.values])
    except (Malformed, struct.error):  # not even that much of a batch is left
        return raw
    number = key_hash(key if random.randrange(8) else None)
    return with_bytes(raw, 0, number.to_bytes(8, "little", signed=True)) if len(raw) > HEADER_BYTES + 8 else raw


def _byte(raw: bytes, random: Random) -> bytes:
    """A byte behind the ends: bits, names, keys, values, padding."""
    start = min(layout(unpack(raw)).name_ends, len(raw) - HEADER_BYTES - 1)
    if start < 0:
        return raw
    return with_bytes(raw, random.randrange(start, len(raw) - HEADER_BYTES), bytes([random.choice(BYTES)]))


def _length(raw: bytes, random: Random) -> bytes:
    body = raw[HEADER_BYTES:]
    at = random.randrange(len(body) + 1)
    longer = body[:at] + random.choice((bytes(8), random.randbytes(8), body[at : at + 8].ljust(8, b"\0"))) + body[at:]
    return with_body(raw, random.choice((longer, body[:at] + body[at + 8 :], body + bytes(8), body[:-8])))


def _flags(raw: bytes, random: Random) -> bytes:
    """A flag more or less, with or without the bytes that its column would take."""
    body, flag = raw[HEADER_BYTES:], 1 << random.randrange(1, 8)
    if random.randrange(2):
        position = layout(unpack(raw)).blobs if flag >= Flag.NULL_KEYS else 8
        body = body[:position] + bytes(1 if flag >= Flag.NULL_KEYS else 8) + body[position:]
        body = body[: len(body) // 8 * 8]
    return with_body(raw, body, flags=unpack(raw).flags ^ flag)


def _header(raw: bytes, random: Random) -> bytes:
    return with_edge(raw[:HEADER_BYTES], random) + raw[HEADER_BYTES:]


def _counts(raw: bytes, random: Random) -> bytes:
    count = random.randrange(4)
    fields = random.choice(
        ({"change_count": count, "span": max(count, 1)}, {"tag_names": count, "tag_codes": count}, {"tag_codes": count})
    )
    return resealed(raw, **fields)


def _anything(raw: bytes, random: Random) -> bytes:
    body = damaged(raw[HEADER_BYTES:], random)
    return with_body(raw, body[: len(body) // 8 * 8])


def _frame(raw: bytes, random: Random) -> bytes:
    body = raw[HEADER_BYTES:]
    return with_frame(raw, zstd(body), raw_length=len(body) + random.choice((0, 0, 0, 8)))


DAMAGES: Sequence[Damage] = (
    *(_number,) * 6,
    *(_byte,) * 3,
    *(_ends_together,) * 2,
    _hashed,
    _length,
    _flags,
    _header,
    _counts,
    _anything,
    _frame,
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Verify damaged single changes in both ways until the time is up.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--first", type=int, default=time.time_ns() // 1000, help="number of the first case")
    parser.add_argument("--cases", type=int, default=1 << 60, help="stop after so many")
    given = parser.parse_args()
    outcomes: Counter[str] = Counter()
    deadline = time.monotonic() + given.seconds
    for number in range(given.first, given.first + given.cases):
        try:
            outcomes[agreed(case(number))] += 1
        except BaseException:
            print(f"case {number} failed; again: python -m tests.batch.agreement --first {number} --cases 1")
            raise
        if time.monotonic() > deadline:
            break
    for name, times in outcomes.most_common():
        print(f"{times:10,}  {name}")
    print(f"{outcomes.total():10,}  cases from {given.first}")


if __name__ == "__main__":
    main()
