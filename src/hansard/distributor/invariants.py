"""What is always true of a distributor between two facts, and of a fact as a whole.

`check_state` looks at one distributor; `check_step` compares it with the moment before the last fact. Both raise
AssertionError with what is wrong. They are for tests and simulators, which run them after every fact.
"""

from itertools import pairwise

from msgspec import Struct

from .bucket import Bucket, State
from .member import Member
from .records import Records
from .slots import Slots


class Moment(Struct, frozen=True):
    """What is compared before and after a fact."""

    version: int
    buckets: tuple[Bucket, ...]


def moment(records: Records) -> Moment:
    return Moment(records.version, tuple(records.buckets))


def check_state(records: Records) -> None:
    """All that holds after a fact."""
    check_slots(records.slots)
    assert records.founding is None or not records.buckets, "founded, and yet to be founded"
    for number, bucket in enumerate(records.buckets):
        what = f"bucket {number}: {bucket}"
        check_government(bucket, what)
        check_goal(bucket, what)
        check_presence(bucket, records.slots, what)


def check_slots(slots: Slots) -> None:
    numbers = [slot.number for slot in slots]
    assert all(a < b for a, b in pairwise(numbers)), f"slots are not in their order: {numbers}"
    holders = [slot.holder for slot in slots if slot.holder is not None]
    assert len(holders) == len(dict.fromkeys(holders)), f"somebody has two slots: {holders}"
    for slot in slots:
        if slot.holder is not None:
            assert slot.holder in slots.present, f"{slot.holder} has a slot and is not there"
            assert slot.node == slot.holder.node and slots.of(slot.holder) == slot.number, f"whose is {slot}?"
    nodes = [member.node for member in slots.present]
    assert len(nodes) == len(dict.fromkeys(nodes)), f"two incarnations of one participant: {nodes}"


def check_government(bucket: Bucket, what: str) -> None:
    """Whoever is appointed has everything: it counted in the last opened government, or has come back with its data."""
    assert 0 <= bucket.opened <= bucket.epoch, what
    everybody = (*bucket.members, *bucket.newcomers)
    assert len(everybody) == len(dict.fromkeys(everybody)), f"twice in one government: {what}"
    if bucket.leader is None:
        assert not everybody and not bucket.goal, f"a government without a leader: {what}"
        assert not bucket.returned, f"nobody leads, though somebody has everything: {what}"
        return
    assert bucket.leader in bucket.members, f"the leader is no member: {what}"
    for member in bucket.members:
        assert member in bucket.full or member in bucket.returned, f"{member} may lack something: {what}"
    if bucket.opened == bucket.epoch:
        grown = (*bucket.members, *bucket.newcomers)
        assert bucket.full in (bucket.members, grown), f"others count than those who govern: {what}"


def check_goal(bucket: Bucket, what: str) -> None:
    expanding = bucket.state is State.EXPANDING
    assert bool(bucket.goal) >= expanding, f"newcomers for nothing: {what}"
    assert bucket.state is not State.STEADY or not bucket.goal, f"steady, and on the move: {what}"
    assert len(bucket.goal) == len(dict.fromkeys(bucket.goal)), f"twice in one goal: {what}"
    if bucket.goal and expanding:
        assert sorted([member for member in bucket.goal if member not in bucket.members]) == sorted(bucket.newcomers), (
            what
        )
    elif bucket.goal:
        assert bucket.goal == bucket.members and bucket.goal[0] == bucket.leader, f"not where it should go: {what}"


def check_presence(bucket: Bucket, slots: Slots, what: str) -> None:
    """Nothing is asked of those who are not there."""
    for member in (*bucket.members, *bucket.newcomers, *bucket.goal):
        assert member in slots.present, f"{member} is not there: {what}"
        assert slots.of(member) is not None, f"{member} has no slot: {what}"
    assert all(member in slots.present for member in bucket.returned), f"returned and gone: {what}"
    assert len(bucket.vacant) == len(dict.fromkeys(bucket.vacant)), f"vacant twice: {what}"
    assert all(number in slots for number in bucket.vacant), f"a vacancy without a slot: {what}"
    if bucket.state is State.STEADY:
        held = [slots.of(member) for member in bucket.full]
        assert not any(number in held for number in bucket.vacant), f"vacant and taken: {what}"


def check_step(before: Moment, records: Records) -> None:
    """`before` was taken right before the last fact."""
    assert len(records.buckets) >= len(before.buckets), "buckets are gone"
    changed = [n for n, (a, b) in enumerate(zip(before.buckets, records.buckets, strict=False)) if a != b]
    changed += range(len(before.buckets), len(records.buckets))
    assert records.version == before.version + bool(changed), f"version {records.version} after {before.version}"
    assert all(number in records.touched for number in changed), "changed, and nobody is told"
    for number in changed:
        if number < len(before.buckets):
            old, new = before.buckets[number], records.buckets[number]
            check_change(old, new, f"bucket {number}: {old} became {new}")
    moving = sum([bool(bucket.goal) for bucket in records.buckets])
    allowed = max(records.settings.moves_max, sum([bool(bucket.goal) for bucket in before.buckets]))
    assert moving <= allowed, f"{moving} buckets are on the move, and {allowed} may be"


def check_change(old: Bucket, new: Bucket, what: str) -> None:
    assert new.epoch >= old.epoch and new.opened >= old.opened, f"time goes backwards: {what}"
    government = (new.leader, new.members, new.newcomers, new.shape)
    if new.epoch == old.epoch and new.leader is not None:
        assert government == (old.leader, old.members, old.newcomers, old.shape), f"another one in one epoch: {what}"
    if new.epoch == 0 or old.opened == 0:  # there is nothing in it yet
        return
    counting = _may_count(old, new)
    for member in (*new.members, *new.full):
        assert member in counting or member in new.returned, f"{member} cannot have everything: {what}"
    if new.opened == old.opened and old.leader is None and new.leader is not None:
        assert new.leader in new.returned, f"revived by one who cannot have everything: {what}"
    if new.opened == old.opened and new.full != old.full:
        assert old.opened == old.epoch and new.full == (*old.members, *old.newcomers), f"who counts? {what}"


def _may_count(old: Bucket, new: Bucket) -> tuple[Member, ...]:
    """Who had everything before the fact, or was shown by it to have everything."""
    newcomers = old.newcomers if new.opened >= old.epoch else ()
    return (*old.full, *old.members, *newcomers, *old.returned)
