"""Reading: every way of asking gives what a list of all changes would give."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hansard
from hansard.embedded import open_on
from hansard.storage.settings import StoreSettings
from sim.disk import SimDisk
from tests.embedded.conftest import NOON, Clock

SMALL = StoreSettings(block_bytes=200, segment_bytes=2_000)


def offsets(log: hansard.Log, **wanted: Any) -> list[int]:
    return [change.offset for change in log.read(**wanted)]


@pytest.fixture
def filled(log: hansard.Log) -> hansard.Log:
    """Ten changes in three batches, the tens of a second apart; a batch has one time."""
    log.append_many([(f"k{number % 3}", f"v{number}", [f"t{number % 2}", "all"]) for number in range(4)])
    log.append_many([(f"k{number % 3}", f"v{number}", [f"t{number % 2}", "all"]) for number in range(4, 8)])
    log.append_many([(f"k{number % 3}", f"v{number}", [f"t{number % 2}"]) for number in range(8, 10)])
    return log


def test_everything_in_order(filled: hansard.Log) -> None:
    assert offsets(filled) == list(range(10))
    assert offsets(filled, order="desc") == list(range(9, -1, -1))


def test_since_and_until_are_offsets(filled: hansard.Log) -> None:
    assert offsets(filled, since=3, until=6) == [3, 4, 5]
    assert offsets(filled, since="3", until="6") == [3, 4, 5]
    assert offsets(filled, since=3, until=6, order="desc", limit=2) == [5, 4]
    assert offsets(filled, since=7, until=3) == []
    assert offsets(filled, since=10) == offsets(filled, since=10_000) == offsets(filled, until=0) == []


def test_since_and_until_are_times(filled: hansard.Log) -> None:
    second = datetime(2024, 5, 31, 12, 0, 2, tzinfo=UTC)
    assert offsets(filled, since=second) == [4, 5, 6, 7, 8, 9]
    assert offsets(filled, until=second) == [0, 1, 2, 3]
    assert offsets(filled, since="2024-05-31T14:00:02+02:00", until="2024-05-31T12:00:02.000001Z") == [4, 5, 6, 7]
    elsewhere = second.astimezone(timezone(timedelta(hours=-7)))
    assert offsets(filled, since=elsewhere + timedelta(microseconds=1)) == [8, 9]
    assert offsets(filled, since=datetime(1960, 1, 1, tzinfo=UTC)) == list(range(10))
    assert offsets(filled, since=datetime(9999, 1, 1, tzinfo=UTC)) == []


def test_since_and_until_are_bookmarks(filled: hansard.Log) -> None:
    now = filled.bookmark()
    filled.append("later", "v")
    assert offsets(filled, since=now) == [10]
    assert offsets(filled, since=str(now)) == [10]
    assert offsets(filled, since=filled.bookmark_at("2024-05-31T12:00:03Z"), until=now) == [8, 9]


def test_tags_any_and_all(filled: hansard.Log) -> None:
    assert offsets(filled, tags=["t1"]) == [1, 3, 5, 7, 9]
    assert offsets(filled, tags=["t1", "all"]) == [*range(8), 9]
    assert offsets(filled, tags=["t1", "all"], match="all") == [1, 3, 5, 7]
    assert offsets(filled, tags=["t1"], order="desc", limit=2) == [9, 7]
    assert offsets(filled, tags=["none"]) == []
    assert offsets(filled, tags=[]) == list(range(10))


def test_key(filled: hansard.Log) -> None:
    assert offsets(filled, key="k1") == [1, 4, 7]
    assert offsets(filled, key=b"k1", limit=2) == [1, 4]
    assert offsets(filled, key="k1", order="desc", limit=2) == [7, 4]
    assert offsets(filled, key="k1", tags=["t1"]) == [1, 7]
    assert offsets(filled, key="k") == []


def test_limit_nothing(filled: hansard.Log) -> None:
    assert offsets(filled, limit=0) == []


def test_end_is_the_one_at_the_call(filled: hansard.Log) -> None:
    changes = filled.read()
    filled.append("later", "v")
    assert len(list(changes)) == 10


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ({"since": datetime(2024, 5, 31, 12)}, "does not say in which time zone"),  # noqa: DTZ001
        ({"since": "2024-05-31"}, r"write 2024-05-31T00:00:00Z or"),
        ({"since": "yesterday"}, "neither a bookmark, an offset nor a time"),
        ({"until": -1}, "offsets begin at 0"),
        ({"since": 1.5}, "not float"),
        ({"since": True}, "not bool"),
        ({"tags": "t1"}, r"write \['t1'\]"),
        ({"match": "some"}, "'any' or 'all'"),
        ({"order": "up"}, "'asc' or 'desc'"),
        ({"limit": -1}, "leave it out"),
        ({"key": 7}, "must be bytes or str"),
    ],
)
def test_bad_argument_is_refused_at_the_call(filled: hansard.Log, wanted: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        filled.read(**wanted)
    with pytest.raises(ValueError, match=problem):
        filled.scan_arrow(**wanted)


def test_pages_forwards(filled: hansard.Log) -> None:
    first = filled.page(limit=4)
    assert [change.offset for change in first.changes] == [0, 1, 2, 3] and first.at_start and not first.at_end
    second = filled.page(limit=4, since=first.bookmark)
    assert [change.offset for change in second.changes] == [4, 5, 6, 7] and not second.at_start and not second.at_end
    third = filled.page(limit=4, since=str(second.bookmark))
    assert [change.offset for change in third.changes] == [8, 9] and third.at_end
    assert filled.page(since=third.bookmark) == ([], third.bookmark, False, True)
    filled.append("later", "v")
    assert [change.offset for change in filled.page(since=third.bookmark).changes] == [10]


def test_pages_backwards(filled: hansard.Log) -> None:
    first = filled.page(limit=6, order="desc")
    assert [change.offset for change in first.changes] == [9, 8, 7, 6, 5, 4] and first.at_end and not first.at_start
    second = filled.page(limit=6, order="desc", until=first.bookmark)
    assert [change.offset for change in second.changes] == [3, 2, 1, 0] and second.at_start and not second.at_end


def test_page_of_an_empty_log_is_at_both_ends(log: hansard.Log) -> None:
    page = log.page()
    assert page.changes == [] and page.at_start and page.at_end
    log.append("k", "v")
    assert len(log.page(since=page.bookmark).changes) == 1


def test_page_of_nothing_is_refused(log: hansard.Log) -> None:
    with pytest.raises(hansard.BadInput, match="at least one"):
        log.page(limit=0)


def test_arrow_has_the_same_changes(filled: hansard.Log) -> None:
    table = filled.scan_arrow(tags=["t1"], limit=3).read_all()
    assert table.schema == hansard.SCHEMA
    assert table.column("offset").to_pylist() == [1, 3, 5]
    assert table.column("key").to_pylist() == [b"k1", b"k0", b"k2"]
    assert table.column("tags").to_pylist() == [["t1", "all"]] * 3


def test_arrow_of_nothing_has_the_schema(filled: hansard.Log) -> None:
    table = filled.scan_arrow(since=10).read_all()
    assert table.num_rows == 0 and table.schema == hansard.SCHEMA


def test_arrow_reader_raises_the_logs_own_errors(filled: hansard.Log) -> None:
    reader = filled.scan_arrow()
    filled.close()
    with pytest.raises(hansard.LogClosed):
        reader.read_all()


CHANGES = st.lists(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", "c", None]), st.lists(st.sampled_from("xyz"), max_size=2, unique=True)),
        min_size=1,
        max_size=8,
    ),
    max_size=8,
)


@settings(max_examples=60)
@given(
    CHANGES,
    st.sets(st.integers(0, 7), max_size=3),
    st.sampled_from([(), ("x",), ("x", "y")]),
    st.sampled_from(["any", "all"]),
    st.sampled_from([None, "a"]),
    st.sampled_from(["asc", "desc"]),
    st.tuples(st.integers(0, 40), st.integers(0, 70)),
    st.integers(1, 5),
)
def test_reads_and_pages_agree_with_a_list(
    batches: list[list[tuple[str | None, list[str]]]],
    filed_after: set[int],
    tags: tuple[str, ...],
    match: Any,
    key: str | None,
    order: Any,
    bounds: tuple[int, int],
    limit: int,
) -> None:
    since, until = bounds
    with open_on(SimDisk(), clock_ns=Clock(), settings=SMALL) as log:
        for number, batch in enumerate(batches):
            log.append_many([(name, f"v{number}", names) for name, names in batch])
            if number in filed_after:
                log.retain()  # files, and drops nothing
        everything = list(log.read())
        assert [(change.key, list(change.tags)) for change in everything] == [
            (name.encode() if name else None, names) for batch in batches for name, names in batch
        ]
        quantify = any if match == "any" else all
        expected = [
            change
            for change in everything
            if since <= change.offset < until
            and (not tags or quantify(tag in change.tags for tag in tags))
            and (key is None or change.key == key.encode())
        ]
        if order == "desc":
            expected.reverse()
        wanted: dict[str, Any] = {"tags": tags, "match": match, "key": key, "order": order}
        assert list(log.read(since=since, until=until, **wanted)) == expected
        assert list(log.read(since=since, until=until, limit=limit, **wanted)) == expected[:limit]
        paged: list[hansard.Change] = []
        where: dict[str, Any] = {"since": since, "until": until}
        while True:
            page = log.page(limit=limit, **where, **wanted)
            paged += page.changes
            if len(page.changes) < limit:
                break
            where["until" if order == "desc" else "since"] = page.bookmark
        assert paged == expected


def test_noon_is_noon() -> None:
    assert hansard.Receipt(0, NOON).time == datetime(2024, 5, 31, 12, tzinfo=UTC)
