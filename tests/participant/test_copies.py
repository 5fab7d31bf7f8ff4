"""What is kept on disk, and what is dropped; what becomes of what a copy has said when it is stopped."""

from msgspec.structs import replace

from hansard.distributor.bucket import Bucket
from hansard.distributor.distributor import Distributor
from hansard.distributor.member import Member
from hansard.participant.copies import Copies, Standing
from hansard.participant.effect import Drop, Pressure
from hansard.participant.here import Here
from hansard.participant.settings import Settings
from hansard.phaser.event import Paused
from tests.participant.cluster import Cluster


def test_nothing_is_dropped_by_a_table_that_may_be_old() -> None:
    """A later table may need the copy, and its leader may count on what it has acknowledged since."""
    distributor = Distributor()
    other = Member("b", 1)
    distributor.buckets = [Bucket(epoch=3, leader=other, members=(other,), opened=3, full=(other,), level=1)]
    here = Here("a", Settings(), distributor, lambda: 0.0)
    copies = Copies(here, {0: Standing(counted=0, expanded=0, end=4)})
    copies.follow(0)
    assert here.effects == []
    here.member = Member("a", 2)
    copies.follow(0)
    assert here.effects == [Drop(0)]


def test_a_leader_that_is_stopped_with_a_long_backlog_holds_nobody_back() -> None:
    """Or else its node would take nothing from any client any more, whatever bucket it is for."""
    cluster = Cluster()
    cluster.settings = replace(cluster.settings, phaser=replace(cluster.settings.phaser, backlog_count_max=10))
    cluster.add(*"abcd")
    cluster.found(1, participants=4)
    cluster.steady()
    leader = cluster.leader(0)
    cluster.core(leader).copies.happen(0, Paused(True))
    for number in range(8):
        cluster.submit(leader, b"k%d" % number, seconds=60)
    cluster.run(1)
    assert _pressures(cluster) == [(leader, True)]
    cluster.pause(leader)
    cluster.run(20)
    cluster.resume(leader)
    cluster.run(20)
    assert 0 not in cluster.core(leader).copies.running
    assert _pressures(cluster) == [(leader, True), (leader, False)]


def _pressures(cluster: Cluster) -> list[tuple[str, bool]]:
    return [(node, effect.high) for node, effect in cluster.told if isinstance(effect, Pressure)]
