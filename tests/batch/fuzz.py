"""Damaged batches without end: each is refused as Malformed, or is a batch on which everything works.

    python -m tests.batch.fuzz --seconds 600
    python -m tests.batch.fuzz --first 12345 --cases 1

A case is a number, and the number is the bug report: the same number damages the same batch in the same way.
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable
from random import Random

from crc32c import crc32c

from hansard.batch import (
    HEADER_BYTES,
    Batch,
    Flag,
    Malformed,
    bucket_mask,
    build,
    from_arrow,
    key_mask,
    merge,
    reopen,
    select,
    tag_mask,
    to_arrow,
    trust,
    verify,
)
from hansard.batch.header import unpack
from hansard.batch.limits import CHANGES_MAX
from tests.batch.sealing import resealed, with_frame, zstd

INTERESTING = (0, 1, 2, 3, 7, 8, 41, 42, 63, 64, 65, 127, 128, 255, 256, 257, 32_768, 65_535, 65_536, 65_537)
EDGES = (*INTERESTING, *(-number for number in INTERESTING), (1 << 31) - 1, -(1 << 31), (1 << 63) - 1, -(1 << 63))
FIELDS = tuple(unpack(build(["k"], ["v"]).to_bytes())._asdict())


def case(number: int) -> bytes:
    """A real batch, damaged, with checksums that fit or do not."""
    random = Random(number)
    raw = sound(random).to_bytes()
    if not random.randrange(8):
        return damaged(raw, random)
    head, body = raw[:HEADER_BYTES], raw[HEADER_BYTES:]
    for _ in range(random.randrange(3)):
        head = with_edge(head, random)
    if random.randrange(4):
        body = damaged(body, random)
    if random.randrange(8):
        body = body[: len(body) // 8 * 8]
    if not random.randrange(8):
        return with_frame(head, zstd(body), raw_length=len(body))
    if random.randrange(16):
        head = resealed(head, body_length=len(body))
    if random.randrange(16) and not unpack(head).flags & Flag.COMPRESSED:
        head = resealed(head, raw_length=len(body))
    follows = b"" if random.randrange(64) else random.randbytes(random.randrange(1, 99))
    return resealed(head + body, body_crc=crc32c(body)) + follows


def sound(random: Random) -> Batch:
    """A batch of any kind, as a builder, a leader or a split leaves it."""
    count = random.choice((1, 2, 3, 7, 8, 9, 30))
    texts = [None if not random.randrange(6) else random.randbytes(random.randrange(20)) for _ in range(2 * count)]
    names = ["a", "b", "größe", "tenant-1", "tenant-10"]
    tags = [random.sample(names, random.randrange(4)) for _ in range(count)] if random.randrange(4) else None
    times = sorted(random.randrange(1000) for _ in range(count)) if not random.randrange(3) else None
    series = sorted(random.sample(range(1000), count))
    kinds: tuple[dict[str, object], ...] = (
        {},
        {"connection": 5, "first_series": 3, "previous_series": 2},
        {"connection": 5, "series": series},
        {"connections": [random.randrange(1, 4) for _ in range(count)], "series": series},
    )
    batch = build(texts[:count], texts[count:], tags, timestamps=times, **random.choice(kinds))  # type: ignore[arg-type]
    if random.randrange(2):
        batch = batch.placed(epoch=3, base_offset=random.choice((0, 1000, (1 << 62))))
    if not random.randrange(3):
        batch = select(batch, batch.offsets % random.randrange(1, 4) == 0)
    return batch.compressed(level=1) if not random.randrange(6) else batch


def damaged(raw: bytes, random: Random) -> bytes:
    data = bytearray(raw)
    for _ in range(random.randrange(1, 4)):
        random.choice(DAMAGES)(data, random)
    return bytes(data)


def _flip(data: bytearray, random: Random) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _overwrite(data: bytearray, random: Random) -> None:
    at = random.randrange(len(data) + 1)
    patch = random.randbytes(random.randrange(1, 9))
    data[at : at + len(patch)] = patch[: len(data) - at]


def _insert(data: bytearray, random: Random) -> None:
    at = random.randrange(len(data) + 1)
    data[at:at] = random.choice((bytes(8), random.randbytes(random.randrange(1, 9)), data[at : at + 8]))


def _delete(data: bytearray, random: Random) -> None:
    at = random.randrange(len(data) + 1)
    del data[at : at + random.choice((1, 4, 8, 100))]


def _set_number(data: bytearray, random: Random) -> None:
    """An entry of some vector: moved a little, or far out."""
    width = random.choice((4, 4, 8))
    if len(data) < width:
        return
    at = random.randrange(len(data) // width) * width
    old = int.from_bytes(data[at : at + width], "little", signed=True)
    number = random.choice((old + random.randrange(-2, 3), random.choice(EDGES)))
    data[at : at + width] = (number % (1 << 8 * width)).to_bytes(width, "little")


DAMAGES: tuple[Callable[[bytearray, Random], None], ...] = (
    _flip,
    _overwrite,
    _insert,
    _delete,
    _set_number,
    _set_number,
    _set_number,
)


def with_edge(head: bytes, random: Random) -> bytes:
    """One field of the header moved a little, or far out, as far as it can be written."""
    field = random.choice(FIELDS[2:-1])
    old = getattr(unpack(head), field)
    number = random.choice((old + random.randrange(-2, 3), random.choice(EDGES), 1 << random.randrange(8)))
    bits = 16 if field in ("version", "flags") else 32
    if field in ("epoch", "base_offset", "connection") or field.endswith(("timestamp", "series")):
        number = (number + (1 << 63)) % (1 << 64) - (1 << 63)
    else:
        number %= 1 << bits
    return resealed(head, **{field: number})


def outcome(raw: bytes, *, hashes: bool) -> str:
    """How verifying ended. Whatever is neither a Malformed nor a batch that works comes out as its own exception."""
    try:
        batch = verify(raw, hashes=hashes)
    except Malformed as refused:
        return type(refused).__name__
    exercise(batch, raw, hashes=hashes)
    return "accepted"


def exercise(batch: Batch, raw: bytes, *, hashes: bool) -> None:
    changes = list(batch.changes())
    assert len(changes) == len(batch)
    assert batch == trust(raw) == reopen(raw)
    table = to_arrow(batch)
    table.validate(full=True)
    assert table.column("key").to_pylist() == [change.key for change in changes]
    assert [tuple(tags) for tags in table.column("tags").to_pylist()] == [change.tags for change in changes]
    exercise_masks(batch)
    for derived in (
        batch,
        select(batch, batch.offsets % 2 == 0),
        batch.decompressed().compressed(),
        batch.placed(epoch=9, base_offset=5),
    ):
        assert verify(derived.to_bytes(), hashes=hashes) == derived
    if len(batch) < CHANGES_MAX:
        other = build(["k", None], ["v", None], [["a", "other"], []])
        other = other.marked_internal() if batch.header.flags & Flag.INTERNAL else other
        merged = merge([batch, other, select(other, other.offsets == 1)])
        assert [change[2:] for change in merged.changes()] == [
            change[2:] for part in (changes, other.changes(), list(other.changes())[1:]) for change in part
        ]
        verify(merged.to_bytes(), hashes=hashes)
    if len(batch):
        again = from_arrow(table)
        assert [change[1:5] for change in again.changes()] == [change[1:5] for change in changes]


def exercise_masks(batch: Batch) -> None:
    bucket_mask(batch, 1, 2)
    key_mask(batch, b"k", 0)
    names = batch.tag_names
    for wanted in ([b"absent"], names[:1], names[-2:]):
        for every in (False, True):
            mask = tag_mask(batch, wanted, every=every) if wanted else None
            assert mask is None or (mask.any() and len(mask) == len(batch))


def main() -> None:
    parser = argparse.ArgumentParser(description="Verify damaged batches until the time is up.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--first", type=int, default=time.time_ns() // 1000, help="number of the first case")
    parser.add_argument("--cases", type=int, default=1 << 60, help="stop after so many")
    given = parser.parse_args()
    outcomes: Counter[str] = Counter()
    deadline = time.monotonic() + given.seconds
    for number in range(given.first, given.first + given.cases):
        try:
            outcomes[outcome(case(number), hashes=number % 4 == 0)] += 1
        except BaseException:
            print(f"case {number} failed; again: python -m tests.batch.fuzz --first {number} --cases 1")
            raise
        if time.monotonic() > deadline:
            break
    for name, times in outcomes.most_common():
        print(f"{times:10,}  {name}")
    print(f"{outcomes.total():10,}  cases from {given.first}")


if __name__ == "__main__":
    main()
