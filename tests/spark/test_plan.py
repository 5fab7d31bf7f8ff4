"""Which changes lie between two places, and which task reads them: by arithmetic alone."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import EqualTo, Filter, GreaterThan, In, LessThan, LessThanOrEqual, StringContains

from pyspark_hansard.offsets import StreamOffset, parsed, ranges, shared
from pyspark_hansard.options import Choice
from pyspark_hansard.places import Place, Range, between
from pyspark_hansard.plan import shares
from pyspark_hansard.pushed import Bounds, narrowed
from pyspark_hansard.reader import chosen, cut

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_bucket_that_was_split_off_goes_on_from_where_its_parent_was() -> None:
    end = {0: Place(2, 50), 1: Place(4, 70), 3: Place(4, 40)}
    assert between({0: 10, 1: 20}, end) == [Range(0, 2, 10, 50), Range(1, 4, 20, 70), Range(3, 4, 20, 40)]
    assert between({0: 50}, end) == [Range(1, 4, 50, 70)]
    assert between({}, {0: Place(1, 5)}) == [Range(0, 1, 0, 5)]


@given(
    lengths=st.lists(st.integers(1, 1_000), min_size=1, max_size=12),
    rows_max=st.integers(1, 400),
)
def test_shares_have_every_offset_once_and_none_has_too_much(lengths: list[int], rows_max: int) -> None:
    wholes = [Range(bucket, 16, 5, 5 + length) for bucket, length in enumerate(lengths)]
    planned = shares(wholes, rows_max)
    assert all(sum(each.offsets for each in share.ranges) <= rows_max for share in planned)
    read = [(each.bucket, offset) for share in planned for each in share.ranges for offset in range(*each[2:4])]
    assert read == [(whole.bucket, offset) for whole in wholes for offset in range(whole.start, whole.end)]
    assert len(planned) <= 2 * sum(lengths) // rows_max + 1, "small ones are joined"


@given(st.dictionaries(st.integers(0, 9), st.integers(0, 1_000), min_size=1), st.integers(1, 2_000))
def test_a_limit_is_shared_out_and_something_goes_on(lags: dict[int, int], limit: int) -> None:
    shares_ = shared(lags, limit)
    assert all(0 <= shares_[bucket] <= lag for bucket, lag in lags.items())
    assert sum(shares_.values()) == min(limit, sum(lags.values()))


def test_an_offset_is_the_same_after_spark_has_kept_it() -> None:
    first = StreamOffset("log", "hold", {1: Place(2, 5), 0: Place(2, 7)}, is_initial=True)
    end = first.ended({0: Place(2, 9), 1: Place(4, 5), 3: Place(4, 8)})
    assert list(end.told()["buckets"]) == ["0", "1", "3"]
    assert parsed(first.told()) == first and parsed(end.told()).told() == end.told()
    assert ranges(first, end) == [Range(0, 2, 7, 9), Range(3, 4, 5, 8)]
    later = StreamOffset("log", "other", {0: Place(4, 100)}, is_initial=True)
    assert ranges(later, end) == ranges(first, end), "a first batch says itself where it begins"
    with pytest.raises(ValueError, match="not of hansard"):
        parsed({"partition": 3})
    with pytest.raises(ValueError, match="two logs"):
        ranges(StreamOffset("a", "", {}), StreamOffset("b", "", {}))


def pushed(*filters: Filter) -> tuple[Bounds, Choice]:
    bounds, choice = Bounds(), Choice()
    for each in filters:
        bounds, choice = bounds.with_filter(each), narrowed(choice, each)
    return bounds, choice


def test_filters_narrow_what_is_read() -> None:
    bounds, choice = pushed(
        In(("bucket",), (0, 1, 2)),
        EqualTo(("bucket",), 2),
        GreaterThan(("offset",), 9),
        LessThan(("offset",), 30),
        GreaterThan(("timestamp",), NOON),
        LessThanOrEqual(("timestamp",), NOON + timedelta(hours=1)),
        EqualTo(("key",), b"k"),
        EqualTo(("tags",), ["a", "b"]),
        StringContains(("value",), "x"),
    )
    assert bounds == Bounds(frozenset([2]), 10, 30, NOON, NOON + timedelta(hours=1, microseconds=1))
    assert choice == Choice(("a", "b"), every=True, key=b"k")
    whole = [Range(bucket, 4, 0, 100) for bucket in range(4)]
    assert cut(chosen(whole, Choice(), bounds), [{2: 12}], [{2: 20}], bounds) == [Range(2, 4, 12, 20)]
    assert cut(whole, [], [{0: 5}], Bounds()) == [Range(bucket, 4, 0, 5) for bucket in range(4)]


def test_filters_that_are_not_understood_narrow_nothing() -> None:
    naive = datetime(2026, 3, 1, 12)  # noqa: DTZ001
    assert pushed(
        EqualTo(("offset",), "nine"), GreaterThan(("timestamp",), naive), EqualTo(("tags",), []), EqualTo(("key",), 3)
    ) == (Bounds(), Choice())


def test_a_key_is_looked_for_where_it_lives() -> None:
    whole = [Range(0, 2, 0, 9), Range(1, 4, 0, 9), Range(3, 4, 0, 9)]
    found = chosen(whole, Choice(key=b"key-1"))
    assert len(found) == 1
    assert chosen(whole, Choice(buckets=(1, 3))) == whole[1:]
