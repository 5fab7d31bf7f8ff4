"""Batches of every kind, each with the changes that it must hold."""

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st

from hansard.batch import Batch, Change, build
from hansard.batch.limits import TIMESTAMP_MAX

few = settings(max_examples=40)
"""For what costs more to draw than to check; the long fuzz goes further."""

TAGS = ["a", "b", "ab", "tenant-1", "tenant-10", "größe", "東京", "x" * 256]

keys = st.none() | st.binary(max_size=12) | st.text(max_size=8) | st.sampled_from([b"", b"k", b"kk", b"\0"])
values = st.none() | st.binary(max_size=40) | st.text(max_size=20)
tag_lists = st.lists(st.sampled_from(TAGS), max_size=4)
series_numbers = st.integers(0, (1 << 63) - 1)


class Content(NamedTuple):
    """What a caller passes to `build`."""

    keys: list[bytes | str | None]
    values: list[bytes | str | None]
    tags: list[list[str]]


@st.composite
def contents(draw: st.DrawFn, max_size: int = 10) -> Content:
    rows = draw(st.lists(st.tuples(keys, values, tag_lists), min_size=1, max_size=max_size))
    return Content([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])


class Numbers(NamedTuple):
    """How a caller numbers the changes, and what each change must have in the end."""

    connections: list[int]
    series: list[int]
    arguments: dict[str, object]


@st.composite
def numbers(draw: st.DrawFn, count: int) -> Numbers:
    kind = draw(st.sampled_from(["nobody's", "counting", "gaps", "several"]))
    connection = draw(st.integers(1, (1 << 63) - 1))
    first = draw(st.integers(0, (1 << 63) - 1 - count))
    previous = draw(st.integers(-1, first - 1))
    given: dict[str, object] = {"connection": connection, "previous_series": previous}
    if kind == "nobody's":
        return Numbers([0] * count, [0] * count, {})
    if kind == "counting":
        return Numbers([connection] * count, list(range(first, first + count)), given | {"first_series": first})
    if kind == "gaps":
        later = st.lists(st.integers(first, (1 << 63) - 1), min_size=count, max_size=count, unique=True)
        series = sorted(draw(later))
        return Numbers([connection] * count, series, given | {"series": series})
    connections = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    series = [0 if whose == 0 else 10 * place for place, whose in enumerate(connections, start=1)]
    return Numbers(connections, series, {"connections": connections, "series": series})


class Example(NamedTuple):
    batch: Batch
    changes: list[Change]


@st.composite
def examples(draw: st.DrawFn, max_size: int = 10) -> Example:
    """A batch as its builder leaves it or as a leader has placed it."""
    content = draw(contents(max_size))
    count = len(content.values)
    given = draw(numbers(count))
    epoch, base, time = 0, 0, 0
    times: Sequence[int] | None = None
    if draw(st.booleans()):
        times = sorted(draw(st.lists(st.integers(0, TIMESTAMP_MAX), min_size=count, max_size=count)))
    batch = build(*content, timestamps=times, **given.arguments)  # type: ignore[arg-type]
    if draw(st.booleans()):
        epoch, base = draw(st.integers(0, 1 << 40)), draw(st.integers(0, (1 << 63) - 1 - count))
        if times is None:
            time = draw(st.integers(0, TIMESTAMP_MAX))
            batch = batch.stamped(epoch=epoch, base_offset=base, timestamp=time)
        else:
            batch = batch.placed(epoch=epoch, base_offset=base)
    if draw(st.booleans()):
        batch = batch.marked_internal()
    changes = [
        Change(
            base + place, times[place] if times else time, as_bytes(key), as_bytes(value), tuple(tags), whose, series
        )
        for place, (key, value, tags, whose, series) in enumerate(
            zip(*content, given.connections, given.series, strict=True)
        )
    ]
    return Example(batch, changes)


def as_bytes(text: bytes | str | None) -> bytes | None:
    return text.encode() if isinstance(text, str) else text
