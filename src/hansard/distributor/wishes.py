"""What becomes of an operator's wish: it is refused with a reason, done at once, or followed until it is done."""

from typing import Final, assert_never

from msgspec.structs import replace

from . import transition
from .bucket import State
from .command import (
    Configure,
    Double,
    Drain,
    Entitling,
    Finish,
    Found,
    GrantToken,
    Guard,
    Move,
    Order,
    Pause,
    Release,
    Resume,
    RevokeToken,
    Seal,
    Undrain,
    Wish,
    discreet,
)
from .member import Member
from .orders import RUNNING_MAX, Lasting, Standing
from .records import Records, has
from .settings import BUCKETS_MAX, REPLICATION_MAX

RELEASED: Final = "the bucket was released"


def take(records: Records, order: Order) -> None:
    """A new one."""
    wish = order.wish
    lasting = isinstance(wish, Lasting)
    if lasting and len(records.orders.running) >= RUNNING_MAX:
        remark = f"{RUNNING_MAX} orders are running already"
    else:
        remark = _begin(records, order)
    wish = discreet(wish)
    if remark:
        records.orders.note(order.id, wish, Standing.REFUSED, remark)
    else:
        records.orders.note(order.id, wish, Standing.RUNNING if lasting else Standing.DONE)


def _begin(records: Records, order: Order) -> str:
    """Why not; empty if it is taken."""
    wish = order.wish
    match wish:
        case Found():
            return _found(records, wish)
        case Double():
            return _double(records, wish)
        case Finish():
            return _finish(records, wish)
        case Drain():
            return _drain(records, wish)
        case Undrain():
            return _undrain(records, wish)
        case Move():
            return _refusal(records, wish)
        case Release():
            return _release(records, wish.bucket)
        case Pause() | Resume():
            records.paused = isinstance(wish, Pause)
            return ""
        case Configure():
            return _configure(records, wish)
        case Guard():
            return records.tokens.open() if wish.open else records.tokens.guard()
        case GrantToken():
            return records.tokens.grant(wish)
        case RevokeToken():
            return records.tokens.revoke(wish)
        case Seal():
            return records.tokens.seal(wish)
        case _:
            assert_never(wish)


def _found(records: Records, found: Found) -> str:
    if records.buckets:
        return "this cluster has its buckets already"
    if found.buckets.bit_count() != 1 or not 1 <= found.buckets <= BUCKETS_MAX:
        return f"the number of buckets must be a power of two up to {BUCKETS_MAX}, not {found.buckets}"
    if found.participants < 1:
        return f"it takes at least one participant, not {found.participants}"
    if found.settings.trouble:
        return found.settings.trouble
    if found.open is False and (refusal := records.tokens.guard()):
        return refusal
    records.founding, records.settings = found, found.settings
    return ""


def _double(records: Records, double: Double) -> str:
    count = len(records.buckets)
    if not count:
        return "this cluster has no buckets yet"
    if double.to.bit_count() != 1 or not count < double.to <= BUCKETS_MAX:
        return f"the number of buckets must be a power of two above {count} and up to {BUCKETS_MAX}, not {double.to}"
    if records.importing:
        return "this cluster is being imported"
    if any(isinstance(wish, Double) for wish in records.orders.running.values()):
        return "the buckets are being doubled already"
    return ""


def _finish(records: Records, finish: Finish) -> str:
    if not records.importing:
        return "this cluster is not being imported"
    if len(finish.ends) != len(records.buckets):
        return f"there are {len(records.buckets)} buckets, and where they end is said of {len(finish.ends)}"
    records.connections.begin_at(finish.connections)
    records.importing, records.ends = False, finish.ends
    records.touched.update(dict.fromkeys(range(len(records.buckets))))  # whoever runs them has waited for it
    return ""


def _drain(records: Records, drain: Drain) -> str:
    if records.slots.member(drain.node) is None and not any(slot.node == drain.node for slot in records.slots):
        return f"there is no participant {drain.node}"
    records.slots.drain(drain.node)
    for number, bucket in enumerate(records.buckets):
        if bucket.state is State.EXPANDING and any(member.node == drain.node for member in bucket.newcomers):
            records.put(number, transition.recalled(bucket))
    return ""


def _undrain(records: Records, undrain: Undrain) -> str:
    if undrain.node not in records.slots.drained:
        return f"{undrain.node} was not drained"
    del records.slots.drained[undrain.node]
    return ""


def _absent(records: Records, number: int) -> str:
    if not 0 <= number < len(records.buckets):
        return f"there is no bucket {number}"
    return "" if records.buckets[number].level else f"bucket {number} is not split off yet"


def _refusal(records: Records, move: Move) -> str:
    if absent := _absent(records, move.bucket):
        return absent
    if not 1 <= len(move.nodes) <= REPLICATION_MAX or len(set(move.nodes)) < len(move.nodes):
        return f"a bucket moves to 1 to {REPLICATION_MAX} participants, each named once"
    for node in move.nodes:
        if records.slots.member(node) is None:
            return f"{node} is not there"
        if node in records.slots.drained:
            return f"{node} is being drained"
    if records.buckets[move.bucket].state is State.LOST:
        return f"bucket {move.bucket} is lost: it waits for one of its last members to come back"
    return ""


def _release(records: Records, number: int) -> str:
    if absent := _absent(records, number):
        return absent
    for id, wish in records.orders.running.items():
        if isinstance(wish, Move) and wish.bucket == number:
            records.orders.note(id, wish, Standing.DROPPED, RELEASED)
    bucket = replace(records.buckets[number], pinned=False)
    dropped = records.buckets[number].pinned and bucket.state is State.EXPANDING
    records.put(number, transition.recalled(bucket) if dropped else bucket)
    return ""


def _configure(records: Records, configure: Configure) -> str:
    fields = {name: value for name in configure.__struct_fields__ if (value := getattr(configure, name)) is not None}
    settings = replace(records.settings, **fields)
    if not settings.trouble:
        records.settings = settings
    return settings.trouble


# Following those that take their time.


def ordered(records: Records) -> dict[int, None]:
    """The buckets that are to be moved by hand."""
    return {wish.bucket: None for wish in records.orders.running.values() if isinstance(wish, Move)}


def follow(records: Records) -> None:
    running = records.orders.running
    latest = {wish.bucket: id for id, wish in running.items() if isinstance(wish, Move)}
    room = records.room if latest else 0
    for id, wish in running.items():
        match wish:
            case Found():
                if records.founding is None:
                    records.orders.note(id, wish, Standing.DONE)
                elif records.founding != wish:
                    records.orders.note(id, wish, Standing.DROPPED, "another order to found came")
            case Double():
                _follow_double(records, id, wish)
            case Drain():
                _follow_drain(records, id, wish)
            case Move():
                if latest[wish.bucket] != id:
                    records.orders.note(id, wish, Standing.DROPPED, "another order for this bucket came")
                else:
                    room -= _follow_move(records, id, wish, room)
            case _:
                assert_never(wish)


def _follow_double(records: Records, id: str, double: Double) -> None:
    """One doubling after the other: there is never more than one split between a bucket and any copy that it needs."""
    if records.census.idle or records.census.splitting:
        return
    if len(records.buckets) < double.to:
        records.extend()
    else:
        records.orders.note(id, double, Standing.DONE)


def _follow_drain(records: Records, id: str, drain: Drain) -> None:
    member = records.slots.member(drain.node)
    if drain.node not in records.slots.drained:
        records.orders.note(id, drain, Standing.DROPPED, "undrained")
    elif (member is None or not records.has_buckets(member)) and not _missed(records, drain.node):
        records.orders.note(id, drain, Standing.DONE)


def _missed(records: Records, node: str) -> bool:
    """Whether a bucket that is lost may need what is on its disk: whoever is drained may be thrown away."""
    lost = [bucket for bucket in records.buckets if bucket.state is State.LOST]
    return any(member.node == node for bucket in lost for member in bucket.full)


def _follow_move(records: Records, id: str, move: Move, room: int) -> bool:
    """Says whether it was begun, which takes room."""
    bucket = records.buckets[move.bucket]
    goal = _goal(records, move)
    if goal is None or bucket.state is State.LOST:
        records.orders.note(
            id, move, Standing.DROPPED, "a participant has departed, is about to stop, or is being drained"
        )
    elif bucket.state is State.EXPANDING and bucket.goal != goal:
        records.put(move.bucket, transition.recalled(bucket))
    elif bucket.state is State.STEADY:
        if bucket.leader == goal[0] and sorted(bucket.full) == sorted(goal):
            records.put(move.bucket, replace(bucket, pinned=True, vacant=()))
            records.orders.note(id, move, Standing.DONE)
        elif room > 0:
            for member in goal:
                if records.slots.of(member) is None:
                    records.slots.grow(member)
            pinned = replace(bucket, pinned=True, vacant=())
            records.put(move.bucket, transition.moved(pinned, goal, records.settings.shape))
            return True
    return False


def _goal(records: Records, move: Move) -> tuple[Member, ...] | None:
    """None if that cannot be any more."""
    found = []
    for node in move.nodes:
        member = records.slots.member(node)
        if member is None or node in records.slots.drained or member in records.retiring:
            return None
        found.append(member)
    return tuple(found)


def remaining(records: Records, wish: Wish | Entitling) -> int:
    """How many buckets are not yet as an operator wants them. Also for wishes that are granted at once, and take their
    time all the same."""
    match wish:
        case Guard() | GrantToken() | RevokeToken() | Seal():
            return 0
        case Found() | Finish() | Release() | Pause():
            return 0 if records.founding is None else records.founding.buckets
        case Double():
            there = records.buckets[: wish.to]
            undone = [bucket.level == 0 or (bucket.splitting and bucket.level <= wish.to) for bucket in there]
            return wish.to - len(there) + sum(undone)
        case Drain():
            member = records.slots.member(wish.node)
            return sum([member is not None and has(bucket, member) for bucket in records.buckets])
        case Move():
            bucket = records.buckets[wish.bucket] if 0 <= wish.bucket < len(records.buckets) else None
            return int(bucket is not None and bool(bucket.goal))
        case Undrain() | Resume():
            return sum([bool(bucket.goal) for bucket in records.buckets])
        case Configure():
            wanted, shape = records.wanted, records.settings.shape
            there = [bucket for bucket in records.buckets if bucket.level]
            return sum([len(bucket.copies) != wanted or bucket.shape is not shape for bucket in there])
        case _:
            assert_never(wish)
