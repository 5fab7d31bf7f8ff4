"""The invariants notice what they are there for: each is broken once, in a state that was whole."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from hansard.distributor import transition
from hansard.distributor.bucket import Bucket
from hansard.distributor.invariants import check_state, check_step, moment
from hansard.distributor.member import Member
from tests.distributor.company import Company, company

STRANGER = Member("x", 1)


@pytest.fixture
def cluster() -> Company:
    return company("abc", 2, 2)


@pytest.fixture
def moving() -> Company:
    """Bucket 0 expands."""
    found = company("a", 1, 2)
    found.arrive("b")
    return found


BROKEN: dict[str, Callable[[Bucket], Bucket]] = {
    "opened before it was appointed": lambda bucket: replace(bucket, opened=bucket.epoch + 1),
    "led by one who is no member": lambda bucket: replace(bucket, leader=STRANGER),
    "a member who is not there": lambda bucket: replace(bucket, members=(*bucket.members, STRANGER)),
    "a member twice": lambda bucket: replace(bucket, members=bucket.members + bucket.members[:1]),
    "a newcomer that is a member": lambda bucket: replace(bucket, newcomers=bucket.members[:1]),
    "members who do not count": lambda bucket: replace(bucket, full=bucket.full[:1]),
    "one who counts and does not govern": lambda bucket: replace(bucket, full=(*bucket.full, STRANGER)),
    "lost, with members": lambda bucket: replace(bucket, leader=None),
    "steady, with a goal": lambda bucket: replace(bucket, goal=bucket.members),
    "one who has returned and is not there": lambda bucket: replace(bucket, returned=(STRANGER,)),
    "a vacancy without a slot": lambda bucket: replace(bucket, vacant=(99,)),
    "a vacancy that is taken": lambda bucket: replace(bucket, vacant=(1, 2, 3)),
    "a vacancy twice": lambda bucket: replace(bucket, vacant=(1, 1)),
    "a level that is no power of two": lambda bucket: replace(bucket, level=3),
    "a level above the number of buckets": lambda bucket: replace(bucket, level=4),
    "keys that another one has as well": lambda bucket: replace(bucket, level=1),
    "keys that nobody has": lambda _: Bucket(),
    "idle, and not empty": lambda bucket: replace(bucket, level=0),
    "born later": lambda bucket: replace(bucket, born=bucket.epoch + 1),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_state_that_cannot_be_is_noticed(cluster: Company, broken: str) -> None:
    buckets = cluster.distributor.buckets
    check_state(cluster.distributor)
    buckets[0] = BROKEN[broken](buckets[0])
    with pytest.raises(AssertionError):
        check_state(cluster.distributor)


def test_a_goal_without_its_newcomers_is_noticed(moving: Company) -> None:
    buckets = moving.distributor.buckets
    buckets[0] = replace(buckets[0], goal=buckets[0].goal[:1])
    with pytest.raises(AssertionError):
        check_state(moving.distributor)


def test_one_in_two_slots_is_noticed(cluster: Company) -> None:
    slots = cluster.distributor.slots
    slots._slots[9] = replace(slots[1], number=9)
    with pytest.raises(AssertionError, match="two slots"):
        check_state(cluster.distributor)


STEPS: dict[str, Callable[[Bucket], Bucket]] = {
    "an epoch that goes back": lambda bucket: replace(bucket, epoch=bucket.epoch - 1),
    "an opening that is taken back": lambda bucket: replace(bucket, opened=bucket.opened - 1),
    "another leader in the same epoch": lambda bucket: replace(bucket, leader=bucket.members[1]),
    "another shape in the same epoch": lambda bucket: replace(bucket, shape="chain"),
    "a stranger in the next government": lambda bucket: replace(
        bucket, epoch=bucket.epoch + 1, members=(*bucket.members, STRANGER)
    ),
    "others who count all of a sudden": lambda bucket: replace(bucket, full=(*bucket.full, STRANGER)),
}


@pytest.mark.parametrize("broken", STEPS)
def test_a_step_that_cannot_be_is_noticed(cluster: Company, broken: str) -> None:
    distributor = cluster.distributor
    before = moment(distributor)
    distributor.put(0, STEPS[broken](distributor.buckets[0]))
    distributor.count_version()
    with pytest.raises(AssertionError, match="bucket 0"):
        check_step(before, distributor)


def test_a_newcomer_that_counts_without_a_report_is_noticed(moving: Company) -> None:
    distributor = moving.distributor
    before, bucket = moment(distributor), distributor.buckets[0]
    grown = (*bucket.members, *bucket.newcomers)
    distributor.put(0, replace(bucket, epoch=bucket.epoch + 1, members=grown, newcomers=(), goal=(), full=grown))
    distributor.count_version()
    with pytest.raises(AssertionError, match="cannot have everything"):
        check_step(before, distributor)


def test_one_who_did_not_return_with_everything_cannot_revive(cluster: Company) -> None:
    distributor = cluster.distributor
    cluster.depart(*cluster.nodes(0))
    before, bucket = moment(distributor), distributor.buckets[0]
    (there,) = distributor.slots.present
    distributor.put(0, replace(bucket, epoch=bucket.epoch + 1, leader=there, members=(there,)))
    distributor.count_version()
    with pytest.raises(AssertionError, match="cannot have everything"):
        check_step(before, distributor)


def test_a_change_that_nobody_is_told_of_is_noticed(cluster: Company) -> None:
    distributor = cluster.distributor
    before = moment(distributor)
    distributor.buckets[0] = replace(distributor.buckets[0], pinned=True)
    with pytest.raises(AssertionError, match="version"):
        check_step(before, distributor)
    distributor.version += 1
    with pytest.raises(AssertionError, match="nobody is told"):
        check_step(before, distributor)


def test_too_many_moves_at_a_time_are_noticed() -> None:
    cluster = company("a", 4, 2)
    cluster.arrive("b")
    before, buckets = moment(cluster.distributor), cluster.distributor.buckets
    for number in (1, 2):
        cluster.distributor.put(number, buckets[0])
    cluster.distributor.count_version()
    with pytest.raises(AssertionError, match="on the move"):
        check_step(before, cluster.distributor)


@pytest.fixture
def whole() -> Company:
    """One bucket that can be split, and one more beside it that is idle."""
    found = company("abc", 1)
    found.distributor.extend()
    found.distributor.count_version()
    return found


def split(cluster: Company, first: Bucket, second: Bucket) -> None:
    before = moment(cluster.distributor)
    cluster.distributor.put(0, first)
    cluster.distributor.put(1, second)
    cluster.distributor.count_version()
    check_state(cluster.distributor)
    check_step(before, cluster.distributor)


SPLITS: dict[str, Callable[[Bucket, Bucket], tuple[Bucket, Bucket]]] = {
    "halves in different epochs": lambda first, second: (first, replace(second, epoch=second.epoch + 1)),
    "halves that are born later": lambda first, second: (replace(first, born=1), replace(second, born=1)),
    "others who have everything": lambda first, second: (first, replace(second, full=second.full[:1])),
    "fewer members than have everything": lambda first, second: (
        replace(first, members=first.members[:1]),
        replace(second, members=first.members[:1], leader=first.leader),
    ),
    "a half that is open at once": lambda first, second: (first, replace(second, opened=second.epoch)),
    "a half that is pinned": lambda first, second: (first, replace(second, pinned=True)),
}


def test_a_split_is_a_step(whole: Company) -> None:
    split(whole, *transition.split(whole.distributor.buckets[0], 0, 2, whole.member("b")))


@pytest.mark.parametrize("broken", SPLITS)
def test_a_split_that_cannot_be_is_noticed(whole: Company, broken: str) -> None:
    halves = transition.split(whole.distributor.buckets[0], 0, 2, whole.member("b"))
    with pytest.raises(AssertionError):
        split(whole, *SPLITS[broken](*halves))


def test_half_of_a_split_is_noticed(whole: Company) -> None:
    first, _ = transition.split(whole.distributor.buckets[0], 0, 2, whole.member("b"))
    with pytest.raises(AssertionError, match="hash 1"):
        split(whole, first, Bucket())


def test_more_splits_than_there_is_room_for_are_noticed() -> None:
    cluster = company("abc", 2)
    distributor = cluster.distributor
    distributor.extend()
    distributor.count_version()
    before = moment(distributor)
    for number in (0, 1):
        first, second = transition.split(distributor.buckets[number], number, 4, cluster.member("a"))
        distributor.put(number, first)
        distributor.put(number + 2, second)
    distributor.count_version()
    with pytest.raises(AssertionError, match="too many"):
        check_step(before, distributor)


def test_a_bucket_on_the_move_cannot_be_split(moving: Company) -> None:
    with pytest.raises(AssertionError):
        transition.split(moving.distributor.buckets[0], 0, 2, moving.member("a"))


def test_something_that_opens_while_it_is_imported_is_noticed(cluster: Company) -> None:
    cluster.distributor.importing = True
    with pytest.raises(AssertionError, match="imported"):
        check_state(cluster.distributor)


def test_a_census_that_is_not_that_of_the_table_is_noticed(cluster: Company) -> None:
    cluster.distributor.census.moving[0] = None
    with pytest.raises(AssertionError, match="the matter"):
        check_step(moment(cluster.distributor), cluster.distributor)
