"""What a second look at participants found: each of these was wrong once, or nobody had looked at it."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from hansard.batch import build
from hansard.batch.keyhash import bucket_of, key_hash
from hansard.consensus.settings import Settings as Consensus
from hansard.distributor.bucket import State
from hansard.distributor.command import Drain, Move, Pause, Undrain
from hansard.distributor.orders import Standing
from hansard.participant.effect import Drop, Load, ReadAt, Send
from hansard.participant.event import Connect, Loaded, Received
from hansard.participant.message import Hop, HopAnswer, Process
from hansard.participant.settings import Settings
from hansard.phaser.outcome import Broken, Outcome, Repeated, Stored, Unknown
from tests.participant.cluster import SECOND, Cluster, Node
from tests.participant.test_connecting import connect, connection
from tests.participant.test_government import KEYS, alike, formed
from tests.participant.test_reading import read

IN_ZERO = next(key for key in KEYS if bucket_of(key_hash(key), 4) == 0)


def others(cluster: Cluster, *nodes: str) -> list[str]:
    return [node for node in cluster.nodes if node not in nodes]


def test_one_that_begins_anew_with_an_empty_disk_is_heard() -> None:
    """Its processes are counted from one again, and so are its hops: nobody may take these for old ones."""
    cluster = formed(4)
    leader = cluster.leader(0)
    node = others(cluster, leader, "a")[0]
    for _ in range(20):
        assert isinstance(cluster.answer(cluster.submit(node, IN_ZERO)), Stored)
    cluster.wipe(node)
    cluster.run(2)
    cluster.start(node)
    cluster.until(lambda: cluster.core(node).here.member is not None)
    cluster.order(Pause())
    cluster.run(3)
    at = next(key for key in KEYS if cluster.leader(bucket_of(key_hash(key), 4)) == leader)
    assert cluster.leader(bucket_of(key_hash(at), 4)) != node
    for _ in range(10):
        assert isinstance(cluster.answer(cluster.submit(node, at)), Stored)


def test_an_answer_meant_for_a_disk_that_is_gone_is_for_nobody() -> None:
    cluster = formed(4)
    leader = cluster.leader(0)
    node = others(cluster, leader, "a")[0]
    cluster.sent.clear()
    cluster.lose = lambda sender, send: isinstance(send.message, HopAnswer)
    cluster.submit(node, IN_ZERO, seconds=60)
    cluster.run(0.1)
    (late,) = [send.message for _, send in cluster.sent if isinstance(send.message, HopAnswer)]
    cluster.wipe(node)
    cluster.run(2)
    cluster.start(node)
    cluster.until(lambda: cluster.core(node).here.member is not None)
    cluster.run(3)
    leader = cluster.leader(0)
    assert leader != node
    cluster.lose = lambda sender, send: isinstance(send.message, Hop)
    ids = [cluster.submit(node, IN_ZERO, b"never", seconds=60) for _ in range(10)]
    cluster.happen(node, Received(leader, late))
    assert not [id for id in ids if id in cluster.answers]


class SlowToLoad(Cluster):
    """One node's disk takes its time to say what it has."""

    def __init__(self) -> None:
        super().__init__()
        self.slow = ""
        self.held: list[Callable[[], None]] = []

    def _load(self, node: Node, process: int, load: Load) -> None:
        if node.name != self.slow:
            super()._load(node, process, load)
            return
        vault = node.vaults.get(load.bucket)
        loaded = Loaded(load.bucket, load.generation, vault.recover()) if vault is not None else None
        if loaded is None:
            self.held.append(lambda: super(SlowToLoad, self)._load(node, process, load))
        else:
            self.held.append(lambda: self._still(node, process, loaded))


def test_what_was_loaded_before_a_copy_was_dropped_is_not_taken_for_what_is_there_now() -> None:
    cluster = SlowToLoad()
    cluster.add(*"abcd")
    cluster.found(1, participants=4)
    cluster.steady()
    for key in KEYS:
        assert isinstance(cluster.answer(cluster.submit("a", key)), Stored)
    leader = cluster.leader(0)
    slow = next(member.node for member in cluster.table.buckets[0].full if member.node not in (leader, "a"))
    cluster.crash(slow)
    cluster.slow = slow
    cluster.start(slow)
    cluster.until(lambda: cluster.held)  # it has come back in time, and begins to load
    cluster.cut(slow)
    cluster.until(lambda: cluster.table.slots.member(slow) is None)
    cluster.until(lambda: len((record := cluster.table.buckets[0]).full) == 3 and record.state is State.STEADY)
    cluster.heal()
    cluster.until(lambda: cluster.core(slow).here.member is not None)
    cluster.until(lambda: 0 not in cluster.nodes[slow].vaults)  # others have it, and it was dropped
    cluster.order(Move(0, (cluster.leader(0), slow)), at="a")
    cluster.until(lambda: len(cluster.held) == 2)
    for late in cluster.held:
        late()
    cluster.run(2)
    cluster.steady()
    assert slow in [member.node for member in cluster.table.buckets[0].full]
    assert alike(cluster)


def test_a_name_that_is_too_long_is_refused_and_harms_nobody() -> None:
    cluster = formed(3)
    before = cluster.core("a").consensus.committed
    ids = [connect(cluster, "b", "n" * length) for length in (201, 300_000)]
    cluster.run(1)
    assert [cluster.connections[id].connection for id in ids] == [0, 0]
    assert cluster.core("a").consensus.committed == before  # it does not take the log to know that


def piped(cluster: Cluster, at: str, count: int, move: Callable[[], object], *, connection: int) -> list[Outcome]:
    """A client that sends one after the other and does not wait; on the way its bucket gets another leader."""
    ids = []
    for series in range(count):
        if series == count // 4:
            move()
        stream = {"connection": connection, "series": series, "previous": series - 1} if connection else {}
        ids.append(cluster.submit(at, b"k", b"%d" % series, seconds=5, **stream))  # type: ignore[arg-type]
        cluster.run(0.0001)
    return [cluster.answer(id) for id in ids]


@pytest.mark.parametrize("connection", [0, 7])
def test_what_hops_anew_is_not_overtaken_by_what_came_later(connection: int) -> None:
    cluster = formed(4, 1)
    leader = cluster.leader(0)
    members = [member.node for member in cluster.table.buckets[0].full]
    (at,) = others(cluster, *members)
    heir = next(node for node in members if node != leader)
    goal = (heir, *[node for node in members if node != heir])
    outcomes = piped(cluster, at, 400, lambda: cluster.order(Move(0, goal), at=leader), connection=connection)
    assert cluster.leader(0) == heir
    assert {type(outcome) for outcome in outcomes} <= {Stored, Repeated, Unknown}, (
        "something was missed that was on its way"
    )
    offsets = [outcome.receipt.offset for outcome in outcomes if isinstance(outcome, Stored)]
    assert offsets == sorted(offsets)


def test_a_hop_that_comes_late_is_answered() -> None:
    """Somebody kept it waiting for a newer table while thousands went by the direct way."""
    cluster = formed(3)
    leader = cluster.leader(0)
    origin, third = others(cluster, leader)
    version, batch = cluster.table.version, build([IN_ZERO], [b"v"])
    late, last, process = 1, 5001, Process(1, 1)
    cluster.sent.clear()
    cluster.happen(leader, Received(origin, Hop(origin, process, last, 1, version, 0, batch, SECOND, 4, None)))
    cluster.happen(leader, Received(third, Hop(origin, process, late, 2, version, 0, batch, SECOND, 4, None)))
    cluster.run(1)
    answers = [send.message for _, send in cluster.sent if isinstance(send.message, HopAnswer)]
    assert sorted([answer.number for answer in answers]) == [late, last]


def test_readers_are_spread_over_the_members() -> None:
    cluster = formed(5, 4, replication=2)
    named = set()
    for bucket, record in enumerate(cluster.table.buckets):
        members = [member.node for member in record.full]
        for at in others(cluster, *members):
            for _ in range(4):
                outcome = read(cluster, at, bucket).outcome
                assert isinstance(outcome, ReadAt)
                named.add((bucket, outcome.node))
    assert len(named) == 8


class FarApart(Cluster):
    """It takes a message a while to come."""

    def _send(self, node: Node, send: Send) -> None:
        to = next((other for other in self.nodes.values() if other.address == send.address), None)
        if to is not None:
            self._after(130_000, lambda: self._come(to, Received(node.name, send.message)))


def test_a_cluster_over_continents_opens_its_buckets() -> None:
    consensus = Consensus(heartbeat_us=300_000, election_us=2_000_000, lease_us=4_000_000, resend_us=1_000_000)
    cluster = FarApart(Settings(consensus=consensus))
    cluster.add("a", "b", "c")
    cluster.found(4, participants=3)
    cluster.until(lambda: cluster.table.buckets and all(bucket.opened for bucket in cluster.table.buckets), 30)
    assert len({cluster.leader(bucket) for bucket in range(4)}) == 3
    ids = [cluster.submit("b", key, seconds=10) for key in KEYS]
    assert {type(cluster.answer(id, 20)) for id in ids} == {Stored}


def test_a_stream_sees_nothing_of_a_drain() -> None:
    cluster = formed(4, 1)
    leader = cluster.leader(0)
    at = others(cluster, leader, "a")[-1]
    outcomes = piped(cluster, at, 800, lambda: cluster.order(Drain(leader), at=at), connection=7)
    assert cluster.leader(0) != leader
    assert {type(outcome) for outcome in outcomes} <= {Stored, Repeated}


def test_a_copy_that_is_damaged_when_its_node_comes_back_is_fetched_anew() -> None:
    cluster = formed(3)
    cluster.crash("c")
    cluster.until(lambda: all(len(bucket.full) == 2 for bucket in cluster.table.buckets))
    cluster.start("c")
    copies = cluster.core("c").copies
    copies._shelf = {number: replace(standing, intact=False) for number, standing in copies._shelf.items()}
    cluster.run(3)
    cluster.steady()
    assert all(len(bucket.full) == 3 for bucket in cluster.table.buckets)
    dropped = [effect.bucket for name, effect in cluster.told if name == "c" and isinstance(effect, Drop)]
    assert sorted(dropped) == [0, 1, 2, 3]
    copies.stop_all()
    assert all(copy.intact for copy in copies.inventory())


def test_an_order_given_to_one_that_is_declared_departed_is_carried_out_once_it_is_back() -> None:
    cluster = formed(4, replication=2)
    cluster.cut("c")
    id = cluster.order(Drain("d"), at="c", order="drain")
    cluster.until(lambda: cluster.table.slots.member("c") is None)
    again = cluster.order(Drain("d"), at="b", order="drain")
    cluster.until(lambda: again in cluster.commands)
    cluster.order(Undrain("d"), at="b")
    cluster.run(1)
    cluster.heal()
    cluster.until(lambda: id in cluster.commands)
    status = cluster.commands[id].status
    assert status is not None and status.standing is Standing.DROPPED  # not a second time
    assert "d" not in cluster.table.slots.drained


def test_a_named_stream_that_a_bucket_has_forgotten_can_go_on() -> None:
    """Who connects anew must get a number that is not broken, or the name is of no use for ever."""
    cluster = formed(3, memory_us=3600 * SECOND)
    device = connection(cluster, "b", "device")
    assert isinstance(cluster.answer(cluster.submit("b", IN_ZERO, connection=device, series=1)), Stored)
    for node in cluster.nodes.values():  # an hour and a half in which it says nothing
        node.skew_us += 5400 * SECOND
    cluster.run(5)
    for _ in range(3):  # and others do
        assert isinstance(
            cluster.answer(cluster.submit("b", IN_ZERO, connection=connection(cluster, "b"), series=1)), Stored
        )
    device = connection(cluster, "b", "device")
    outcome = cluster.answer(cluster.submit("b", IN_ZERO, connection=device, series=2, previous=1))
    if isinstance(outcome, Broken):
        device = connection(cluster, "b", "device", broken=device)
        assert connection(cluster, "c", "device") == device  # and keeps the new one
        outcome = cluster.answer(cluster.submit("b", IN_ZERO, connection=device, series=3))
    assert isinstance(outcome, Stored)


@pytest.mark.parametrize("settings", [Settings(held_count_max=100), Settings(held_bytes_max=100_000)])
def test_a_bucket_that_nobody_leads_does_not_take_all_the_room(settings: Settings) -> None:
    cluster = Cluster(settings)
    cluster.add(*"abcd")
    cluster.found(4, participants=4, replication=1)
    cluster.steady()
    lost = next(number for number in range(4) if cluster.leader(number) == "d")
    cluster.crash("d")
    cluster.until(lambda: cluster.table.buckets[lost].state is State.LOST)
    there = next(key for key in KEYS if bucket_of(key_hash(key), 4) == lost)
    waiting = [cluster.submit("a", there, b"v" * 1000, seconds=10) for _ in range(200)]
    elsewhere = [key for key in KEYS if bucket_of(key_hash(key), 4) != lost]
    assert {type(cluster.answer(cluster.submit("a", key))) for key in elsewhere} == {Stored}
    assert any(id not in cluster.answers for id in waiting)


def test_a_stampede_of_long_and_broken_names_is_taken_in_pieces() -> None:
    cluster = formed(3)
    connects = [
        Connect(cluster.next_id(), cluster.now_us + 5 * SECOND, f"{number:0200}", broken=(1 << 62) + copy)
        for number in range(1000)
        for copy in range(8)
    ]
    cluster.happen("b", *connects)
    cluster.until(lambda: all(connect.id in cluster.connections for connect in connects))
    assert all(cluster.connections[connect.id].connection for connect in connects)


def test_names_that_nobody_waits_for_any_more_are_forgotten() -> None:
    cluster = formed(3)
    cluster.crash("a", "b")
    for number in range(100):
        cluster.happen("c", Connect(cluster.next_id(), cluster.now_us + SECOND, f"device {number}"))
        cluster.run(0.1)
    cluster.run(2)
    assert len(cluster.core("c").proposing.connecting._named) < 10
