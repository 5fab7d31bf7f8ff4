"""A participant that is about to stop hands over what it leads, and says whether it should leave."""

import pytest

from hansard.distributor.settings import Shape
from hansard.participant.effect import Retired
from hansard.participant.event import Leave, Retire
from hansard.phaser.outcome import Stored
from tests.participant.cluster import Cluster
from tests.participant.test_government import KEYS, formed, stored


def retired(cluster: Cluster, name: str) -> Retired | None:
    return next((effect for node, effect in cluster.told if node == name and isinstance(effect, Retired)), None)


def leads(cluster: Cluster, name: str) -> int:
    return sum([bucket.leader is not None and bucket.leader.node == name for bucket in cluster.table.buckets])


@pytest.mark.parametrize("shape", Shape)
def test_others_lead_and_what_it_is_given_hops_to_them(shape: Shape) -> None:
    cluster = formed(3, 8, shape=shape)
    assert leads(cluster, "b")
    cluster.happen("b", Retire())
    cluster.until(lambda: retired(cluster, "b") is not None)
    assert retired(cluster, "b") == Retired(leave=True) and leads(cluster, "b") == 0
    assert all(bucket.opened == bucket.epoch and len(bucket.full) == 3 for bucket in cluster.table.buckets)
    assert all(stored(cluster, "b", key) for key in KEYS)


def test_what_was_submitted_meanwhile_is_stored_without_an_error() -> None:
    cluster = formed(3, 8)
    cluster.happen("b", Retire())
    ids: list[int] = []
    while retired(cluster, "b") is None:
        ids += [cluster.submit(at, key, seconds=3) for at in "abc" for key in KEYS]
        cluster.run(0.002)
    assert len(ids) > 10 * len(KEYS) and all(isinstance(cluster.answer(id), Stored) for id in ids)


def test_it_leaves_and_comes_back() -> None:
    cluster = formed(3, 4)
    cluster.happen("b", Retire())
    cluster.until(lambda: retired(cluster, "b") is not None)
    cluster.happen("b", Leave("b"))
    cluster.until(lambda: not any("b" in [m.node for m in bucket.members] for bucket in cluster.table.buckets))
    cluster.run(1)
    cluster.crash("b")
    cluster.start("b")
    cluster.until(lambda: all(len(bucket.full) == 3 for bucket in cluster.table.buckets))
    assert not cluster.table.retiring
    cluster.until(lambda: leads(cluster, "b"))


def test_when_all_are_told_to_stop_nobody_leaves() -> None:
    cluster = formed(3, 4)
    for name in "abc":
        cluster.happen(name, Retire())
    cluster.until(lambda: all(retired(cluster, name) is not None for name in "abc"))
    assert [retired(cluster, name) for name in "abc"] == [Retired(leave=False)] * 3
    assert all(len(bucket.full) == 3 for bucket in cluster.table.buckets)


@pytest.mark.parametrize("late_ms", [0, 1, 2, 3, 5, 8, 13, 21, 34, 55])
@pytest.mark.parametrize("last", "abc")
def test_nobody_departs_though_the_heir_of_all_is_told_to_stop_and_gone_first(last: str, late_ms: int) -> None:
    cluster = formed(3, 4)
    others = [name for name in "abc" if name != last]
    for name in others:
        cluster.happen(name, Retire())
    cluster.run(late_ms / 1000)
    cluster.happen(last, Retire())
    running = set("abc")

    def stopped() -> bool:
        for name in sorted(running):
            if retired(cluster, name) is not None:
                running.remove(name)
                cluster.crash(name)
        return len(running) < 2  # one alone can no more say that another has departed

    cluster.until(stopped)
    assert len(cluster.table.slots.present) == 3


def test_who_has_the_only_copy_or_one_of_too_few_stays_a_member() -> None:
    cluster = formed(3, 4)
    cluster.crash("c")
    cluster.until(lambda: cluster.table.slots.member("c") is None)
    cluster.happen("b", Retire())
    cluster.until(lambda: retired(cluster, "b") is not None)
    assert retired(cluster, "b") == Retired(leave=False) and leads(cluster, "b") == 0


def test_a_lone_participant_may_stop_at_once() -> None:
    cluster = formed(1, 2)
    cluster.happen("a", Retire())
    cluster.until(lambda: retired(cluster, "a") is not None)
    assert retired(cluster, "a") == Retired(leave=False) and leads(cluster, "a") == 2


def test_one_that_was_killed_while_it_was_about_to_stop_takes_its_word_back() -> None:
    cluster = formed(3, 4)
    cluster.happen("b", Retire())
    cluster.until(lambda: retired(cluster, "b") is not None)
    cluster.crash("b")
    cluster.start("b")
    cluster.until(lambda: not cluster.table.retiring)
    cluster.steady()
    assert leads(cluster, "b")
