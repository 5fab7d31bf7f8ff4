"""What a client knows of the table."""

import pytest

from hansard.batch.keyhash import bucket_of, key_hash
from hansard.client.atlas import Atlas
from hansard.wire.request import Tabled, Whereabouts

NODES = [("a", "a:1"), ("b", "b:2"), ("c", "c:3")]


def table(version: int, *levels: int, leader: int = 0) -> Tabled:
    return Tabled(0, version, "a-log", NODES, [Whereabouts(level, leader, (0, 1)) for level in levels])


def atlas(*levels: int) -> Atlas:
    one = Atlas(["seed:9", "a:1"])
    one.begin(table(1, *levels))
    return one


def test_before_there_is_a_table_there_is_one_bucket_and_the_addresses_that_were_given() -> None:
    one = Atlas(["seed:9"])
    assert (one.buckets, one.home(12345), one.members(0), one.leader(0)) == ([0], 0, [], None)
    assert one.everybody() == ["seed:9"]


def test_a_key_lives_in_the_deepest_bucket_on_its_way() -> None:
    one = atlas(4, 2, 4, 0)  # bucket 1 is not split yet
    for number in range(200):
        hash = key_hash(b"%d" % number)
        assert one.home(hash) == (bucket_of(hash, 4) if bucket_of(hash, 2) == 0 else 1)


def test_splits_are_told_one_after_the_other_with_what_was_split_off_first() -> None:
    one = atlas(2, 2)
    told = []
    for bucket, level in one.update(table(5, 8, 4, 4, 4, 8, 0, 0, 0)):
        told.append((bucket, level))
        one.split(bucket, level)
    assert told == [(0, 8), (1, 4)]
    assert {bucket: one.level(bucket) for bucket in one.buckets} == {0: 8, 1: 4, 2: 4, 3: 4, 4: 8}


def test_what_is_known_of_a_split_is_not_forgotten_for_a_table_that_is_behind() -> None:
    one = atlas(2, 2)
    one.split(0, 4)
    assert list(one.update(table(2, 2, 2))) == [] and one.level(0) == 4 and one.level(2) == 4
    assert one.members(2) == ["a:1", "b:2"], "where the whole was"
    assert list(one.update(table(0, 4, 4, 4, 4))) == [], "an older version says nothing"
    assert one.version == 2


def test_leaders_and_addresses_are_the_newest_tables() -> None:
    one = atlas(2, 2)
    assert one.leader(1) == "a:1" and one.everybody() == ["a:1", "b:2", "c:3", "seed:9"]
    assert list(one.update(table(2, 2, 2, leader=2))) == [] and one.leader(1) == "c:3"
    assert list(one.update(table(3, 2, 2, leader=-1))) == [] and one.leader(1) is None


def test_a_bucket_is_split_off_once() -> None:
    one = atlas(4, 4, 4, 4)
    with pytest.raises(AssertionError, match="rise"):
        one.split(0, 4)
