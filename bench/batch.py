"""What batches cost: building, verifying, opening, reading and merging them, on one core.

A batch has 1,000 changes of 256 bytes, with two tags each, unless a claim says otherwise. Every figure is the best of
many short runs: what the code can do, not what else the machine had to do.
"""

import random
from collections.abc import Callable
from timeit import Timer
from typing import Final

import numpy as np

from bench.table import NO_TARGET, Row, show
from hansard.batch import Batch, build, from_arrow, merge, reopen, select, tag_mask, to_arrow, trust, verify

CHANGES: Final = 1000
VALUE_BYTES: Final = 256
RUNS: Final = 300
RUN_SECONDS: Final = 0.001
OPENED: Final = 20
MERGED: Final = 32


def best_us(work: Callable[[], object]) -> float:
    """Microseconds of one call, in the best of many runs of a millisecond or one call each."""
    timer, calls = Timer(work), 1
    while timer.timeit(calls) < RUN_SECONDS:
        calls *= 2
    return min(timer.repeat(RUNS, calls)) / calls * 1e6


def best_us_once_opened(work: Callable[[Batch], object], raw: bytes) -> float:
    """The same for work on a batch that was just opened, so that nothing of it has been looked at; less the opening."""
    opened: list[Batch] = []

    def open_some() -> None:
        opened[:] = [trust(raw) for _ in range(OPENED)]

    def work_on_each() -> None:
        for batch in opened:
            work(batch)

    return min(Timer(work_on_each, open_some).repeat(RUNS, 1)) / OPENED * 1e6


Columns = tuple[list[str], list[bytes], list[list[str]]]


def columns(count: int) -> Columns:
    """Changes as a program has them: keys as str, two tags each, values that nobody can compress."""
    chance = random.Random(1)
    return (
        [f"device-{number:06d}" for number in range(count)],
        [chance.randbytes(VALUE_BYTES) for _ in range(count)],
        [[f"tenant-{number % 10}", f"kind-{number % 3}"] for number in range(count)],
    )


def measure() -> list[Row]:
    batch = build(*columns(CHANGES), connection=5)
    return [*building(), *verifying(batch), *opening(), *reading(batch), *merging(), *singles()]


def building() -> list[Row]:
    content = columns(CHANGES)
    table = to_arrow(build(*content)).select(["key", "value", "tags"])
    return [
        _rate("building from lists", best_us(lambda: build(*content, connection=5)), 1.0),
        _rate("building from Arrow", best_us(lambda: from_arrow(table, connection=5)), 1.0),
    ]


def verifying(batch: Batch) -> list[Row]:
    raw = batch.to_bytes()
    return [
        _speed("verifying, key hashes too", len(raw), best_us(lambda: verify(raw)), 1.0),
        _speed("verifying, key hashes believed", len(raw), best_us(lambda: verify(raw, hashes=False)), 2.0),
        _speed("reopening what we stored", len(raw), best_us(lambda: reopen(raw)), 4.0),
    ]


def opening() -> list[Row]:
    """Opening what was verified: the columns are laid over the bytes when they are asked for."""
    small, large = build(*columns(1)).to_bytes(), build(*columns(10_000)).to_bytes()
    few, many = best_us(lambda: trust(small)), best_us(lambda: trust(large))
    claim = "opening 10,000 changes costs no more than 3 times opening 1"
    return [Row(claim, f"{many:.2f} us, {few:.2f} us", "3 times", many <= 3 * few)]


def reading(batch: Batch) -> list[Row]:
    raw = batch.to_bytes()
    some = np.arange(CHANGES) % 50 == 0
    found = best_us_once_opened(lambda batch: tag_mask(batch, [b"tenant-3"]), raw)
    absent = best_us_once_opened(lambda batch: tag_mask(batch, [b"absent"]), raw)
    selected = best_us_once_opened(lambda batch: select(batch, some), raw)
    return [
        _figure("opening it and handing it to Arrow", best_us(lambda: to_arrow(trust(raw)))),
        _figure("finding the changes with a tag, once it is open", found),
        _figure("seeing that a tag is absent, once it is open", absent),
        _figure("selecting 2 % of the changes, once it is open", selected),
    ]


def merging() -> list[Row]:
    keys, values, tags = columns(CHANGES)
    singles = [
        build([key], [value], [own], connection=number).to_bytes()
        for number, (key, value, own) in enumerate(zip(keys, values, tags, strict=True), start=1)
    ]
    each = best_us(lambda: merge([trust(single) for single in singles])) / CHANGES
    return [_figure("opening and merging batches of one change, for each", each)]


def singles() -> list[Row]:
    """What each change costs whose client sends it alone, from its client to the leader's log."""
    keys, values, tags = columns(MERGED)
    batches = [
        build([key], [value], [own], connection=number)
        for number, (key, value, own) in enumerate(zip(keys, values, tags, strict=True), start=1)
    ]
    raw = batches[0].to_bytes()
    received = [verify(batch.to_bytes()) for batch in batches]
    built = best_us(lambda: build(keys[:1], values[:1], tags[:1], connection=5, first_series=7, previous_series=6))
    stamped = best_us(lambda: batches[0].stamped(epoch=1, base_offset=2, timestamp=3))
    return [
        _figure("one change: building", built),
        _figure("one change: verifying, key hash too", best_us(lambda: verify(raw))),
        _figure("one change: reopening", best_us(lambda: reopen(raw))),
        _figure("one change: stamping", stamped),
        _figure(f"one change: merging with {MERGED - 1} others", best_us(lambda: merge(received)) / MERGED),
    ]


def _rate(claim: str, us: float, target_millions: float) -> Row:
    millions = CHANGES / us
    return Row(claim, f"{millions:.2f} M changes/s", f"{target_millions:.1f} M changes/s", millions >= target_millions)


def _speed(claim: str, byte_count: int, us: float, target_gigabytes: float) -> Row:
    gigabytes = byte_count / us / 1000
    return Row(
        claim, f"{gigabytes:.1f} GB/s ({us:.0f} us)", f"{target_gigabytes:.1f} GB/s", gigabytes >= target_gigabytes
    )


def _figure(name: str, us: float) -> Row:
    return Row(name, f"{us:.1f} us", NO_TARGET, ok=True)


if __name__ == "__main__":
    show(measure())
