"""Merged, several clients' batches are one, and every change is still its client's."""

from itertools import accumulate
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.batch import Batch, Change, Flag, LimitExceeded, build, merge, select, trust, verify
from hansard.batch.columns import EMPTY_HEADER, Blobs, Columns, Tags, pack
from hansard.batch.limits import CHANGES_MAX, VALUE_BYTES_MAX

from .sealing import with_body, with_bytes
from .strategies import TAGS, contents, few


def unplaced(changes: list[Change]) -> list[Change]:
    """As a leader has them before it gives them a place and a time."""
    return [change._replace(offset=place, timestamp=0) for place, change in enumerate(changes)]


@st.composite
def clients(draw: st.DrawFn) -> list[Batch]:
    """Batches of several clients, each of its own connection, in any form that a batch may have."""
    batches = []
    for number in range(draw(st.integers(2, 4))):
        content = draw(contents(max_size=4))
        count = len(content.values)
        match draw(st.sampled_from(["nobody's", "counting", "gaps", "several"])):
            case "nobody's":
                batch = build(*content)
            case "counting":
                batch = build(*content, connection=number + 1, first_series=10 * number, previous_series=-1)
            case "gaps":
                batch = build(*content, connection=number + 1, series=range(3, 3 + 7 * count, 7))
            case _:
                connections = [100 * (number + 1) + place % 2 for place in range(count)]
                batch = build(*content, connections=connections, series=range(count))
        if draw(st.booleans()):
            batch = batch.stamped(epoch=1, base_offset=1000 * number, timestamp=7)
        if draw(st.booleans()):
            batch = select(batch, batch.offsets % 2 == 0)
        batches.append(batch.compressed() if draw(st.booleans()) else batch)
    return batches


@few
@given(clients())
def test_merged_is_all_the_changes_one_after_another(batches: list[Batch]) -> None:
    merged = merge(batches)
    assert verify(merged.to_bytes()) == merged
    assert list(merged.changes()) == unplaced([change for batch in batches for change in batch.changes()])


@few
@given(clients())
def test_the_dictionary_has_every_tag_once(batches: list[Batch]) -> None:
    names = [name for batch in batches for name in batch.tag_names]
    assert merge(batches).tag_names == list(dict.fromkeys(names))


@few
@given(clients(), clients())
def test_merging_merged_batches_is_merging_once(some: list[Batch], others: list[Batch]) -> None:
    raised = [  # so that no connection occurs on both sides
        build(
            batch.keys(),
            batch.values(),
            [change.tags for change in batch.changes()],
            connections=[number + 10_000 for number in batch.connections.tolist()],
            series=batch.series.tolist() if batch.connections.any() else range(len(batch)),
        )
        for batch in others
        if len(batch)
    ]
    whole = merge([*some, *raised])
    assert list(merge([merge(some), *raised]).changes()) == list(whole.changes())


def merged_by_hand(batches: list[Batch]) -> Batch:
    """The definition: the changes one by one, under a dictionary of the batches' own, one after another."""
    changes = [change for batch in batches for change in batch.changes()]
    names = list(dict.fromkeys(name for batch in batches for name in batch.tag_names))
    flags = [batch.header.flags for batch in batches]
    numbered = any(batch.header.connection or batch.header.flags & Flag.CONNECTIONS for batch in batches)

    def blobs(texts: list[bytes | None], flag: int) -> Blobs:
        whole = [text or b"" for text in texts]
        present = [text is not None for text in texts] if any(own & flag for own in flags) else None
        return Blobs(ends([len(text) for text in whole]), whole, None if present is None else np.array(present))

    columns = Columns(
        hashes=np.concatenate([batch.key_hashes for batch in batches]),
        keys=blobs([change.key for change in changes], Flag.NULL_KEYS),
        values=blobs([change.value for change in changes], Flag.NULL_VALUES),
        tags=Tags(
            ends([len(change.tags) for change in changes]),
            np.array([names.index(tag.encode()) for change in changes for tag in change.tags], np.int32),
            names,
        ),
        connections=np.array([change.connection for change in changes], np.int64) if numbered else None,
        series=np.array([change.series for change in changes], np.int64) if numbered else None,
        offsets=None if changes else np.zeros(0, np.int32),
    )
    header = EMPTY_HEADER._replace(span=max(len(changes), 1), flags=flags[0] & Flag.INTERNAL)
    return pack(header, columns)


def ends(lengths: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array([*accumulate(lengths, initial=0)], np.int32)


def a_client(random: Random, number: int) -> Batch:
    """Nearly always a single change, in any shape that one can have."""
    count = 1 if random.randrange(30) else 2
    keys = random.choices([None, b"", b"k", b"key", random.randbytes(9)], (1, 1, 3, 3, 3), k=count)
    values = random.choices([None, b"", b"v", random.randbytes(40)], (1, 1, 3, 3), k=count)
    tags = [random.choices(TAGS, k=random.choice((0, 0, 1, 1, 2, 3, 64))) for _ in range(count)]
    if number % 7 == 0 or not random.randrange(8):
        return build(keys, values, tags)
    if not random.randrange(60):
        return build(keys, values, tags, connections=[number] * count, series=range(5, 5 + count))
    batch = build(keys, values, tags, connection=number, first_series=random.randrange(1 << 40))
    if not random.randrange(60):
        batch = select(batch, batch.offsets == 0)
    return batch if random.randrange(60) else batch.compressed()


def test_merged_single_changes_are_the_very_bytes_of_the_definition() -> None:
    random = Random(1)
    for _ in range(600):
        count = random.choice((2, 2, 3, 5, 8, 40))
        batches = [a_client(random, number) for number in range(1, count + 1)]
        if not random.randrange(4):
            batches = [build(batch.keys(), batch.values()) for batch in batches]
        if not random.randrange(4):
            batches = [batch.marked_internal() for batch in batches]
        if random.randrange(2):
            batches = [trust(bytes(8) + batch.to_bytes(), 8) for batch in batches]
        assert merge(batches).to_bytes() == merged_by_hand(batches).to_bytes()


def test_single_changes_that_no_builder_makes_so_are_merged_as_well() -> None:
    """Codes in another order than the tags', bitmaps where nothing is missing: sound, if odd."""
    backwards = build(["k"], ["v"], [["a", "b"]])
    raw = with_bytes(backwards.to_bytes(), backwards.layout.tag_codes, bytes([1, 0, 0, 0, 0, 0, 0, 0]))
    nothing_missing = build(["k"], ["value"], [["b"]])
    body = bytes(nothing_missing.body)
    at = nothing_missing.layout.blobs
    padded = (body[:at] + b"\1\1" + body[at:]).rstrip(b"\0")
    padded += bytes(-len(padded) % 8)
    flagged = with_body(nothing_missing.to_bytes(), padded, flags=Flag.NULL_KEYS | Flag.NULL_VALUES)
    odd = [verify(raw), verify(flagged), build(["k"], ["v"], [["b", "a"]])]
    assert [change.tags for change in odd[0].changes()] == [("b", "a")]
    for batches in (odd, odd[::-1], [odd[1], odd[0], odd[1]], odd[:2], odd[1:]):
        merged = merge(batches)
        assert merged.to_bytes() == merged_by_hand(batches).to_bytes()
        assert verify(merged.to_bytes()) == merged


def test_one_batch_is_merged_already() -> None:
    batch = build(["a"], ["1"], timestamps=[3])
    assert merge([batch]) is batch


def test_nobodys_changes_need_no_columns_of_numbers() -> None:
    merged = merge([build(["a"], ["1"]), build(["b"], ["2"])])
    assert not merged.header.flags & (Flag.CONNECTIONS | Flag.SERIES)
    assert merged == build(["a", "b"], ["1", "2"])


def test_each_change_keeps_its_connection_and_series() -> None:
    merged = merge(
        [
            build(["a", "b"], ["1", "2"], connection=5, first_series=7, previous_series=3),
            build(["c"], ["3"]),
            build(["d", "e"], ["4", "5"], connection=2, series=[1, 9]),
            build(["f"], ["6"], connection=5, first_series=9, previous_series=8),
        ]
    )
    assert merged.connections.tolist() == [5, 5, 0, 2, 2, 5]
    assert merged.series.tolist() == [7, 8, 0, 1, 9, 9]
    assert (merged.header.connection, merged.header.first_series, merged.header.previous_series) == (0, 0, -1)
    assert verify(merged.to_bytes()) == merged


def test_the_leader_stamps_what_it_has_merged() -> None:
    merged = merge([build(["a"], ["1"], connection=1), build(["b"], ["2"], connection=2)])
    stamped = merged.stamped(epoch=4, base_offset=70, timestamp=8)
    assert stamped.body is merged.body
    assert [change.offset for change in stamped.changes()] == [70, 71]


def test_many_single_changes_become_one_batch() -> None:
    singles = [
        trust(build([f"key-{i}"], [f"value-{i}"], [["all", f"tag-{i % 3}"]], connection=i + 1).to_bytes())
        for i in range(1000)
    ]
    merged = merge(singles)
    assert merged.keys() == [f"key-{i}".encode() for i in range(1000)]
    assert merged.connections.tolist() == list(range(1, 1001))
    assert merged.tag_names == [b"all", b"tag-0", b"tag-1", b"tag-2"]
    assert merged.length < sum(single.length for single in singles) / 1.5


def test_dictionaries_of_the_same_bytes_are_told_apart() -> None:
    tags = [["ab", "c"], ["a", "bc"], ["abc"], ["ab", "c"]]
    merged = merge([build([None], ["v"], [own]) for own in tags])
    assert [list(change.tags) for change in merged.changes()] == tags


def test_parts_with_nothing_in_them_merge_into_nothing() -> None:
    batch = build(["a"], ["1"], [["x"]], connection=1)
    nothing = select(batch, batch.offsets < 0)
    merged = merge([nothing, nothing])
    assert len(merged) == 0
    assert verify(merged.to_bytes()) == merged
    assert merge([nothing, batch]).keys() == [b"a"]


def test_internal_batches_are_merged_with_each_other_only() -> None:
    shown, internal = build(["a"], ["1"]), build(["b"], ["2"]).marked_internal()
    assert merge([internal, internal]).header.flags & Flag.INTERNAL
    with pytest.raises(AssertionError, match="never with"):
        merge([shown, internal])


def test_too_many_changes_are_refused() -> None:
    half = build(["k"] * (CHANGES_MAX // 2), ["v"] * (CHANGES_MAX // 2))
    assert len(merge([half, half])) == CHANGES_MAX
    with pytest.raises(LimitExceeded, match="changes in a batch"):
        merge([half, half, build(["k"], ["v"])])


def test_far_too_many_bytes_are_refused_before_the_ends_overflow() -> None:
    large = build(["k"], [bytes(VALUE_BYTES_MAX)])
    with pytest.raises(LimitExceeded, match="bytes in a batch"):
        merge([large] * 300)
    with pytest.raises(LimitExceeded, match="bytes in a batch"):
        merge([large, large])
