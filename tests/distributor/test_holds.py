"""What is held is not dropped: no floor rises above a hold, and no hold is taken below a floor."""

import pytest
from msgspec.structs import replace

from hansard.distributor.command import Configure, Double, Hold, LetGo, Retire
from hansard.distributor.distributor import Distributor
from hansard.distributor.holds import HOLDS_MAX, LASTS_US_MAX, NAME_BYTES_MAX, PLACES_MAX, Held, Holds, Image
from hansard.distributor.orders import Standing
from hansard.distributor.settings import Keep, Settings
from tests.distributor.company import Company
from tests.distributor.storm import Storm

SECOND = 1_000_000
NOW_US = 1_700_000_000 * SECOND
KEEP = Keep(change_count=10)


@pytest.fixture
def cluster() -> Company:
    found = Company()
    found.arrive("a", "b", "c")
    found.found(2, Settings(retain_changes=10))
    found.settle()
    return found


def retire(cluster: Company, floors: dict[int, int], at_us: int = NOW_US, keep: Keep = KEEP, node: str = "") -> None:
    """By who leads each of them."""
    for bucket, floor in floors.items():
        leader = cluster.distributor.buckets[bucket].leader
        assert leader is not None
        cluster.propose(Retire(((bucket, floor),), keep, at_us), node or leader.node)


def hold(
    cluster: Company, name: str = "spark", offsets: dict[int, int] | None = None, at_us: int = NOW_US, lasts_s: int = 60
) -> str:
    """Why not."""
    wish = Hold(name, offsets if offsets is not None else {0: 5, 1: 5}, lasts_s * SECOND, at_us)
    cluster.propose(wish)
    held = cluster.distributor.holds.held.get(name)
    taken = held is not None and (held.asked_us, held.offsets) == (at_us, wish.offsets)
    return "" if taken else cluster.distributor.holds.refusal(wish, cluster.distributor.buckets) or "changed"


def floors(cluster: Company) -> dict[int, int]:
    return cluster.distributor.holds.floors


def test_without_a_hold_the_leader_says_what_may_go(cluster: Company) -> None:
    version = cluster.distributor.version
    retire(cluster, {0: 7, 1: 3})
    retire(cluster, {0: 6})
    assert floors(cluster) == {0: 7, 1: 3}
    assert cluster.distributor.version == version, "the table is the same"


def test_nobody_but_the_leader_of_a_bucket_says_what_may_go_of_it(cluster: Company) -> None:
    leader = cluster.distributor.buckets[0].leader
    assert leader is not None
    for node in sorted(set(cluster.here) - {leader.node}):
        retire(cluster, {0: 7}, node=node)
    cluster.propose(Retire(((2, 7), (-1, 7)), KEEP, NOW_US))
    assert floors(cluster) == {}


def test_what_was_not_to_be_kept_under_former_settings_is_kept(cluster: Company) -> None:
    cluster.order(Configure(retain_changes=0))
    retire(cluster, {0: 7})
    assert floors(cluster) == {} and cluster.distributor.settings.keep == Keep()
    cluster.order(Configure(retain_bytes=1000, retain_age_us=3600 * SECOND))
    retire(cluster, {0: 7}, keep=Keep(3600 * SECOND, 1000))
    assert floors(cluster) == {0: 7}


def test_a_hold_stops_all_floors_at_its_place_until_it_is_released(cluster: Company) -> None:
    assert not hold(cluster, offsets={0: 5, 1: 8})
    retire(cluster, {0: 9, 1: 9})
    assert floors(cluster) == {0: 5, 1: 8}
    cluster.propose(LetGo("spark", NOW_US + 1))
    retire(cluster, {0: 9, 1: 9})
    assert floors(cluster) == {0: 9, 1: 9}


def test_the_lowest_of_several_holds_counts(cluster: Company) -> None:
    assert not hold(cluster, "one", {0: 5, 1: 8}) and not hold(cluster, "other", {0: 6, 1: 2})
    retire(cluster, {0: 9, 1: 9})
    assert floors(cluster) == {0: 5, 1: 2}


def test_a_hold_that_is_over_holds_nothing(cluster: Company) -> None:
    assert not hold(cluster, lasts_s=60)
    retire(cluster, {0: 9}, NOW_US + 60 * SECOND - 1)
    assert floors(cluster) == {0: 5}
    retire(cluster, {0: 9}, NOW_US + 60 * SECOND)
    assert floors(cluster) == {0: 9} and not cluster.distributor.holds.held


def test_a_hold_that_is_renewed_and_moved_goes_on(cluster: Company) -> None:
    at_us = 0
    for turn in range(10):
        at_us = NOW_US + turn * 40 * SECOND
        assert not hold(cluster, offsets={0: 5 + turn, 1: 5 + turn}, at_us=at_us)
        retire(cluster, {0: 100, 1: 3}, at_us + 39 * SECOND)
        assert floors(cluster) == {0: 5 + turn, 1: 3}
    assert hold(cluster, offsets={0: 13, 1: 3}, at_us=at_us + 1).startswith("bucket 0 is retained from offset 14 on")
    assert cluster.distributor.holds.held["spark"].offsets == {0: 14, 1: 14}, "it is still where it was"


def test_a_place_that_is_not_retained_any_more_is_refused_and_what_is_retained_is_said(cluster: Company) -> None:
    retire(cluster, {0: 7, 1: 9})
    assert hold(cluster, offsets={0: 6, 1: 9}) == "bucket 0 is retained from offset 7 on, and not from 6"
    assert hold(cluster, offsets={0: 6, 1: 2}).endswith("and 1 more buckets have begun after their places")
    assert hold(cluster, offsets={0: 7}), "of a bucket that is not in it nothing was read"
    assert not hold(cluster, offsets={0: 7, 1: 9})


def test_a_hold_of_one_whose_clock_is_behind_lasts_as_long_as_it_should(cluster: Company) -> None:
    retire(cluster, {0: 1}, NOW_US + 100 * SECOND)
    assert not hold(cluster, lasts_s=60, at_us=NOW_US)
    assert cluster.distributor.holds.wall_us == NOW_US + 100 * SECOND, "time does not go back"
    retire(cluster, {0: 9}, NOW_US + 159 * SECOND)
    assert floors(cluster) == {0: 5}
    retire(cluster, {0: 9}, NOW_US + 160 * SECOND)
    assert floors(cluster) == {0: 9}


def test_a_late_request_does_not_undo_a_newer_one(cluster: Company) -> None:
    assert not hold(cluster, offsets={0: 8, 1: 8}, at_us=NOW_US + 10)
    assert hold(cluster, offsets={0: 5, 1: 5}, at_us=NOW_US + 9) == "'spark' was set by a later request"
    cluster.propose(LetGo("spark", NOW_US + 9))
    assert cluster.distributor.holds.held["spark"].offsets == {0: 8, 1: 8}
    cluster.propose(LetGo("spark", NOW_US + 10))
    cluster.propose(LetGo("spark", NOW_US + 10))
    assert not cluster.distributor.holds.held


def test_a_half_that_is_not_in_a_hold_is_held_where_its_parent_is(cluster: Company) -> None:
    retire(cluster, {0: 3, 1: 4})
    assert not hold(cluster, offsets={0: 5, 1: 8})
    cluster.order(Double(8))
    cluster.settle()
    assert len(cluster.distributor.buckets) == 8
    assert floors(cluster) == {0: 3, 2: 3, 4: 3, 6: 3, 1: 4, 3: 4, 5: 4, 7: 4}
    retire(cluster, dict.fromkeys(range(8), 100))
    assert floors(cluster) == {0: 5, 2: 5, 4: 5, 6: 5, 1: 8, 3: 8, 5: 8, 7: 8}


def test_after_a_split_each_half_is_held_where_it_was_read_to(cluster: Company) -> None:
    cluster.order(Double(4))
    cluster.settle()
    assert not hold(cluster, offsets={0: 90, 1: 8, 2: 5, 3: 8})
    retire(cluster, {0: 100, 2: 100})
    assert floors(cluster) == {0: 90, 2: 5}


def test_what_is_no_hold_is_refused(cluster: Company) -> None:
    assert "bytes" in hold(cluster, "")
    assert "bytes" in hold(cluster, "x" * (NAME_BYTES_MAX + 1))
    assert hold(cluster, offsets={2: 1}) == "there is no bucket 2"
    assert hold(cluster, offsets={-1: 1}) == "there is no bucket -1"
    assert "no offset" in hold(cluster, offsets={0: -1})
    assert "no offset" in hold(cluster, offsets={0: 1 << 63})
    assert "lasts" in hold(cluster, lasts_s=0)
    assert "lasts" in hold(cluster, lasts_s=LASTS_US_MAX // SECOND + 1)
    assert not cluster.distributor.holds.held


def test_before_there_are_buckets_nothing_can_be_held() -> None:
    cluster = Company()
    cluster.arrive("a")
    assert hold(cluster, offsets={}) == "this cluster has no buckets yet"


def test_an_idle_bucket_is_not_held_by_name() -> None:
    cluster = Company()
    cluster.arrive("a", "b", "c")
    cluster.found(2)
    cluster.settle()
    cluster.order(Double(4))  # one at a time: the other is still to be split
    assert not cluster.distributor.buckets[3].level
    assert hold(cluster, offsets={0: 1, 1: 1, 2: 1, 3: 1}) == "there is no bucket 3"


def test_there_are_only_so_many_holds_and_places(cluster: Company) -> None:
    held = tuple([(f"hold {number}", Held({}, 0, NOW_US)) for number in range(HOLDS_MAX)])
    buckets, wish = cluster.distributor.buckets, Hold("one more", {0: 1}, SECOND, 1)
    holds = Holds(Image(0, (), held))
    assert "release one" in holds.refusal(wish, buckets)
    assert not holds.refusal(replace(wish, name="hold 7"), buckets), "one that is there is moved"
    holds.hold(replace(wish, wall_us=NOW_US), buckets)
    assert list(holds.held) == ["one more"], "all others are over"
    holds = Holds(Image(0, (), (("large", Held(dict.fromkeys(range(PLACES_MAX), 0), 0, NOW_US)),)))
    assert "places" in holds.refusal(wish, buckets)
    assert not holds.refusal(replace(wish, name="large"), buckets)


def test_holds_and_floors_are_in_the_image(cluster: Company) -> None:
    retire(cluster, {0: 3})
    assert not hold(cluster)
    other = Distributor()
    other.restore(cluster.distributor.image())
    assert (other.holds.held, other.holds.floors) == (cluster.distributor.holds.held, {0: 3})
    assert other.holds.wall_us == NOW_US and other.hash == cluster.distributor.hash


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        (Configure(retain_age_us=604_800), "retain_age_us must be at least a minute"),
        (Configure(retain_age_us=-1), "retain_age_us must be at least a minute"),
        (Configure(retain_bytes=-1), "retain_bytes must be 1 or more, or 0 to keep everything"),
        (Configure(retain_changes=1 << 63), "retain_changes must be 1 or more"),
    ],
)
def test_settings_that_cannot_be_are_refused(cluster: Company, wish: Configure, why: str) -> None:
    status = cluster.status(cluster.order(wish))
    assert status.standing is Standing.REFUSED and why in status.remark
    assert cluster.distributor.settings.keep == KEEP


def test_in_storms_there_are_holds_and_floors_and_splits_beside_them() -> None:
    """Otherwise the invariants that look at them after every fact have nothing to look at."""
    storms = [Storm(seed) for seed in range(8)]
    for storm in storms:
        storm.rage(300)
    tables = [storm.company.distributor for storm in storms]
    assert any(table.holds.held for table in tables) and any(table.holds.floors for table in tables)
    born = [number for table in tables for number in table.holds.floors if table.buckets[number].born]
    assert born, "no half has a floor"
