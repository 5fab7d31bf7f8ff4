"""Many changes at once are taken as single ones are, and refused for the same reasons."""

from typing import Any

import pytest

from hansard.batch import BatchError, LimitExceeded, build
from hansard.batch.limits import VALUE_BYTES_MAX
from hansard.client.change import checked
from hansard.client.columns import checked_columns

GOOD: list[tuple[Any, Any, Any]] = [
    ("k", "v", ()),
    (b"k", b"v", ["a", "b"]),
    (None, None, ("a",)),
    (bytearray(b"kk"), memoryview(b"vv"), []),
    ("ü", {"on": True}, ["ü"]),
    (b"", 1.5, ("a", "a")),
]


def columns(changes: list[tuple[Any, Any, Any]]) -> tuple[list[Any], list[Any], list[Any]]:
    keys, values, tags = zip(*changes, strict=True)
    return list(keys), list(values), list(tags)


@pytest.mark.parametrize("changes", [GOOD, GOOD[:1] * 3, GOOD[1:2] * 3, GOOD[2:3] * 2])
def test_each_is_what_it_would_be_by_itself(changes: list[tuple[Any, Any, Any]]) -> None:
    found = checked_columns(*columns(changes))
    singles = [checked(*change) for change in changes]
    rows = zip(found.keys, found.values, found.tags, found.sizes.tolist(), strict=True)
    assert list(rows) == [tuple(single) for single in singles]
    assert found.byte_count == sum([single.byte_count for single in singles])
    assert build(found.keys, found.values, found.tags).length <= found.byte_count


def test_without_tags_there_are_none() -> None:
    assert checked_columns(["k", "l"], ["v", "w"], None).tags == ((), ())


def test_who_gave_them_may_go_on_with_its_lists() -> None:
    keys, values, tags = ["a", "b"], ["1", "2"], [["x"], ["y"]]
    found = checked_columns(keys, values, tags)
    keys[0] = values[0] = "changed"
    tags[1].append("z")
    assert (found.keys, found.values, found.tags) == ([b"a", b"b"], [b"1", b"2"], [("x",), ("y",)])


def test_some_are_taken_as_they_lie_and_all_in_another_order() -> None:
    found = checked_columns(["a", "bb", "ccc"], ["1", "2", "3"], [["x"], [], ["y"]])
    turned = found.arranged([2, 0, 1])
    assert list(turned.keys) == [b"ccc", b"a", b"bb"] and list(turned.tags) == [("y",), ("x",), ()]
    part = turned.run(1, 3)
    assert list(part.values) == [b"1", b"2"] and part.byte_count == sum(part.sizes) == found.sizes[0] + found.sizes[1]


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        ((1, "v", ()), TypeError),
        (("k", 1.5j, ()), TypeError),
        (("k", "v", "tag"), TypeError),
        (("k", "v", {"a", "b"}), TypeError),
        (("k", "v", [b"a"]), TypeError),
        (("k", "v", [["a"]]), TypeError),
        (("k", "v", [""]), BatchError),
        (("\ud800", "v", ()), BatchError),
        (("k", "v", ["\ud800"]), BatchError),
        (("k" * 40_000, "v", ()), LimitExceeded),
        (("k", b"v" * (VALUE_BYTES_MAX + 1), ()), LimitExceeded),
        (("k", "v", ["t"] * 65), LimitExceeded),
        (("k", "v", ["t" * 257]), LimitExceeded),
    ],
)
def test_what_no_batch_can_hold_is_refused_as_it_is_by_itself(bad: tuple[Any, Any, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind) as alone:
        checked(*bad)
    for around in (GOOD[:1], GOOD):
        with pytest.raises(kind) as among:
            checked_columns(*columns([*around, bad]))
        assert isinstance(among.value, BatchError) and str(among.value) == str(alone.value)


def test_columns_are_of_equal_length_and_not_empty() -> None:
    for keys, values, tags in ((["k"], ["v", "w"], None), (["k"], ["v"], []), ([], [], None)):
        with pytest.raises(BatchError):
            checked_columns(keys, values, tags)
