"""Each promise of a cluster, broken by hand: its oracle says so, and says nothing as long as it is kept."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from hansard.bookmark import Bookmark
from hansard.consensus.content import Departed
from hansard.phaser.effect import Committed, Persist, Put
from hansard.phaser.leader import Phase
from hansard.phaser.outcome import Broken, Receipt, Repeated, Stored
from sim.cluster.bucket import Copy
from sim.cluster.holder import Granted
from sim.cluster.oracles import Violation
from sim.cluster.oracles.bounded import Bounded
from sim.cluster.oracles.connections import OwnNumbers
from sim.cluster.oracles.leaders import OneAcknowledges
from sim.cluster.oracles.memory import LongMemory
from sim.cluster.oracles.orders import OrdersOnce
from sim.cluster.oracles.receipts import TrueReceipts
from sim.cluster.oracles.retention import KeptWhatIsHeld
from sim.cluster.oracles.stamps import Stamps
from sim.cluster.oracles.steadfast import Steadfast
from sim.cluster.plan import WrongClock
from sim.cluster.world import World
from tests.sim.cluster.quiet import SECOND, begun, quiet


@pytest.fixture
def world() -> World:
    return begun(quiet(3, 2, 2), 6)


def leading(world: World, number: int = 0) -> Copy:
    """The copy of a bucket that leads it."""
    leader = world.table.distributor.buckets[number].leader
    assert leader is not None
    return world.buckets[number].at(world.by_name[leader.node])


def following(world: World, number: int = 0) -> Copy:
    record = world.table.distributor.buckets[number]
    (member,) = [member for member in record.full if member != record.leader]
    return world.buckets[number].at(world.by_name[member.node])


@pytest.fixture
def batches(world: World) -> Iterator[tuple[Receipt, list[bytes | None]]]:
    """Something that is stored in the first bucket."""
    batch = world.buckets[0].sequence.batches[-1]
    first = next(iter(batch.changes()))
    return iter([(Receipt(first.offset, first.timestamp), batch.values())])


# Leaders.


def test_who_does_not_lead_acknowledges_nothing(world: World) -> None:
    batch, oracle = world.buckets[0].sequence.batches[-1], OneAcknowledges()
    oracle.acknowledges(leading(world), 1, Stored(Receipt(0, 0)), batch, 0)
    with pytest.raises(Violation, match="does not lead"):
        oracle.acknowledges(following(world), 1, Stored(Receipt(0, 0)), batch, 0)


def test_an_epoch_has_one_leader_that_acknowledges(world: World) -> None:
    batch, oracle, copy = world.buckets[0].sequence.batches[-1], OneAcknowledges(), leading(world)
    assert copy.phaser is not None and copy.phaser.leading is not None
    oracle.leaders[0, copy.phaser.leading.government.epoch] = "z#1"
    with pytest.raises(Violation, match="as z#1 has"):
        oracle.acknowledges(copy, 1, Stored(Receipt(0, 0)), batch, 0)


def test_what_comes_after_a_later_government_has_opened_is_not_stored_by_an_earlier(world: World) -> None:
    batch, oracle, copy = world.buckets[0].sequence.batches[-1], OneAcknowledges(), leading(world)
    assert copy.phaser is not None and copy.phaser.leading is not None
    oracle.opened[0] = [(copy.phaser.leading.government.epoch + 1, 5 * SECOND)]
    oracle.acknowledges(copy, 1, Stored(Receipt(0, 0)), batch, 5 * SECOND - 1)
    oracle.acknowledges(copy, 1, Repeated(None), batch, 6 * SECOND)
    with pytest.raises(Violation, match=r"what came 1\.000 s after"):
        oracle.acknowledges(copy, 1, Stored(Receipt(0, 0)), batch, 6 * SECOND)


def test_who_is_open_stays_open(world: World) -> None:
    oracle, copy = Steadfast(), leading(world)
    assert copy.phaser is not None and copy.phaser.leading is not None
    oracle.bucket_turned(copy, (), ())
    oracle.bucket_turned(copy, (), ())
    copy.phaser.leading.phase = Phase.REPORTING
    with pytest.raises(Violation, match="any more"):
        oracle.bucket_turned(copy, (), ())
    oracle.bucket_turned(copy, (), ())


# What clients are told.


def test_receipts_are_true(world: World, batches: Iterator[tuple[Receipt, list[bytes | None]]]) -> None:
    oracle, bucket = TrueReceipts(), world.buckets[0]
    receipt, _ = next(batches)
    batch = next(stored for stored in bucket.sequence.batches[::-1] if stored.header.base_offset == receipt.offset)
    oracle.answered(bucket, batch, Stored(receipt))
    oracle.answered(bucket, batch, Repeated(receipt))
    for wrong in (
        Receipt(receipt.offset - 1, receipt.timestamp),
        Receipt(receipt.offset, receipt.timestamp + 1),
        Receipt(1 << 40, receipt.timestamp),
    ):
        with pytest.raises(Violation, match="receipts are true"):
            oracle.answered(bucket, batch, Stored(wrong))


def test_no_stream_is_forgotten(world: World) -> None:
    oracle, batch = LongMemory(), world.buckets[0].sequence.batches[-1]
    with pytest.raises(Violation, match="has forgotten"):
        oracle.answered(world.buckets[0], batch, Broken())
    oracle.excused = True
    oracle.answered(world.buckets[0], batch, Broken())


def test_connection_numbers_are_given_once_and_names_keep_theirs() -> None:
    oracle = OwnNumbers()
    oracle.connected("", 1)
    oracle.connected("sink", 2)
    oracle.connected("sink", 2)
    for name, number in (("", 1), ("", 2), ("sink", 1), ("sink", 3)):
        with pytest.raises(Violation):
            oracle.connected(name, number)


# The table.


def test_another_table_at_the_same_index_is_noticed(world: World) -> None:
    (node,) = [node for node in world.nodes if node.name == "b"]
    assert node.core is not None
    world.table.look(node)
    node.core.distributor.paused = True
    with pytest.raises(Violation, match="b has another table"):
        world.table.look(node)


def test_the_log_is_replayed_from_its_beginning_and_from_states(world: World) -> None:
    world.table.finish(world)
    last = len(world.table.facts) - 1
    world.table.images[last] = world.table.images[1]
    with pytest.raises(Violation, match=f"replayed from {last}"):
        world.table.finish(world)


def test_an_order_changes_nothing_when_it_comes_again(world: World) -> None:
    oracle, table = OrdersOnce(), world.table
    index = next(n for n, fact in enumerate(table.facts) if b"order-0" in getattr(fact, "content", b""))
    told = (world, index, table.entries[index], table.facts[index], ())
    oracle.committed(*told)
    with pytest.raises(Violation, match="changes something again"):
        oracle.committed(*told)


# Stamps.


@pytest.mark.parametrize("away_us", [-1_500_000, 1_500_000])
def test_what_is_shown_is_stamped_near_the_voters_time(world: World, away_us: int) -> None:
    copy = leading(world)
    (oracle,) = [one for one in world.oracles if isinstance(one, Stamps)]
    assert copy.phaser is not None
    shown = copy.world.sequence.batches[-1]
    right = shown.stamped(epoch=copy.phaser.term, base_offset=shown.header.base_offset, timestamp=copy.node.wall_us)
    oracle.bucket_turned(copy, (), [Persist(1, (Put(right),)), Committed(1)])
    stamp_us = copy.node.wall_us + away_us
    wrong = shown.stamped(epoch=copy.phaser.term, base_offset=shown.header.base_offset, timestamp=stamp_us)
    oracle.bucket_turned(copy, (), [Persist(1, (Put(wrong),)), Committed(1)])
    copy.world.sequence.batches[-1] = wrong
    oracle.bucket_turned(copy, (), [Persist(1, (Put(wrong),))])
    with pytest.raises(Violation, match="away from the voters' time"):
        oracle.bucket_turned(copy, (), [Committed(1)])


def test_of_two_clocks_that_are_heard_nobody_can_say_which_one_is_wrong() -> None:
    """However many there are: the others are not heard."""
    world = begun(quiet(3, 1, 1, wrong_clock=WrongClock(1, 9 * 24 * 3600 * SECOND, 0)), 8)
    (oracle,) = [one for one in world.oracles if isinstance(one, Stamps)]
    wrong, leader = world.nodes[1], world.log_leader
    assert world.wrong is wrong and leader is not None and leader is not wrong
    assert not oracle.undecided(world), "three are heard"
    (third,) = [node for node in world.nodes if node not in (wrong, leader)]
    world.network.cut(third.name, leader.name)
    world.clock.run_until(12 * SECOND)
    assert oracle.undecided(world)
    world.network.mend(third.name, leader.name)
    world.clock.run_until(20 * SECOND)
    assert not oracle.undecided(world)


# Bounds, and pauses.


def test_nodes_hold_only_so_much_and_let_go_of_it(world: World) -> None:
    oracle, node = Bounded(), world.nodes[0]
    assert node.core is not None
    node.core.router.count = world.plan.settings.held_count_max
    oracle.after_turn(node, (), ())
    with pytest.raises(Violation, match="still holds"):
        oracle.finish(world)
    node.core.router.count += 1
    with pytest.raises(Violation, match="holds"):
        oracle.after_turn(node, (), ())


def test_a_departure_leaves_other_buckets_alone() -> None:
    world = begun(quiet(4, 4, 1), 6)
    records = world.table.distributor.buckets
    one, other = records[0], records[1]
    gone = one.full[0]
    assert gone not in other.full
    before, untouched = list(records), world.pauses.untouched
    world.pauses.applied(Departed(gone.node, gone.incarnation), before, before)
    assert world.pauses.untouched == untouched + sum([gone not in record.full for record in records])
    after = [replace(record, epoch=record.epoch + 1) for record in records]
    with pytest.raises(Violation, match="leaves other buckets alone"):
        world.pauses.applied(Departed(gone.node, gone.incarnation), before, after)


# Retention.


@pytest.fixture
def holding() -> World:
    """One who holds bucket 0, and with it bucket 1, from offset 3 on, where all but a little may be dropped."""
    world = begun(replace(quiet(3, 2, 2), holders=1), 2)
    (holder,) = world.holders
    holder.granted = Granted(Bookmark("simulated-log", {0: 3}), 1 << 60)
    world.table.distributor.holds.floors = {0: 9, 1: 2}
    return world


def test_what_is_held_is_dropped_by_nobody(holding: World) -> None:
    node, oracle = holding.nodes[0], KeptWhatIsHeld(Stamps())
    oracle.dropped(node, 0, 3)
    with pytest.raises(Violation, match="holder 0, name 0 holds 3"):
        oracle.dropped(node, 0, 4)
    holding.holders[0].granted = None
    oracle.dropped(node, 0, 9)


def test_a_bucket_that_is_in_no_hold_is_held_where_its_parent_is_or_from_its_beginning(holding: World) -> None:
    node, oracle = holding.nodes[0], KeptWhatIsHeld(Stamps())
    oracle.dropped(node, 1, 2)
    holding.holders[0].granted = Granted(Bookmark("simulated-log", {1: 3}), 1 << 60)
    with pytest.raises(Violation, match="holds 0"):
        oracle.dropped(node, 0, 1)


def test_nothing_is_dropped_that_was_not_agreed_on(holding: World) -> None:
    holding.holders[0].granted = None
    with pytest.raises(Violation, match="its floor is 9"):
        KeptWhatIsHeld(Stamps()).dropped(holding.nodes[0], 0, 10)


def test_a_hold_that_is_over_holds_nothing(holding: World) -> None:
    (holder,) = holding.holders
    assert holder.granted is not None
    holder.granted = replace(holder.granted, until_us=holding.clock.now_us - 1)
    KeptWhatIsHeld(Stamps()).dropped(holding.nodes[0], 0, 9)


def test_in_a_cluster_that_keeps_little_much_is_dropped_and_what_is_held_stays() -> None:
    planned = quiet(3, 2, 2)
    world = begun(replace(planned, holders=2, table=replace(planned.table, retain_changes=5)), 15)
    counts = world.coverage.counts
    assert counts["hold granted"] and counts["dropped by retention"] and counts["floor raised"]
