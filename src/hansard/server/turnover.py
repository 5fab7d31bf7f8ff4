"""What has become of the buckets between two looks at the table, in words: few of them one by one, many in one line."""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple, assert_never

from hansard.distributor.bucket import Bucket, State
from hansard.distributor.member import Member

LISTED_MAX: Final = 4
"""So many buckets are told one by one; of more only how many."""

NOWHERE: Final = Bucket()


class Turn(StrEnum):
    """The one thing that is told of a bucket; what came before on the way to it is not. Of many at once it is said in
    these words."""

    REVIVED = "are back"
    SPLIT = "were split off"
    OPENED = "are open"
    MOVED = "have moved"
    COPIED = "have another copy"
    THINNED = "go on with fewer copies"
    LED = "have another leader"
    RENEWED = "are open in a new epoch"
    COPYING = "are being copied"
    APPOINTED = "have a new government that has not opened yet"


class Line(NamedTuple):
    text: str
    fields: dict[str, object]


def turned(before: Bucket, now: Bucket) -> Turn | None:
    """None if nothing is to be told."""
    if now.state in (State.LOST, State.IDLE):  # that is told otherwise, or is nothing yet
        return None
    if now.opened > before.opened:
        return _opened(before, now)
    if now.expanded > before.expanded:
        return Turn.COPIED
    if now.epoch > before.epoch and now.opened < now.epoch:
        return Turn.COPYING if now.newcomers else Turn.APPOINTED
    return None


def _opened(before: Bucket, now: Bucket) -> Turn:
    old, new = set(_nodes(before.full)), set(_nodes(now.full))
    if before.opened < now.born <= now.opened:
        return Turn.SPLIT
    if before.state is State.LOST:
        return Turn.REVIVED
    if not before.opened:
        return Turn.OPENED
    if now.state is State.EXPANDING:
        return Turn.COPYING
    if new - old:
        return Turn.MOVED if old - new else Turn.COPIED
    if old - new:
        return Turn.THINNED if now.vacant else Turn.MOVED
    return Turn.LED if _lead(before) != _lead(now) else Turn.RENEWED


def turnover(before: Sequence[Bucket], now: Sequence[Bucket]) -> dict[Turn, list[int]]:
    turns: dict[Turn, list[int]] = {turn: [] for turn in Turn}
    for number, bucket in enumerate(now):
        turn = turned(before[number] if number < len(before) else NOWHERE, bucket)
        if turn is not None:
            turns[turn].append(number)
    return turns


def told(turns: Mapping[Turn, list[int]], before: Sequence[Bucket], now: Sequence[Bucket]) -> list[Line]:
    lines: list[Line] = []
    for turn, numbers in turns.items():
        if len(numbers) > LISTED_MAX:
            lines.append(_summed(turn, numbers, now))
        else:
            pairs = [(number, before[number] if number < len(before) else NOWHERE) for number in numbers]
            lines += [_single(turn, number, former, now[number]) for number, former in pairs]
    return lines


def _summed(turn: Turn, numbers: Sequence[int], now: Sequence[Bucket]) -> Line:
    leads = Counter([_lead(now[number]) for number in numbers])
    shares = ", ".join([f"{node} leads {count}" for node, count in sorted(leads.items())])
    return Line(f"{len(numbers)} buckets {turn}: {shares}", {"count": len(numbers), "turn": turn.name.lower()})


def _single(turn: Turn, number: int, before: Bucket, now: Bucket) -> Line:
    bucket, who = f"bucket {number}", _government(now)
    gone = [node for node in _nodes(before.full) if node not in _nodes(now.full)]
    match turn:
        case Turn.REVIVED:
            text = f"{bucket} is back: {who}"
        case Turn.SPLIT:
            text = f"{bucket} is split off, one of {now.level}: {who}"
        case Turn.OPENED:
            text = f"{bucket} is open: {who}"
        case Turn.MOVED:
            text = f"{bucket} has moved: {who}" + (f", in place of {' '.join(gone)}" if gone else "")
        case Turn.COPIED:
            text = f"{bucket} has another copy: {who}"
        case Turn.THINNED:
            text = f"{bucket} goes on without {' '.join(gone)}: {who}"
        case Turn.LED:
            text = f"{bucket} has another leader: {who}, in place of {_lead(before)}"
        case Turn.RENEWED:
            text = f"{bucket} is open in a new epoch: {who}"
        case Turn.COPYING:
            text = f"{bucket} is being copied to {' '.join(_nodes(now.newcomers))}: {who}"
        case Turn.APPOINTED:
            text = f"{bucket} has a new government, which has not opened yet: {who}"
        case _:
            assert_never(turn)
    fields = {"bucket": number, "epoch": now.epoch, "leader": _lead(now), "turn": turn.name.lower()}
    return Line(text, fields)


def _government(bucket: Bucket) -> str:
    members = bucket.full if bucket.opened == bucket.epoch else bucket.members
    others = " ".join([node for node in _nodes(members) if node != _lead(bucket)])
    return f"{_lead(bucket)} leads {others or 'alone'}"


def _lead(bucket: Bucket) -> str:
    return bucket.leader.node if bucket.leader is not None else ""


def _nodes(members: Sequence[Member]) -> list[str]:
    return [member.node for member in members]


def listed(buckets: Sequence[int]) -> str:
    first = ", ".join([str(number) for number in buckets[:LISTED_MAX]])
    return first + (" ..." if len(buckets) > LISTED_MAX else "")
