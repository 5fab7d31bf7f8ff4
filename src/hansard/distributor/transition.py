"""How a bucket goes from one government to the next: plain functions, one for each thing that can happen to it.

    steady --moved--> expanding --expanded--> switching --opened--> steady
                  `---------------------------^                        (if nobody new comes)
           --split--> switching, and another one beside it --opened--> steady

A departure is acted on at once. Before the newcomers count the bucket falls back to the members that it had; from then
on it falls forward to those that the move leads to. Both are the same rule: what is appointed is kept, less the
departed, as long as anybody of it is left.
"""

from collections.abc import Container

from msgspec.structs import replace

from .bucket import Bucket, State
from .member import Member
from .settings import Shape


def placed(bucket: Bucket, members: tuple[Member, ...], shape: Shape) -> Bucket:
    """The first government, or another one before any has opened. There is nothing in the bucket, so everybody has all
    of it."""
    assert bucket.opened == 0
    epoch, level = bucket.epoch + 1, bucket.level
    return Bucket(epoch=epoch, leader=members[0], members=members, full=members, shape=shape, level=level)


def appointed(
    bucket: Bucket,
    leader: Member,
    members: tuple[Member, ...],
    newcomers: tuple[Member, ...] = (),
    goal: tuple[Member, ...] = (),
) -> Bucket:
    assert leader in members
    return replace(bucket, epoch=bucket.epoch + 1, leader=leader, members=members, newcomers=newcomers, goal=goal)


def moved(bucket: Bucket, goal: tuple[Member, ...], shape: Shape) -> Bucket:
    """To these, the first of them as leader; those who have it already help the others to it."""
    leader, bucket = bucket.leader, replace(bucket, shape=shape)
    assert bucket.state is State.STEADY and leader is not None
    newcomers = tuple([member for member in goal if member not in bucket.full])
    if newcomers:
        return appointed(bucket, leader, bucket.full, newcomers, goal)
    return appointed(bucket, goal[0], goal, (), goal)


def opened(bucket: Bucket, epoch: int) -> Bucket:
    """A report. From here on this government's members have everything, and nobody else is needed."""
    if epoch != bucket.epoch or epoch == bucket.opened or bucket.leader is None:
        return bucket
    goal = bucket.goal if bucket.newcomers else ()
    return replace(bucket, opened=epoch, full=bucket.members, goal=goal, returned=())


def expanded(bucket: Bucket, epoch: int) -> Bucket:
    """A report. The newcomers are full members now; if others are to go, or to lead, that comes next."""
    if epoch != bucket.epoch or epoch != bucket.opened or bucket.state is not State.EXPANDING:
        return bucket
    full = (*bucket.members, *bucket.newcomers)
    goal = bucket.goal
    grown = replace(bucket, full=full, expanded=epoch)
    if goal[0] == bucket.leader and sorted(goal) == sorted(full):
        return replace(grown, goal=())
    return appointed(grown, goal[0], goal, (), goal)


def split(parent: Bucket, number: int, level: int, leader: Member) -> tuple[Bucket, Bucket]:
    """Two halves, with the same members, who have everything of both; the second one under a leader of its own. Whoever
    follows the new government of either has made two copies of its one before, so nothing is acknowledged any more in
    the old one's epoch, and until a half has opened each unsplit copy is as good as one of its own."""
    assert parent.state is State.STEADY and parent.leader is not None and leader in parent.full
    assert number < parent.level and level == 2 * parent.level
    first = appointed(replace(parent, level=level, born=parent.epoch + 1), parent.leader, parent.full)
    return first, replace(first, leader=leader, pinned=False)


def raised(bucket: Bucket, epoch: int) -> Bucket:
    """The same government, above an epoch that somebody's disk knows and the log does not: it was made anew from an
    older copy. Who has promised to follow that one hears nobody else."""
    assert epoch > bucket.epoch
    if bucket.leader is None:
        return replace(bucket, epoch=epoch)
    newcomers = bucket.newcomers if bucket.state is State.EXPANDING else ()
    return appointed(replace(bucket, epoch=epoch), bucket.leader, bucket.kept, newcomers, bucket.goal)


def recalled(bucket: Bucket) -> Bucket:
    """The newcomers are not wanted any more, or do not get on. Before they count that is as if they had departed."""
    assert bucket.state is State.EXPANDING and bucket.leader is not None
    return appointed(bucket, bucket.leader, bucket.kept)


def handed_over(bucket: Bucket, member: Member, heir: Member) -> Bucket:
    """Somebody who is about to stop leads no more, and no move leads to it: it is as if that were dropped, or done."""
    assert heir in bucket.kept and heir != member and bucket.leader is not None
    return appointed(bucket, heir if bucket.leader == member else bucket.leader, bucket.kept)


def departed(bucket: Bucket, gone: Member, slot: int | None, living: Container[Member]) -> Bucket:
    """`slot` is the place that waits for a successor; None if there is none."""
    returned = tuple([member for member in bucket.returned if member != gone])
    bucket = bucket if returned == bucket.returned else replace(bucket, returned=returned)
    kept = bucket.kept
    if gone not in kept and gone not in bucket.newcomers:
        return bucket
    bucket = replace(bucket, pinned=False)
    if gone in kept and slot is not None and slot not in bucket.vacant:
        bucket = replace(bucket, vacant=(*bucket.vacant, slot))
    survivors = tuple([member for member in kept if member in living])
    survivors = survivors or tuple([member for member in bucket.full if member in living])
    if not survivors:
        return replace(bucket, leader=None, members=(), newcomers=(), goal=())
    leader = bucket.leader if bucket.leader in survivors else survivors[0]
    assert leader is not None
    return appointed(bucket, leader, survivors)


def revived(bucket: Bucket, member: Member, slot: int) -> Bucket:
    """A lost bucket goes on with one that has come back, alone for now."""
    assert bucket.state is State.LOST and member in bucket.returned
    vacant = tuple([number for number in bucket.vacant if number != slot])
    return appointed(replace(bucket, vacant=vacant), member, (member,))
