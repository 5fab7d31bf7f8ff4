"""Damage is made good from whoever has the very same entries, and a copy that cannot be is fetched anew."""

from hansard.distributor.member import Member
from hansard.participant.effect import Drop, GivenUp, Mend, Send
from hansard.participant.event import Damaged, Received
from hansard.participant.mending import AGAIN_US
from hansard.participant.message import MendAsk, MendTold
from hansard.phaser.outcome import Stored
from tests.participant.cluster import SECOND, Cluster

KEY = b"a key"


def company(names: str = "abc", replication: int = 3) -> Cluster:
    """With some changes in a single bucket, 0, whose leader is the first."""
    cluster = Cluster()
    cluster.add(*names)
    cluster.found(buckets=1, participants=len(names), replication=replication)
    cluster.steady()
    fill(cluster)
    return cluster


def fill(cluster: Cluster, count: int = 8) -> None:
    for _ in range(count):
        assert isinstance(cluster.answer(cluster.submit(cluster.up[0].here.node, KEY)), Stored)
    cluster.run(1)


def damage(cluster: Cluster, name: str, number: int = 1) -> Damaged:
    """Of two entries in the middle."""
    some = cluster.nodes[name].vaults[0].current.batches[2:4]
    length = sum(batch.length for batch in some)
    return Damaged(0, number, some[0].header.base_offset, some[-1].header.end_offset, length)


def mends(cluster: Cluster, name: str) -> list[Mend]:
    return [effect for node, effect in cluster.told if node == name and isinstance(effect, Mend)]


def values(cluster: Cluster, name: str) -> list[bytes]:
    return [batch.to_bytes() for batch in cluster.nodes[name].vaults[0].current.batches]


def come_again(cluster: Cluster, name: str) -> None:
    """As another member, and until it has everything again."""
    cluster.until(lambda: cluster.core(name).here.member == Member(name, 2))
    cluster.until(lambda: Member(name, 2) in cluster.table.buckets[0].full)
    cluster.until(lambda: len(cluster.table.buckets[0].full) == 3)
    cluster.steady()
    cluster.run(1)


def test_what_is_damaged_is_asked_of_another_member_and_is_the_same() -> None:
    for name in "abc":
        cluster = company()
        some = values(cluster, name)[2:4]
        cluster.happen(name, damage(cluster, name))
        cluster.until(lambda name=name, cluster=cluster: mends(cluster, name))  # type: ignore[misc]
        (mend,) = mends(cluster, name)
        assert [batch.to_bytes() for batch in mend.batches] == some
        assert mend.node != name
        cluster.run(1)
        assert not cluster.core(name).mending.wounds


def test_entries_of_another_term_are_not_taken() -> None:
    cluster = company()
    cluster.lose = lambda _, send: isinstance(send.message, MendTold)
    event = damage(cluster, "c")
    cluster.happen("c", event)
    asked = next(send for _, send in cluster.sent if isinstance(send.message, MendAsk))
    batches = cluster.nodes["a"].vaults[0].current.batches[2:4]
    other = [
        batch.stamped(epoch=batch.header.epoch + 1, base_offset=batch.header.base_offset, timestamp=1)
        for batch in batches
    ]
    assert event.first is not None
    cluster.happen("c", Received(asked.to, MendTold(0, 1, event.first, other)))
    cluster.happen("c", Received(asked.to, MendTold(0, 1, event.first, batches[1:])))
    cluster.run(0.1)
    assert not mends(cluster, "c")


def test_who_does_not_answer_or_has_nothing_is_not_the_last_one_that_is_asked() -> None:
    cluster = company()
    cluster.lose = lambda sender, send: isinstance(send.message, MendTold) and sender == "a"
    cluster.happen("c", damage(cluster, "c", 2))
    cluster.until(lambda: mends(cluster, "c"))
    assert mends(cluster, "c")[0].node == "b"


def test_when_nobody_has_it_all_are_asked_again_and_nothing_is_given_up() -> None:
    cluster = company()
    first = damage(cluster, "c").first
    assert first is not None
    for name in "ab":
        cluster.nodes[name].vaults[0].current.batches[2:4] = []
    cluster.happen("c", damage(cluster, "c"))
    cluster.run(2.5 * AGAIN_US / SECOND)
    asked = [send for name, send in cluster.sent if name == "c" and isinstance(send.message, MendAsk)]
    assert len(asked) >= 4
    assert not mends(cluster, "c")
    assert not cluster.core("c").copies.given_up


def test_a_copy_whose_end_is_not_known_is_given_up_and_comes_back_as_a_newcomers() -> None:
    for name in "abc":
        cluster = company()
        everything = values(cluster, name)
        cluster.happen(name, Damaged(0, 1, 5, None, None))
        come_again(cluster, name)
        assert (name, Drop(0, damaged=True)) in cluster.told
        assert values(cluster, name)[: len(everything)] == everything
        assert not cluster.core(name).copies.given_up
        fill(cluster, 2)


def test_what_does_not_fit_gives_the_copy_up() -> None:
    cluster = company()
    cluster.fits = False
    cluster.happen("b", damage(cluster, "b"))
    cluster.until(lambda: ("b", Drop(0, damaged=True)) in cluster.told)
    cluster.steady()


def test_a_copy_that_nobody_else_has_is_kept_whatever_is_wrong_with_it() -> None:
    cluster = company("ab", 1)
    name = cluster.leader(0)
    cluster.happen(name, Damaged(0, 1, 5, None, None))
    cluster.run(5)
    assert (name, GivenUp((0,), (0,))) in cluster.told
    assert cluster.core(name).here.member == Member(name, 1)
    assert not any(isinstance(effect, Drop) for _, effect in cluster.told)
    fill(cluster, 2)


def test_what_cannot_be_loaded_is_mended_first_though_it_is_the_leaders() -> None:
    """Those who have what the leader lacks wait for that leader, and do not know what is committed."""
    for names in ("a", "abc"):
        cluster = company()
        everything = values(cluster, "a")
        spoiled = damage(cluster, "a")
        cluster.crash(*names)
        cluster.nodes["a"].spoiled[0] = spoiled
        for name in names:
            cluster.start(name)
        cluster.until(lambda cluster=cluster: mends(cluster, "a"))  # type: ignore[misc]
        fill(cluster, 2)
        assert values(cluster, "b")[: len(everything)] == everything
        assert cluster.core("a").copies.running[0].phaser is not None


def test_damage_that_is_met_while_a_copy_is_loading_waits_until_its_log_is_known() -> None:
    cluster = company()
    event = damage(cluster, "c")
    cluster.crash("c")
    cluster.start("c")
    cluster.until(lambda: 0 in cluster.core("c").copies.running)
    assert cluster.core("c").copies.running[0].phaser is None
    cluster.happen("c", event)
    cluster.until(lambda: mends(cluster, "c"))
    assert not cluster.core("c").copies.given_up


def test_a_leader_whose_copies_are_gone_does_not_make_everybodys_log_empty() -> None:
    """Its atomic log says that it leads; its disk has nothing of what it has acknowledged."""
    for name in "abc":
        cluster = company()
        everything = values(cluster, name)
        cluster.crash(name)
        cluster.nodes[name].vaults.clear()
        cluster.start(name)
        come_again(cluster, name)
        for other in "abc":
            assert values(cluster, other)[: len(everything)] == everything
        fill(cluster, 2)


def test_a_copy_from_an_earlier_time_is_not_gone_on_with() -> None:
    """Somebody has put back what a disk had under an earlier government."""
    cluster = company()
    earlier = cluster.nodes["a"].vaults[0].synced.copy()
    cluster.crash("b")
    cluster.until(lambda: len(cluster.table.buckets[0].full) == 2)
    fill(cluster, 4)
    everything = values(cluster, "c")
    cluster.crash("a")
    vault = cluster.nodes["a"].vaults[0]
    vault.synced, vault.current = earlier, earlier.copy()
    cluster.start("b")
    cluster.start("a")
    come_again(cluster, "a")
    for name in "abc":
        assert values(cluster, name)[: len(everything)] == everything


def test_an_asker_that_lost_its_way_is_told_that_there_is_nothing() -> None:
    cluster = company("ab", 2)
    cluster.happen("b", Received("a", MendAsk(7, 1, 0, 5)))
    assert Send("a", "a:1", MendTold(7, 1, 0, [])) in [send for _, send in cluster.sent]
