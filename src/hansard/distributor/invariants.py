"""What is always true of a distributor between two facts, and of a fact as a whole.

`check_state` looks at one distributor; `check_step` compares it with the moment before the last fact. Both raise
AssertionError with what is wrong. They are for tests and simulators, which run them after every fact.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from .bucket import Bucket, State
from .census import Census
from .holds import HOLDS_MAX, PLACES_MAX, Holds
from .member import Member
from .records import Records
from .slots import Slots
from .tokens import DIGEST_BYTES, LIMITED_BYTES_MAX, TOKENS_MAX, Tokens


class Moment(Struct, frozen=True):
    """What is compared before and after a fact."""

    version: int
    buckets: tuple[Bucket, ...]
    floors: Mapping[int, int]
    key: bytes
    wall_us: int


def moment(records: Records) -> Moment:
    return Moment(
        records.version, tuple(records.buckets), dict(records.holds.floors), records.tokens.key, records.tokens.wall_us
    )


def check_state(records: Records) -> None:
    """All that holds after a fact."""
    check_slots(records.slots)
    assert records.founding is None or not records.buckets, "founded, and yet to be founded"
    opened = any(bucket.opened for bucket in records.buckets)
    assert not records.importing or not (records.ends or opened), "something has opened while it is imported"
    assert all(member in records.slots.present for member in records.retiring), "about to stop, and not there"
    check_levels(records)
    check_holds(records.holds, records.buckets)
    check_tokens(records.tokens)
    for number, bucket in enumerate(records.buckets):
        what = f"bucket {number}: {bucket}"
        check_government(bucket, what)
        check_goal(bucket, what)
        check_presence(bucket, records.slots, what)


def check_holds(holds: Holds, buckets: Sequence[Bucket]) -> None:
    """Nothing that is held may be dropped; and there is not too much of it."""
    assert len(holds.held) <= HOLDS_MAX and sum([len(held.offsets) for held in holds.held.values()]) <= PLACES_MAX
    for bucket, floor in holds.floors.items():
        assert bucket < len(buckets) and buckets[bucket].level and floor > 0, f"a floor of what is not there: {bucket}"
        for name, held in holds.held.items():
            assert floor <= held.place(bucket), f"bucket {bucket} may be dropped up to {floor}; {name} holds {held}"
    for name, held in holds.held.items():
        assert held.expires_us > holds.wall_us, f"{name} is over: {held}"


def check_tokens(tokens: Tokens) -> None:
    """Each is what it may be, can be found by its id alone, and is not over; and there are not too many."""
    granted = tokens.granted
    assert len(granted) <= TOKENS_MAX
    assert sum([token.limited_bytes for token in granted.values()]) <= LIMITED_BYTES_MAX
    for name, token in granted.items():
        assert tokens.find(token.id) == (name, token), f"{name} cannot be found"
        assert not token.allows.trouble and len(token.digest) == DIGEST_BYTES, f"{name} cannot be: {token}"
        assert not token.is_over(tokens.wall_us), f"{name} is over: {token}"


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


def check_levels(records: Records) -> None:
    """Every key is in exactly one bucket."""
    count = len(records.buckets)
    owners: list[list[int]] = [[] for _ in range(count)]
    for number, bucket in enumerate(records.buckets):
        what = f"bucket {number} of {count}: {bucket}"
        if bucket.level == 0:
            assert bucket == Bucket(), f"idle, and something is there: {what}"
            continue
        assert bucket.level.bit_count() == 1 and number < bucket.level <= count, f"no such level: {what}"
        assert 0 <= bucket.born <= bucket.epoch, f"not yet born: {what}"
        for hash in range(number, count, bucket.level):
            owners[hash].append(number)
    for hash, owning in enumerate(owners):
        assert owning == [records.home(hash)], f"{owning} have hash {hash}, which should be in {records.home(hash)}"


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
    splits = check_splits(before.buckets, records.buckets) if before.buckets else 0
    check_room(before.buckets, records, splits)
    check_floors(before, records)
    assert before.key in (b"", records.tokens.key), "what was sealed cannot be opened any more"
    assert records.tokens.wall_us >= before.wall_us, "time goes backwards"
    assert records.census == Census(records.buckets), "what is the matter with which?"


def check_floors(before: Moment, records: Records) -> None:
    """What may be dropped is not taken back, and is the same for a half as for what it was split off from."""
    for number, floor in before.floors.items():
        assert records.holds.floor(number) >= floor, f"the floor of bucket {number} went back from {floor}"
    half, known = len(records.buckets) // 2, len(before.buckets)
    for number, bucket in enumerate(records.buckets):
        if before.buckets and bucket.level and not (number < known and before.buckets[number].level):
            was, floor = before.floors.get(number - half, 0), records.holds.floor(number)
            assert floor == was, f"bucket {number} has the floor {floor}, and that of its parent was {was}"


def check_splits(before: Sequence[Bucket], after: Sequence[Bucket]) -> int:
    """Both halves begin with what there was: right after the split they are the same, but for who leads."""
    levels = [bucket.level for bucket in before] + [0] * (len(after) - len(before))
    split = [number for number, bucket in enumerate(after) if bucket.level != levels[number]]
    half = len(after) // 2
    firsts = [number for number in split if number < half]
    assert split == firsts + [number + half for number in firsts], f"half of a split: {split}"
    for number in firsts:
        old, first, second = before[number], after[number], after[number + half]
        what = f"bucket {number}: {old} was split into {first} and {second}"
        assert first.level == second.level == 2 * old.level, what
        assert first.epoch == second.epoch == first.born == second.born == first.opened + 1 > old.epoch, what
        assert not first.newcomers and not first.goal, f"split on the move: {what}"
        assert first.members == first.full, f"others than those who have everything: {what}"
        assert second == replace(first, leader=second.leader, pinned=False), f"not alike: {what}"
    return len(firsts)


def check_room(before: Sequence[Bucket], records: Records, splits: int) -> None:
    """Nothing is begun that there is no room for; what goes on goes on."""
    was = [bucket.goal for bucket in before] + [()] * (len(records.buckets) - len(before))
    begun = splits + sum([bucket.goal not in ((), goal) for bucket, goal in zip(records.buckets, was, strict=True)])
    assert not begun or records.room >= 0, f"{-records.room} buckets too many are on the move, {begun} of them are new"


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
