"""Connection numbers: each is given out once, a name gets its own back."""

from hansard.distributor.command import Found, Grant
from hansard.distributor.distributor import Distributor
from hansard.distributor.member import Member
from hansard.participant.connecting import Connecting
from hansard.participant.event import Connect
from hansard.participant.here import Here
from hansard.participant.message import Process
from hansard.participant.settings import Settings
from hansard.phaser.outcome import Stored
from tests.participant.cluster import SECOND, Cluster
from tests.participant.test_government import formed


def connect(cluster: Cluster, at: str, name: str = "", seconds: float = 5, broken: int = 0) -> int:
    id = cluster.next_id()
    cluster.happen(at, Connect(id, cluster.now_us + int(seconds * SECOND), name, broken))
    return id


def connection(cluster: Cluster, at: str, name: str = "", broken: int = 0) -> int:
    id = connect(cluster, at, name, broken=broken)
    cluster.until(lambda: id in cluster.connections)
    return cluster.connections[id].connection


def test_no_number_is_given_twice() -> None:
    cluster = formed(3)
    numbers = [connection(cluster, at) for at in "abc" * 30]
    assert len(set(numbers)) == 90
    assert min(numbers) > 0


def test_a_range_serves_many_without_another_entry() -> None:
    cluster = formed(3)
    connection(cluster, "b")
    before = cluster.core("b").consensus.committed
    for _ in range(Settings().connections - 1):
        connection(cluster, "b")
    assert cluster.core("b").consensus.committed == before


def test_a_stampede_of_clients_gets_its_numbers_with_few_entries() -> None:
    cluster = formed(3)
    before = cluster.core("a").consensus.committed
    ids = [connect(cluster, "c") for _ in range(5000)]
    cluster.until(lambda: all(id in cluster.connections for id in ids))
    assert len({cluster.connections[id].connection for id in ids}) == 5000
    assert cluster.core("a").consensus.committed - before <= 3


def test_what_is_left_of_a_range_is_thrown_away_after_a_minute() -> None:
    cluster = formed(3)
    first = connection(cluster, "b")
    cluster.run(61)
    assert connection(cluster, "b") >= first + Settings().connections


def test_a_restarted_process_does_not_go_on_with_the_range_of_the_one_before() -> None:
    cluster = formed(3)
    numbers = [connection(cluster, "b") for _ in range(3)]
    cluster.crash("b")
    cluster.start("b")
    cluster.until(lambda: cluster.core("b").here.member is not None)
    assert connection(cluster, "b") not in numbers


def test_a_name_gets_its_number_back_anywhere() -> None:
    cluster = formed(3)
    one, other = connection(cluster, "a", "sink-1"), connection(cluster, "b", "sink-2")
    assert one != other
    assert connection(cluster, "c", "sink-1") == one
    assert connection(cluster, "a", "sink-2") == other
    assert connection(cluster, "a") not in (one, other)


def test_a_name_that_is_in_use_does_not_expire() -> None:
    cluster = formed(3, 1)
    number = connection(cluster, "a", "sink")
    memory_us = cluster.table.settings.memory_us
    for series in range(20):  # five times as long as a name would last
        for node in cluster.nodes.values():
            node.skew_us += memory_us // 2
        cluster.run(5)
        submitted = cluster.submit("b", b"k", connection=number, series=series, previous=series - 1)
        assert isinstance(cluster.answer(submitted), Stored)
    cluster.run(5)
    connection(cluster, "c", "another")
    assert connection(cluster, "c", "sink") == number
    assert list(cluster.table.connections.names) == ["another", "sink"]


def test_without_a_majority_there_are_none_and_that_is_said_in_time() -> None:
    cluster = formed(3)
    cluster.crash("a", "b")
    id = connect(cluster, "c", seconds=2)
    named = connect(cluster, "c", "sink", seconds=2)
    cluster.run(2.1)
    assert cluster.connections[id].connection == cluster.connections[named].connection == 0
    assert cluster.connections[id].retry_us > 0


def test_what_was_granted_to_a_former_life_is_not_taken_for_ones_own() -> None:
    """A process on an empty disk counts its sessions from the start again, and finds the table as it was."""
    distributor = Distributor()
    distributor.make(Found(1))
    here = Here("a", Settings(), distributor, lambda: 0.0)
    numbers = []
    for life in (5, 6):
        here.process = Process(life, 1)
        connecting = Connecting(here)
        connecting.connect(Connect(life, SECOND))
        (grant,) = connecting.wanted(1)
        assert isinstance(grant, Grant)
        assert here.effects == [], "somebody else's number is given out"
        connecting.settled(grant)  # it came to nothing, or it is not ours that is there
        assert connecting.wanted(1)[0] != grant
        assert here.effects == []
        numbers.append(grant.number)
        distributor.connections.grant(Member("a", 1), grant)
    assert numbers[0] != numbers[1]
