"""After the last fault everything has to be well again, within a stated time; here is what that means.

All who are to come back are there by the log; every bucket is split that was to be, and has a steady government of the
right size, nothing is on the move, everybody who may have buckets has as many as the others, give or take one; all
clients have their answers; all copies are the same; and what nobody needs any more is gone from the disks.
"""

from typing import TYPE_CHECKING, Final

from hansard.distributor.bucket import Bucket as Record
from hansard.distributor.bucket import State
from hansard.distributor.command import Release, Resume, Undrain
from hansard.distributor.distributor import Distributor

from .reserve import spares

if TYPE_CHECKING:
    from .node import Node
    from .world import World

BASE_US: Final = 30_000_000
MOVE_US: Final = 2_000_000
"""What one move may take at the most, when nothing is in its way."""


def healed_us(world: "World") -> int:
    """Within this time after the last fault everything has to be well: if need be, each copy of each bucket moves once
    and each bucket changes its leader."""
    table = world.table.distributor
    count = max(world.plan.buckets, len(table.buckets))
    moves = count * (1 + max(table.settings.replication, 1)) + len(table.whole)
    return BASE_US + MOVE_US * moves // table.settings.moves_max


def heal(world: "World") -> None:
    world.healings += 1
    world.network.heal()
    _bury(world)
    for node in world.nodes:
        node.stalled, node.slowness = False, 1
        node.resume()
        if node.core is None and not node.down_for_good:
            node.start()
    table, order = world.table.distributor, world.operator.order
    order(Resume())
    for node_name in table.slots.drained:
        if world.random.random() < 0.5:
            order(Undrain(node_name))


def release(world: "World") -> None:
    """What was moved by hand, also by an order that came late, is to be like all others again; and so for a pause."""
    if not world.operator.waiting:
        if world.table.distributor.paused:
            world.operator.order(Resume())
        for number, record in enumerate(world.table.distributor.buckets):
            if record.pinned:
                world.operator.order(Release(number))


def _bury(world: "World") -> None:
    """Some stay down for ever, if what is left has everything."""
    buried: list[str] = []
    if not world.table.distributor.buckets:
        return  # as many as the founding order names are waited for
    for node in world.random.sample(world.nodes, len(world.nodes)):
        gone = node.left and node.core is None and world.random.random() < 0.8
        if node.down_for_good or not (gone or len(buried) < world.plan.left_down):
            continue
        if len(world.nodes) > 1 and spares(world, [*buried, node.name]):
            buried.append(node.name)
            node.crash()
            node.down_for_good = True
            world.coverage.counts["left for good" if gone else "left down for good"] += 1


def unsettled(world: "World") -> list[str]:
    """What is not as it should be."""
    found = _log(world) or [*_table(world.table.distributor), *_orders(world)]
    return found or [*_copies(world), *_clients(world)]


def _log(world: "World") -> list[str]:
    leader = world.log_leader
    if leader is None or leader.core is None:
        return ["nobody leads the atomic log"]
    found: list[str] = []
    here = {node: one.peer for node, one in leader.core.consensus.roster.participants.items()}
    if here != {node.name: node.peer for node in world.living}:
        found.append(f"{here} are there by the log")
    ends = {node.name: world.table.ends[node.name] for node in world.living}
    if set(ends.values()) != {leader.core.consensus.log.end}:
        found.append(f"not everybody has all of the log: {ends}")
    return found


def _table(table: Distributor) -> list[str]:
    if not table.buckets:
        return ["there are no buckets yet"]
    found: list[str] = []
    wanted = min(table.settings.replication, table.slots.standing)
    possible = min(table.settings.replication, len(table.slots.eligible))
    for number, record in enumerate(table.buckets):
        if record.level != len(table.buckets) or record.splitting:
            found.append(f"bucket {number} is not split: {record}")
        elif record.state is not State.STEADY or record.goal:
            found.append(f"bucket {number} is {record.state}: {record}")
        elif any(member not in table.slots.present for member in record.full):
            found.append(f"bucket {number} has somebody who is not there: {record}")
        elif len(record.full) < possible and len(record.full) + len(record.vacant) < wanted:
            found.append(f"bucket {number} has too few copies: {record}")
        elif record.vacant and (table.slots.spares or any(table.slots[slot].holder for slot in record.vacant)):
            found.append(f"bucket {number} has an empty place, and there is somebody for it: {record}")
        elif len(record.full) > max(wanted, 1):
            found.append(f"bucket {number} has more copies than {wanted}: {record}")
        elif any(member.node in table.slots.drained for member in record.full) and table.slots.eligible:
            found.append(f"bucket {number} is not drained: {record}")
    return found or _unbalanced(table)


def _unbalanced(table: Distributor) -> list[str]:
    """Over those who may have buckets, when all places are taken: nothing else is moved while one waits for somebody.
    With zones there may be no better way than an unequal one."""
    if any(record.vacant for record in table.buckets):
        return []
    zones = {table.slots.zone(slot.holder) for slot in table.slots.eligible if slot.holder is not None}
    if len(zones) > 1:
        return [
            f"bucket {number} could be in more zones: {record}"
            for number, record in enumerate(table.buckets)
            if _zones(table, record) < min(len(record.full), len(zones))
        ]
    eligible = [slot.holder for slot in table.slots.eligible]
    copies = [sum([member in record.full for record in table.buckets]) for member in eligible]
    leads = [sum([member == record.leader for record in table.buckets]) for member in eligible]
    found = []
    for what, counts in (("copies", copies), ("leads", leads)):
        if counts and max(counts) - min(counts) > 1:
            found.append(f"unequal numbers of {what}: {dict(zip(map(str, eligible), counts, strict=True))}")
    return found


def _zones(table: Distributor, record: Record) -> int:
    return len({table.slots.zone(member) for member in record.full})


def _orders(world: "World") -> list[str]:
    waiting = world.operator.waiting
    return [f"orders that nobody has answered: {waiting}"] if waiting else []


def _copies(world: "World") -> list[str]:
    found: list[str] = []
    for number, record in enumerate(world.table.distributor.buckets):
        ends: dict[str, tuple[int, int, int]] = {}
        for member in record.full:
            phaser = world.buckets[number].at(world.by_name[member.node]).phaser
            if phaser is None or phaser.me != str(member):
                found.append(f"bucket {number} is not running at {member}")
            else:
                ends[str(member)] = (phaser.ledger.end, phaser.ledger.committed, phaser.ledger.synced)
        if len({end for three in ends.values() for end in three}) > 1:
            found.append(f"bucket {number} is not the same everywhere: {ends}")
    for node in world.living:
        found += _left_over(world, node)
    return found


def _left_over(world: "World", node: "Node") -> list[str]:
    """Of a bucket that is thinned out a copy may stay: whoever takes the empty place begins with what it has."""
    records = world.table.distributor.buckets
    return [
        f"{node.name} still has something of bucket {number}"
        for number, part in node.disk.parts.items()
        if number < len(records)
        and not part.synced.empty
        and not records[number].vacant
        and all(member.node != node.name for member in records[number].full)
    ]


def _clients(world: "World") -> list[str]:
    return [
        f"client {client.number} waits for {client.waiting} answers, with connection {client.connection}"
        for client in world.clients
        if client.waiting or not client.connection
    ]
