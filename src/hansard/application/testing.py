"""For the tests of an application: does it keep to the rules, as far as running it can show?

    from hansard.application.testing import check

    def test_counter() -> None:
        check(Counter, [("apples", "+3"), ("pears", "+1"), ("apples", "-2")])

The more of what can happen is in the log the better; rows that a property-based test makes up do well. What cannot be
seen from within one process, such as the order of a set that differs in the next one, is not found here.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from hansard.batch import Batch, build, key_hash

from .application import Application
from .host import Host
from .image import Image, decode, encode

Rows = Sequence[Sequence[Any]]
"""Of a log: (key, value) or (key, value, tags)."""

_CUTS: Final = (1, 2, 3, 7)
_PLACES_MAX: Final = 32
_EPOCH: Final = 1
_TIMESTAMP: Final = 1_700_000_000_000_000


def check(make: Callable[[], Application], rows: Rows, *, buckets: int = 4) -> None:
    """All of the checks below. `make` makes a new application; `buckets` is how far a log is split, a power of two."""
    assert rows, "an empty log shows nothing"
    check_cuts(make, rows)
    check_joins(make, rows)
    check_splits(make, rows, buckets=buckets)


def check_cuts(make: Callable[[], Application], rows: Rows) -> None:
    """How the log is cut into batches makes no difference to the state or to any result."""
    whole, results = _run(Host(make()), _cut(rows, len(rows)))
    again, results_again = _run(Host(make()), _cut(rows, len(rows)))
    assert (again, results_again) == (whole, results), "the same log twice gives two states, or other results"
    for size in _CUTS:
        image, by_cut = _run(Host(make()), _cut(rows, size))
        assert by_cut == results, f"in batches of {size} the results are {by_cut}, in one batch {results}"
        assert image == whole, f"in batches of {size} the state is {image}, in one batch {whole}"
    single = make()
    one_by_one = [single.apply(change) for batch in _cut(rows, len(rows)) for change in batch.changes()]
    assert one_by_one == [results.get(offset) for offset in range(len(rows))], f"one by one, changes give {one_by_one}"
    assert tuple(single.image()) == whole.entries, f"one by one, changes lead to {tuple(single.image())}"


def check_joins(make: Callable[[], Application], rows: Rows) -> None:
    """Whoever goes on from an image in the middle ends as those who have seen everything, and becoming an image leaves
    nothing of what was before."""
    end, results = _run(Host(make()), _cut(rows, 1))
    new = Host(make()).image()
    for place in _places(rows):
        first = Host(make())
        image, _ = _run(first, _cut(rows[:place], 1))
        assert first.image() == image, f"after {place} changes two images of one state differ"
        used = Host(make())
        _run(used, _cut(rows, 1))
        for host, who in ((Host(make()), "a new one"), (used, "one that was in use")):
            host.restore(decode(encode(image)))
            assert host.image() == image, f"{who} that becomes an image after {place} changes has another one itself"
            after, later = _run(host, _cut(rows, 1, place))
            kept = {offset: result for offset, result in results.items() if offset >= place}
            assert later == kept, f"{who} that goes on after {place} changes gives {later}, and not {kept}"
            assert after == end, f"{who} that goes on after {place} changes ends as {after}, and not as {end}"
        used.clear()
        assert used.image() == new, "becoming an empty image leaves something"


def check_splits(make: Callable[[], Application], rows: Rows, *, buckets: int) -> None:
    """A bucket's state that is split and purged is, key by key, that of a bucket which never had the others' keys. What
    both halves get, under None, is the application's own business."""
    for place in _places(rows):
        image, _ = _run(Host(make()), _cut(rows[:place], 1))
        for bucket in range(buckets):
            half, alone = Host(make(), bucket), Host(make(), bucket)
            half.restore(decode(encode(image)))
            half.rise(buckets)
            alone.rise(buckets)
            foreign = [key for key, _ in half.application.image() if key is not None and not half.belongs(key)]
            assert not foreign, f"bucket {bucket} of {buckets} keeps what it was to purge: {foreign}"
            _run(alone, _cut(rows[:place], 1))
            halved, results = _run(half, _cut(rows, 1, place))
            separate, separate_results = _run(alone, _cut(rows, 1, place))
            assert _keyed(halved) == _keyed(separate), (
                f"bucket {bucket} of {buckets}, split off after {place} changes, has {_keyed(halved)}; "
                f"its keys alone would give {_keyed(separate)}"
            )
            shared = any(key is None for key, _ in (*halved.entries, *separate.entries))
            assert shared or results == separate_results, (
                f"bucket {bucket} of {buckets}, split off after {place} changes, gives {results}; "
                f"its keys alone would give {separate_results}"
            )


def batches(rows: Rows, size: int = 1, first: int = 0) -> list[Batch]:
    """The rows from the `first` one on as batches of a log, so many changes in each. A change has the same offset and
    time in every cut."""
    return list(_cut(rows, size, first))


def key_of(bucket: int, buckets: int, number: int = 0) -> bytes:
    """A key that lives in a bucket among so many; another number, another key."""
    found = (key for key in (b"%d-%d" % (number, attempt) for attempt in range(1 << 20)))
    return next(key for key in found if key_hash(key) % buckets == bucket)


def _places(rows: Rows) -> range:
    """Where the log is interrupted: everywhere, or where it is long here and there."""
    return range(0, len(rows) + 1, 1 + len(rows) // _PLACES_MAX)


def _cut(rows: Rows, size: int, first: int = 0) -> Iterator[Batch]:
    for start in range(first, len(rows), size):
        part = rows[start : start + size]
        batch = build(
            [row[0] for row in part],
            [row[1] for row in part],
            [row[2] if len(row) > 2 else () for row in part],
            timestamps=[_TIMESTAMP + start + place for place in range(len(part))],
        )
        yield batch.placed(epoch=_EPOCH, base_offset=start)


def _run(host: Host, log: Iterator[Batch]) -> tuple[Image, dict[int, bytes]]:
    results: dict[int, bytes] = {}
    for batch in log:
        results |= host.apply(batch)
    return host.image(), results


def _keyed(image: Image) -> list[tuple[bytes, bytes]]:
    return sorted([(key, content) for key, content in image.entries if key is not None])
