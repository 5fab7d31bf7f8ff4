"""Masks say of each change what a plain loop over the changes would say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.batch import Flag, Mask, bucket_mask, bucket_of, build, key_hash, key_mask, select, tag_mask

from .strategies import TAGS, Example, examples, few

asked_tags = st.lists(st.sampled_from([*TAGS, "t", "tenant", "nobody's", "a\0"]), min_size=1, max_size=4)


def listed(mask: Mask | None, count: int) -> list[bool]:
    return [False] * count if mask is None else mask.tolist()


@few
@given(examples(), asked_tags)
def test_any_of_the_tags(example: Example, tags: list[str]) -> None:
    mask = tag_mask(example.batch, [tag.encode() for tag in tags])
    expected = [not set(tags).isdisjoint(change.tags) for change in example.changes]
    assert listed(mask, len(example.changes)) == expected
    assert (mask is None) == (not any(expected))


@few
@given(examples(), asked_tags)
def test_every_one_of_the_tags(example: Example, tags: list[str]) -> None:
    mask = tag_mask(example.batch, {tag.encode() for tag in tags}, every=True)
    expected = [set(tags) <= set(change.tags) for change in example.changes]
    assert listed(mask, len(example.changes)) == expected
    assert (mask is None) == (not any(expected))


def test_a_tag_that_is_only_a_piece_of_another_is_not_there() -> None:
    batch = build(["k", "k"], ["v", "v"], [["tenant-10"], ["a", "b"]])
    for absent in (b"tenant-1", b"enant-10", b"-", b"ab", b"", b"tenant-10a"):
        assert tag_mask(batch, [absent]) is None
    mask = tag_mask(batch, [b"tenant-10"])
    assert mask is not None and mask.tolist() == [True, False]
    for absent in (b"", b"a"):
        assert tag_mask(build(["k"], ["v"]), [absent]) is None


def test_every_tag_must_be_on_one_change() -> None:
    batch = build(["k", "k"], ["v", "v"], [["a"], ["b"]])
    assert tag_mask(batch, [b"a", b"b"], every=True) is None
    assert tag_mask(batch, [b"a", b"absent"], every=True) is None
    mask = tag_mask(batch, [b"a", b"a"], every=True)
    assert mask is not None and mask.tolist() == [True, False]


def test_no_tags_are_the_callers_mistake() -> None:
    with pytest.raises(AssertionError):
        tag_mask(build(["k"], ["v"]), [])


@few
@given(examples(), st.integers(0, 6), st.data())
def test_a_bucket_has_the_changes_that_hash_to_it(example: Example, doublings: int, data: st.DataObject) -> None:
    buckets = 1 << doublings
    bucket = data.draw(st.integers(0, buckets - 1))
    internal = bool(example.batch.header.flags & Flag.INTERNAL)
    expected = [internal or bucket_of(key_hash(change.key), buckets) == bucket for change in example.changes]
    assert bucket_mask(example.batch, bucket, buckets).tolist() == expected


@few
@given(examples())
def test_the_two_halves_of_a_split_have_every_change_once(example: Example) -> None:
    halves = [select(example.batch, bucket_mask(example.batch, bucket, 2)) for bucket in (0, 1)]
    found = sorted([change for half in halves for change in half.changes()], key=lambda change: change.offset)
    twice = 2 if example.batch.header.flags & Flag.INTERNAL else 1
    assert found == [change for change in example.changes for _ in range(twice)]


def test_what_is_internal_concerns_both_halves_of_a_split() -> None:
    batch = build([None], ["v"]).marked_internal()
    assert [bucket_mask(batch, bucket, 2).tolist() for bucket in (0, 1)] == [[True], [True]]


def test_buckets_that_cannot_be_are_the_callers_mistake() -> None:
    batch = build(["k"], ["v"])
    for bucket, buckets in ((0, 3), (2, 2), (-1, 2)):
        with pytest.raises(AssertionError):
            bucket_mask(batch, bucket, buckets)


@few
@given(examples(), st.sampled_from([b"", b"k", b"kk", b"\0", b"absent"]))
def test_a_key_has_the_changes_with_exactly_its_bytes(example: Example, key: bytes) -> None:
    mask = key_mask(example.batch, key, key_hash(key))
    assert mask.tolist() == [change.key == key for change in example.changes]


def test_keys_that_share_a_hash_are_told_apart() -> None:
    batch = build(["a", "b", None], ["1", "2", "3"])
    assert key_mask(batch, b"b", key_hash(b"a")).tolist() == [False, False, False]
    assert not np.any(key_mask(batch, b"", key_hash(None)))
