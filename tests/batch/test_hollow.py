"""What is hollowed out keeps its key, numbers and time, and what is left whole is as it was."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hansard.batch import Mask, build, hollow, verify
from hansard.batch.change import Change

from .strategies import Example, examples, few


def expected(changes: list[Change], mask: Mask) -> list[Change]:
    pairs = zip(changes, mask, strict=True)
    hollowed = [change if whole else change._replace(value=None, tags=()) for change, whole in pairs]
    return [change for change, whole in zip(hollowed, mask, strict=True) if whole or change.connection]


@few
@given(examples(), st.data())
def test_others_changes_lose_what_they_say_and_keep_their_numbers(example: Example, data: st.DataObject) -> None:
    count = len(example.changes)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), np.bool_)
    part = hollow(example.batch, mask)
    assert verify(part.to_bytes()) == part
    assert list(part.changes()) == expected(example.changes, mask)
    header = example.batch.header
    for name in ("epoch", "base_offset", "span", "connection", "previous_series"):
        assert getattr(part.header, name) == getattr(header, name), name
    assert set(part.tag_names) == {tag.encode() for change in part.changes() for tag in change.tags}


def test_nobodys_changes_go_altogether_and_a_whole_batch_stays_the_same() -> None:
    batch = build(["a", "b"], ["1", "2"], [["x"], ["y"]])
    assert [change.key for change in hollow(batch, np.array([False, True])).changes()] == [b"b"]
    assert hollow(batch, np.array([True, True])) is batch


def test_values_that_went_take_no_room() -> None:
    batch = build(["a", "b"], [b"1" * 5000, b"2" * 5000], connection=7, first_series=3, previous_series=1)
    part = hollow(batch, np.array([True, False]))
    assert [change.series for change in part.changes()] == [3, 4]
    assert batch.length > part.length + 4900
