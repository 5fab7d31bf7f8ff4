"""Who may make the next checkpoint, and which one counts, by the order of the records and nothing else."""

from itertools import permutations
from typing import Any

import pytest

from hansard.checkpoint import BadRecord, Docket, End, Filed, Layer, Left, Record, Start, decoded, encoded

LASTS = 100


def start(id: str, number: int = 1, who: str = "", *, named: bool = False) -> Start:
    return Start(id=id, number=number, who=who or id, named=named, bookmark="b", lasts_us=LASTS)


def end(id: str, number: int = 1, base: str = "") -> End:
    layer = Layer(path=f"builds/{id}", rows=1, digest="same")
    return End(id=id, number=number, who=id, base=base, bookmark="b", location="/x", layers=(layer,))


def docket(*records: tuple[int, Record]) -> Docket:
    return Docket.of([Filed(record, offset, time) for offset, (time, record) in enumerate(records)])


def newest(found: Docket) -> str:
    return found.newest.record.id if found.newest is not None else ""


def holder(found: Docket) -> str:
    return found.holder.record.id if found.holder is not None else ""


def test_of_two_who_start_at_once_the_first_in_the_log_works() -> None:
    found = docket((10, start("a")), (10, start("b")))
    assert holder(found) == "a" and found.granted == {"a"}
    assert found.is_busy(10 + LASTS - 1) and not found.is_busy(10 + LASTS)


def test_one_that_is_too_slow_is_overtaken_after_the_time_that_it_has_said() -> None:
    early = docket((10, start("a")), (109, start("b")))
    assert early.granted == {"a"} and not early.overtaken
    late = docket((10, start("a")), (110, start("b")))
    assert late.granted == {"a", "b"} and holder(late) == "b"
    assert [each.record.id for each in late.overtaken] == ["a"]


def test_if_both_finish_the_first_end_counts_and_the_other_changes_nothing() -> None:
    before = [(10, start("a")), (110, start("b"))]
    for first, second in permutations("ab"):
        found = docket(*before, (120, end(first)), (130, end(second)))
        assert newest(found) == first and found.next_number == 2
        assert [each.record.id for each in found.in_vain] == [second]
        assert holder(docket(*before, (120, end(first)), (130, start("c", 2)), (140, end(second)))) == "c"


def test_an_end_is_followed_by_the_next_number_and_no_other() -> None:
    ended: list[tuple[int, Record]] = [(10, start("a")), (20, end("a"))]
    assert holder(docket(*ended)) == "" and docket(*ended).next_number == 2
    assert docket(*ended, (30, start("b", 1))).granted == {"a"}, "it has not seen that the work is done"
    assert docket(*ended, (30, start("b", 3))).granted == {"a"}
    assert docket(*ended, (30, start("b", 2))).granted == {"a", "b"}


def test_who_comes_again_under_its_name_waits_for_nobody() -> None:
    named = docket((10, start("a", who="nightly", named=True)), (11, start("b", who="nightly", named=True)))
    assert holder(named) == "b"
    assert holder(docket((10, start("a", who="x")), (11, start("b", who="x")))) == "a", "that was chance"
    other = docket((10, start("a", who="nightly", named=True)), (11, start("b", who="weekly", named=True)))
    assert holder(other) == "a"


def test_nobody_waits_for_one_that_has_left() -> None:
    left = Left(id="a", number=1, why="no room")
    assert holder(docket((10, start("a")), (11, left))) == ""
    assert docket((10, start("a")), (11, left), (12, start("b"))).granted == {"a", "b"}
    assert holder(docket((10, start("a")), (11, Left(id="b", number=1)))) == "a"


def test_where_the_first_records_are_dropped_the_rest_says_the_same() -> None:
    records: list[Record] = [start("a"), end("a"), start("b", 2), end("b", 2, "a"), start("c", 3)]
    whole: list[tuple[int, Record]] = list(enumerate(records))
    for dropped in range(len(whole)):
        found = docket(*whole[dropped:])
        assert holder(found) == "c" and found.next_number == 3, dropped
        assert newest(found) == ("b" if dropped < 4 else ""), dropped


@pytest.mark.parametrize("record", [start("a"), end("a", 3, "b"), Left(id="a", number=2, why="x")])
def test_a_record_is_read_as_it_was_written(record: Record) -> None:
    assert decoded(encoded(record)) == record


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"{}",
        b'{"record": "other", "id": "a", "number": 1}',
        encoded(Left(id="a", number=0)),
        encoded(Left(id="", number=1)),
        encoded(Left(id="../a", number=1)),
        encoded(Start(id="a", number=1, who="a", bookmark="b", lasts_us=0)),
        encoded(Start(id="a", number=1, who="a", bookmark="b", lasts_us=1 << 60)),
    ],
)
def test_what_is_no_record_is_refused(value: Any) -> None:
    with pytest.raises(BadRecord):
        decoded(value)


def test_a_later_version_may_say_more() -> None:
    assert decoded(b'{"record": "left", "id": "a", "number": 1, "mood": "sad"}') == Left(id="a", number=1)
