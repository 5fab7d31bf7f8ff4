"""A part of a batch is the changes that were chosen, exactly as they were, where they were."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.batch import Batch, Change, Flag, Mask, Part, build, gather, merge, portion, select, since, verify

from .strategies import Example, examples, few

BATCH = build(
    ["a", None, "c", "d"],
    ["1", "2", None, "4"],
    [["x", "y"], ["y"], [], ["z"]],
    connection=7,
    first_series=50,
    previous_series=3,
).stamped(epoch=2, base_offset=100, timestamp=9)


def mask_of(*places: int, count: int = 4) -> Mask:
    mask = np.zeros(count, np.bool_)
    mask[list(places)] = True
    return mask


def masks(count: int) -> st.SearchStrategy[Mask]:
    bits = st.lists(st.booleans(), min_size=count, max_size=count)
    return bits.map(lambda chosen: np.array(chosen, np.bool_))


def check_part(whole: Batch, part: Batch, expected: list[Change]) -> None:
    assert list(part.changes()) == expected
    assert verify(part.to_bytes()) == part
    assert len(part) == len(expected)
    for name in ("epoch", "base_offset", "span", "connection", "previous_series"):
        assert getattr(part.header, name) == getattr(whole.header, name), name
    assert part.header.flags & Flag.INTERNAL == whole.header.flags & Flag.INTERNAL
    carried = {tag.encode() for change in expected for tag in change.tags}
    if part is not whole:
        assert set(part.tag_names) == carried


@few
@given(examples(), st.data())
def test_select_is_what_a_filter_over_the_changes_gives(example: Example, data: st.DataObject) -> None:
    mask = data.draw(masks(len(example.changes)))
    part = select(example.batch, mask)
    check_part(example.batch, part, [change for change, wanted in zip(example.changes, mask, strict=True) if wanted])


@few
@given(examples(), st.data())
def test_a_part_of_a_part_is_a_part_of_the_whole(example: Example, data: st.DataObject) -> None:
    first = data.draw(masks(len(example.changes)))
    part = select(example.batch, first)
    second = data.draw(masks(len(part)))
    both = first.copy()
    both[first] = second
    assert list(select(part, second).changes()) == list(select(example.batch, both).changes())
    check_part(example.batch, select(part, second), list(select(example.batch, both).changes()))


def test_parts_of_several_batches_become_one_with_all_that_they_were() -> None:
    mixed = merge([build(["a"], ["1"], [["x"]], connection=4, first_series=7), build([None], ["2"], [["y", "x"]])])
    batches = [
        build(["a", None, "c"], ["1", "2", None], [["x"], [], ["y"]]).stamped(epoch=1, base_offset=10, timestamp=5),
        build(["d", "e"], ["3", "4"], [["z"], ["x"]], connection=9, first_series=3).stamped(
            epoch=2, base_offset=20, timestamp=6
        ),
        mixed.stamped(epoch=2, base_offset=22, timestamp=6),
    ]
    for choice in itertools.product(([0, 2], [1]), ([1], [0, 1]), ([0], [1], [0, 1])):
        parts = [Part(batch, np.array(places)) for batch, places in zip(batches, choice, strict=True)]
        gathered = verify(gather(parts).to_bytes())
        wanted = [list(batch.changes())[place] for batch, places in parts for place in places.tolist()]
        assert list(gathered.changes()) == wanted
        assert (gathered.header.base_offset, gathered.header.end_offset, gathered.header.epoch) == (10, 24, 2)


def test_all_of_a_batch_is_the_batch_itself() -> None:
    assert select(BATCH, mask_of(0, 1, 2, 3)) is BATCH


def test_nothing_of_a_batch_still_covers_its_offsets() -> None:
    nothing = select(BATCH, mask_of())
    assert list(nothing.changes()) == []
    assert (len(nothing), nothing.header.span, nothing.header.end_offset) == (0, 4, 104)
    assert nothing.tag_names == []
    assert verify(nothing.to_bytes()) == nothing
    assert select(nothing, mask_of(count=0)) is nothing


def test_offsets_series_and_times_stay_as_they_were() -> None:
    part = select(BATCH, mask_of(1, 3))
    assert part.offsets.tolist() == [101, 103]
    assert part.series.tolist() == [51, 53]
    assert part.timestamps.tolist() == [9, 9]
    assert (part.header.first_series, part.header.previous_series) == (51, 3)
    assert part.header.end_offset == BATCH.header.end_offset


def test_the_dictionary_holds_only_the_tags_that_are_left() -> None:
    assert select(BATCH, mask_of(1, 2)).tag_names == [b"y"]
    assert select(BATCH, mask_of(2)).tag_names == []
    assert b"x" not in select(BATCH, mask_of(1, 2, 3)).to_bytes()


def test_a_bitmap_is_dropped_with_the_last_change_that_needed_it() -> None:
    part = select(BATCH, mask_of(0, 3))
    assert not part.header.flags & (Flag.NULL_KEYS | Flag.NULL_VALUES)
    assert select(BATCH, mask_of(1)).header.flags & Flag.NULL_KEYS


def test_the_header_has_the_times_of_what_is_left() -> None:
    batch = build(list("abc"), list("123"), timestamps=[10, 20, 30])
    part = select(batch, mask_of(1, 2, count=3))
    assert (part.header.first_timestamp, part.header.last_timestamp) == (20, 30)
    nothing = select(batch, mask_of(count=3))
    assert (nothing.header.first_timestamp, nothing.header.last_timestamp) == (10, 10)


def test_a_mask_of_another_length_is_the_callers_mistake() -> None:
    with pytest.raises(AssertionError):
        select(BATCH, mask_of(count=3))


@few
@given(examples(), st.data())
def test_a_closed_part_leaves_the_offsets_after_it_to_others(example: Example, data: st.DataObject) -> None:
    part = select(example.batch, data.draw(masks(len(example.changes))))
    closed = part.closed()
    assert verify(closed.to_bytes()) == closed
    assert list(closed.changes()) == list(part.changes())
    last = [change.offset + 1 for change in part.changes()][-1:]
    assert [closed.header.end_offset] == (last or [part.header.end_offset])


@few
@given(examples(), st.data())
def test_since_an_offset_is_the_rest_and_begins_there(example: Example, data: st.DataObject) -> None:
    header = example.batch.header
    if header.span < 2:
        return
    offset = data.draw(st.integers(header.base_offset + 1, header.end_offset - 1))
    rest = since(example.batch, offset)
    assert verify(rest.to_bytes()) == rest
    assert list(rest.changes()) == [change for change in example.changes if change.offset >= offset]
    assert (rest.header.base_offset, rest.header.end_offset) == (offset, header.end_offset)


# What a client has built, cut before it is stored.


@few
@given(examples(), st.data())
def test_a_portion_is_what_the_client_would_have_built_of_these_changes(example: Example, data: st.DataObject) -> None:
    places = data.draw(masks(len(example.changes))).nonzero()[0]
    header = example.batch.header
    if not len(places) or header.flags & Flag.CONNECTIONS:
        return
    chosen = [example.changes[place] for place in places]
    series = [change.series for change in chosen]
    is_dense = series[-1] - series[0] == len(series) - 1
    built = build(
        [change.key for change in chosen],
        [change.value for change in chosen],
        [change.tags for change in chosen],
        connection=header.connection,
        first_series=series[0],
        previous_series=series[0] - 1 if header.connection else -1,
        series=None if is_dense or not header.connection else series,
    )
    found = portion(example.batch, places, series[0] - 1 if header.connection else -1)
    assert list(found.changes()) == list(built.changes()) and found.header._replace(crc=0) == built.header._replace(
        crc=0
    )
    assert verify(found.to_bytes()) == built
