"""Appending: receipts, what is refused, and what is stored when only a part can be."""

import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import hansard
from hansard.embedded.changes import BATCH_CHANGES
from tests.embedded.conftest import NOON, Clock


def contents(log: hansard.Log) -> list[tuple[bytes | None, bytes | None, tuple[str, ...]]]:
    return [(change.key, change.value, change.tags) for change in log.read()]


def test_receipt_tells_offset_and_time(log: hansard.Log) -> None:
    first = log.append("k", "v", tags=["a"])
    second = log.append("k")
    assert first == (0, NOON + 1_000_000) and second == (1, NOON + 2_000_000)
    assert first.time.isoformat() == "2024-05-31T12:00:01+00:00"


def test_bytes_and_str_and_nothing_are_kept_apart(log: hansard.Log) -> None:
    log.append(b"\xff", b"raw")
    log.append("ключ", "")
    log.append(None, None)
    assert contents(log) == [(b"\xff", b"raw", ()), ("ключ".encode(), b"", ()), (None, None, ())]


def test_time_never_goes_back_even_if_the_clock_does(log: hansard.Log, clock: Clock) -> None:
    ahead = log.append("k", "1")
    clock.now_us = NOON - 3_600_000_000
    assert log.append("k", "2").timestamp == ahead.timestamp


def test_time_never_goes_back_across_reopening(tmp_path: Any, clock: Clock) -> None:
    with hansard.open(tmp_path / "log", clock_ns=clock) as log:
        before = log.append("k", "1")
    clock.now_us = 0
    with hansard.open(tmp_path / "log", clock_ns=clock) as log:
        assert log.append("k", "2") == (1, before.timestamp)


def test_many_are_given_as_tuples_dicts_or_new_changes(log: hansard.Log) -> None:
    receipts = log.append_many(
        [("a", "1"), ["b", "2", ["t"]], {"key": "c", "tags": ("u", "v")}, hansard.NewChange("d", b"4")]
    )
    assert [receipt.offset for receipt in receipts] == [0, 1, 2, 3]
    assert contents(log) == [
        (b"a", b"1", ()),
        (b"b", b"2", ("t",)),
        (b"c", None, ("u", "v")),
        (b"d", b"4", ()),
    ]


def test_none_at_all_is_no_batch(log: hansard.Log) -> None:
    assert len(log.append_many([])) == 0
    assert log.info().end == 0


def test_many_more_than_a_batch_are_cut_by_count(log: hansard.Log) -> None:
    receipts = log.append_many((f"k{number}", "v") for number in range(2 * BATCH_CHANGES + 1))
    assert [run.change_count for run in receipts.runs] == [BATCH_CHANGES, BATCH_CHANGES, 1]
    assert receipts[-1].offset == 2 * BATCH_CHANGES == receipts[2 * BATCH_CHANGES].offset
    assert receipts[BATCH_CHANGES - 1 : BATCH_CHANGES + 1] == [
        (BATCH_CHANGES - 1, receipts[0].timestamp),
        (BATCH_CHANGES, receipts[BATCH_CHANGES].timestamp),
    ]


def test_many_more_than_a_batch_are_cut_by_bytes(log: hansard.Log) -> None:
    receipts = log.append_many([("k", bytes(3 << 20))] * 3)
    assert [run.change_count for run in receipts.runs] == [2, 1]
    assert [len(change.value or b"") for change in log.read()] == [3 << 20] * 3


def test_columns_are_one_batch(log: hansard.Log) -> None:
    receipts = log.append_columns(["a", "b"], ["1", None], [["x"], []])
    assert list(receipts) == [(0, NOON + 1_000_000), (1, NOON + 1_000_000)]
    assert contents(log) == [(b"a", b"1", ("x",)), (b"b", None, ())]


def test_columns_beyond_a_batch_are_refused_whole(log: hansard.Log) -> None:
    with pytest.raises(hansard.LimitExceeded):
        log.append_columns(["k"] * 70_000, ["v"] * 70_000)
    assert log.info().end == 0


def test_arrow_is_taken_as_batch_or_table(log: hansard.Log) -> None:
    columns = {"key": ["a", "b"], "value": [b"1", None], "tags": [["x"], None]}
    log.append_arrow(pa.RecordBatch.from_pydict(columns))
    receipts = log.append_arrow(pa.concat_tables([pa.table(columns)] * 2))
    assert [receipt.offset for receipt in receipts] == [2, 3, 4, 5]
    assert contents(log) == [(b"a", b"1", ("x",)), (b"b", None, ())] * 3


def test_arrow_larger_than_a_batch_is_cut(log: hansard.Log) -> None:
    receipts = log.append_arrow(pa.table({"key": ["k"] * 5, "value": [bytes(6 << 20)] * 5}))
    assert len(receipts) == 5 and len(receipts.runs) > 1


def test_what_one_log_gives_another_takes(log: hansard.Log, tmp_path: Any, clock: Clock) -> None:
    log.append_many([("a", "1", ["x"]), ("b", None, ["x", "y"])])
    log.append("c", "3")
    with hansard.open(tmp_path / "copy", clock_ns=clock) as copy:
        receipts = copy.append_arrow(log.scan_arrow().read_all(), keep_times=True)
        assert list(copy.read()) == list(log.read())
        assert [receipt.timestamp for receipt in receipts] == [change.timestamp for change in log.read()]
        copy.append_arrow(log.scan_arrow().read_all())
        assert all(change.timestamp > receipts[-1].timestamp for change in copy.read(since=3))


@pytest.mark.parametrize("seconds", [-3600, 3600])
def test_kept_times_may_neither_go_back_nor_lie_in_the_future(log: hansard.Log, clock: Clock, seconds: int) -> None:
    last = log.append("k", "v").timestamp
    times = pa.array([last + seconds * 1_000_000], pa.timestamp("us", "UTC"))
    table = pa.table({"key": ["a"], "value": ["1"], "timestamp": times})
    with pytest.raises((hansard.StorageError, hansard.BadInput), match="timestamp"):
        log.append_arrow(table, keep_times=True)
    assert log.append("k", "w").offset == 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ((7, "v"), "key: must be bytes, str or None, not int"),
        (("k", 1.5), "value: must be bytes, str or None, not float"),
        (("k", "v", "tag"), "a list of str is wanted, not 'tag'"),
        (("k", "v", {"tag"}), "a list of str is wanted"),
        (("k", "v", [3]), "tag: must be a str"),
        (("k", "v", [""]), "tag: is empty"),
        (("k" * 40_000, "v"), "bytes of a key is 40,000, and the limit is 32,768"),
        (("\ud800", "v"), "not valid Unicode"),
        (("k", "v", ["t"] * 65), "tags of a change is 65"),
    ],
)
def test_bad_change_is_refused_alone(log: hansard.Log, change: tuple[Any, ...], problem: str) -> None:
    with pytest.raises(hansard.BatchError, match=problem):
        log.append(*change)
    with pytest.raises(hansard.BatchError, match=problem) as caught:
        log.append_many([("fine", "v"), change])
    assert "change 1 of those given" in caught.value.__notes__[0]
    assert log.append("fine", "v").offset == 0


@pytest.mark.parametrize("change", ["text", b"kv", ("alone",), (1, 2, 3, 4), 7, {"kee": "k"}])
def test_what_is_no_change_is_refused(log: hansard.Log, change: Any) -> None:
    with pytest.raises(hansard.BadInput, match="change"):
        log.append_many([change])


def test_error_late_in_a_long_append_tells_what_is_stored(log: hansard.Log) -> None:
    def changes() -> Iterator[tuple[Any, ...]]:
        yield from ((f"k{number}", "v") for number in range(BATCH_CHANGES + 5))
        yield (7, "v")

    with pytest.raises(hansard.PartlyAppended, match=f"first {BATCH_CHANGES:,} changes are stored") as caught:
        log.append_many(changes())
    assert len(caught.value.receipts) == BATCH_CHANGES == log.info().end
    assert isinstance(caught.value.__cause__, hansard.BadInput)


def test_errors_survive_pickling() -> None:
    for error in (
        hansard.LogClosed("here"),
        hansard.LogInUse("here", 7, read_only=True),
        hansard.WrongLog("a", "b"),
        hansard.AheadOfLog(7, 3),
        hansard.OtherProcess(7),
        hansard.BadPlace("bad"),
        hansard.Unsettled(),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)
