"""What operators order is done once, and it can be seen how far it is."""

import pytest

from hansard.distributor import orders
from hansard.distributor.bucket import State
from hansard.distributor.command import (
    Achievement,
    Configure,
    Drain,
    Found,
    Move,
    Order,
    Pause,
    Release,
    Resume,
    Undrain,
    Wish,
    decode,
    encode,
)
from hansard.distributor.orders import RUNNING_MAX, Orders, Standing, Status
from hansard.distributor.settings import Settings, Shape
from tests.distributor.company import Company, company, names

DONE, RUNNING, REFUSED, DROPPED = Standing.DONE, Standing.RUNNING, Standing.REFUSED, Standing.DROPPED


def holds(cluster: Company, node: str) -> list[int]:
    return [number for number in range(len(cluster.distributor.buckets)) if node in cluster.nodes(number)]


# Draining.


def test_a_drained_participant_gives_its_leads_first_and_then_its_copies() -> None:
    cluster = company(names(4), 16)
    id = cluster.order(Drain("n02"))
    member = cluster.member("n02")
    copies = len(holds(cluster, "n02"))
    while any(bucket.lead == member for bucket in cluster.distributor.buckets):
        assert len(holds(cluster, "n02")) == copies
        (number,) = [n for n, bucket in enumerate(cluster.distributor.buckets) if bucket.goal]
        assert cluster.distributor.buckets[number].newcomers == ()
        cluster.step(number)
    assert cluster.standing(id) is RUNNING
    cluster.settle()
    assert cluster.standing(id) is DONE and holds(cluster, "n02") == []
    assert cluster.balanced() and cluster.steady() and "n02" in cluster.here
    assert not list(cluster.distributor.thinned())


def test_what_is_drained_is_given_nothing_until_it_is_undrained() -> None:
    cluster = company(names(4), 16)
    cluster.order(Drain("n02"))
    cluster.settle()
    cluster.depart("n02", "n03")
    cluster.arrive("n02")
    cluster.settle()
    assert holds(cluster, "n02") == []
    cluster.order(Undrain("n02"))
    cluster.arrive("n03")
    cluster.settle()
    assert len(holds(cluster, "n02")) == 12 and cluster.balanced()


def test_a_drain_that_is_taken_back_is_dropped() -> None:
    cluster = company(names(4), 16)
    id = cluster.order(Drain("n02"))
    cluster.step(0)
    cluster.order(Undrain("n02"))
    assert cluster.standing(id) is DROPPED
    cluster.settle()
    assert cluster.steady() and cluster.balanced() and len(cluster.loads()) == 4


def test_with_nowhere_else_to_go_there_are_fewer_copies() -> None:
    cluster = company(names(3), 8)
    cluster.order(Drain("n01"))
    cluster.settle()
    assert cluster.loads() == {"n02": 8, "n03": 8} and not list(cluster.distributor.thinned())
    cluster.order(Drain("n02"))
    cluster.settle()
    assert cluster.loads() == {"n03": 8}


def test_the_last_one_cannot_be_drained_and_its_order_runs_until_somebody_comes() -> None:
    cluster = company(["a"], 4)
    id = cluster.order(Drain("a"))
    cluster.settle()
    assert cluster.loads() == {"a": 4} and cluster.standing(id) is RUNNING
    cluster.arrive("b")
    cluster.settle()
    assert cluster.loads() == {"b": 4} and cluster.standing(id) is DONE


def test_two_are_drained_at_once() -> None:
    cluster = company(names(5), 16, 2, moves_max=4)
    ids = [cluster.order(Drain(node)) for node in ("n01", "n02")]
    cluster.settle()
    assert [cluster.standing(id) for id in ids] == [DONE, DONE]
    assert cluster.balanced() and not list(cluster.distributor.thinned())
    assert holds(cluster, "n01") == holds(cluster, "n02") == []


def test_a_drained_participant_that_departs_is_not_waited_for() -> None:
    cluster = company(names(4), 16)
    id = cluster.order(Drain("n02"))
    cluster.depart("n02")
    assert cluster.standing(id) is DONE and len(cluster.distributor.slots) == 3
    cluster.settle()
    assert cluster.balanced() and not list(cluster.distributor.thinned())


def test_nobody_is_drained_who_was_never_there() -> None:
    cluster = company(["a"], 1)
    id = cluster.order(Drain("x"))
    assert cluster.status(id).standing is REFUSED and "x" in cluster.status(id).remark
    assert cluster.standing(cluster.order(Undrain("a"))) is REFUSED


def test_a_drain_goes_on_during_a_pause() -> None:
    cluster = company(names(4), 16)
    cluster.order(Pause())
    id = cluster.order(Drain("n02"))
    cluster.settle()
    assert cluster.standing(id) is DONE


# Moving by hand.


def test_a_bucket_moved_by_hand_stays_there_until_it_is_released() -> None:
    cluster = company(names(4), 8, 2)
    id = cluster.order(Move(3, ("n02", "n04")))
    assert cluster.standing(id) is RUNNING
    cluster.settle()
    assert cluster.standing(id) is DONE and cluster.nodes(3) == ["n02", "n04"]
    cluster.order(Configure(replication=3))
    cluster.arrive("n05")
    cluster.settle()
    assert cluster.nodes(3) == ["n02", "n04"] and cluster.distributor.buckets[3].pinned
    assert all(len(cluster.nodes(number)) == 3 for number in range(8) if number != 3)
    cluster.order(Release(3))
    cluster.settle()
    assert len(cluster.nodes(3)) == 3 and cluster.balanced()


def test_a_pinned_bucket_has_as_many_copies_as_it_was_given_and_the_shape_of_all() -> None:
    cluster = company(names(5), 8, 2)
    cluster.order(Move(3, ("n02", "n04", "n05")))
    cluster.settle()
    cluster.order(Configure(replication=1, shape=Shape.CHAIN))
    cluster.settle()
    assert cluster.nodes(3) == ["n02", "n04", "n05"] and cluster.distributor.buckets[3].shape is Shape.CHAIN
    assert all(len(cluster.nodes(number)) == 1 for number in range(8) if number != 3)


def test_a_pinned_bucket_is_drained_like_all_others() -> None:
    cluster = company(names(5), 8, 2)
    cluster.order(Move(3, ("n02", "n04", "n05")))
    cluster.settle()
    id = cluster.order(Drain("n02"))
    cluster.settle()
    assert cluster.standing(id) is DONE and "n02" not in cluster.nodes(3) and len(cluster.nodes(3)) == 3
    assert "n04" in cluster.nodes(3) and "n05" in cluster.nodes(3)


def test_all_to_one_and_back() -> None:
    cluster = company(names(4), 8, 2, moves_max=3)
    ids = [cluster.order(Move(number, ("n01",))) for number in range(8)]
    cluster.settle()
    assert cluster.leads()["n01"] == 8 and {cluster.standing(id) for id in ids} == {DONE}
    for number in range(8):
        cluster.order(Release(number))
    cluster.settle()
    assert cluster.balanced() and cluster.steady()


def test_a_pinned_bucket_is_like_all_others_when_one_of_its_participants_departs() -> None:
    cluster = company(names(4), 8, 2)
    cluster.order(Move(3, ("n04", "n01")))
    cluster.settle()
    cluster.depart("n01")
    assert not cluster.distributor.buckets[3].pinned


def test_a_move_is_dropped_when_one_departs_whom_it_names() -> None:
    cluster = company(names(4), 8, 1)
    there = cluster.nodes(0)[0]
    (to,) = [node for node in names(4) if node != there][:1]
    id = cluster.order(Move(0, (to,)))
    cluster.depart(to)
    assert cluster.standing(id) is DROPPED and not cluster.distributor.buckets[0].pinned


def test_a_move_begins_again_when_somebody_else_departs() -> None:
    cluster = company("abc", 1, 2)
    cluster.order(Move(0, ("a", "b")))
    cluster.settle()
    id = cluster.order(Move(0, ("c",)))
    cluster.depart("b")
    assert cluster.distributor.buckets[0].goal == () and cluster.standing(id) is RUNNING
    cluster.settle()
    assert cluster.standing(id) is DONE and cluster.nodes(0) == ["c"]


def test_a_move_is_dropped_for_a_later_one() -> None:
    cluster = company("abc", 1, 1)
    first, second = cluster.order(Move(0, ("b",))), cluster.order(Move(0, ("c",)))
    assert (cluster.standing(first), cluster.standing(second)) == (DROPPED, RUNNING)
    cluster.settle()
    assert cluster.standing(second) is DONE and cluster.nodes(0) == ["c"]


def test_a_release_ends_a_move_that_is_not_done() -> None:
    cluster = company("abc", 1, 1)
    cluster.order(Move(0, ("b",)))
    id = cluster.order(Move(0, ("c",)))
    cluster.order(Release(0))
    cluster.settle()
    assert cluster.standing(id) is DROPPED and not cluster.distributor.buckets[0].pinned


def test_a_move_waits_for_room() -> None:
    cluster = company(names(3), 8, 1)
    cluster.arrive("n04")
    busy = [n for n, bucket in enumerate(cluster.distributor.buckets) if bucket.goal]
    assert len(busy) == 1
    to = "n01" if cluster.nodes(7) != ["n01"] else "n02"
    id = cluster.order(Move(7, (to,)))
    assert cluster.standing(id) is RUNNING and not cluster.distributor.buckets[7].goal
    cluster.settle()
    assert cluster.standing(id) is DONE and cluster.nodes(7) == [to]


def test_a_spare_is_given_what_is_moved_to_it_by_hand() -> None:
    cluster = company(names(4), 8, spares=1)
    cluster.order(Move(0, ("n04",)))
    cluster.settle()
    assert cluster.nodes(0) == ["n04"]


@pytest.mark.parametrize(
    "wish",
    [
        Move(8, ("n01",)),
        Move(-1, ("n01",)),
        Move(0, ()),
        Move(0, ("n01", "n01")),
        Move(0, tuple(names(6))),
        Move(0, ("x",)),
        Move(0, ("n05",)),
        Release(8),
        Configure(replication=0),
        Configure(replication=6),
        Configure(moves_max=0),
        Configure(spares=-1),
        Found(8),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(wish: Wish) -> None:
    cluster = company(names(6), 8)
    cluster.order(Drain("n05"))
    cluster.settle()
    before = (cluster.distributor.version, cluster.distributor.settings)
    id = cluster.order(wish)
    assert cluster.standing(id) is REFUSED and cluster.status(id).remark
    assert (cluster.distributor.version, cluster.distributor.settings) == before


def test_a_lost_bucket_is_not_moved() -> None:
    cluster = company("ab", 2, 1)
    gone = cluster.nodes(0)[0]
    cluster.depart(gone)
    assert cluster.distributor.buckets[0].state is State.LOST
    id = cluster.order(Move(0, (cluster.here[0],)))
    assert cluster.standing(id) is REFUSED


# Settings.


@pytest.mark.parametrize("there", [1, 2, 3, 6])
def test_the_number_of_copies_goes_up_and_down(there: int) -> None:
    cluster = company(names(there), 16, 1)
    for replication in (1, 2, 3, 5, 3, 2, 1, 5, 1):
        cluster.order(Configure(replication=replication))
        cluster.settle()
        assert cluster.steady() and cluster.balanced()
        assert all(len(cluster.nodes(number)) == min(replication, there) for number in range(16))


def test_a_place_that_nobody_needs_with_fewer_copies_is_not_waited_for() -> None:
    cluster = company(names(3), 8, 3)
    cluster.depart("n03")
    cluster.settle()
    assert list(cluster.distributor.thinned())
    cluster.order(Configure(replication=2))
    cluster.settle()
    assert not list(cluster.distributor.thinned()) and len(cluster.distributor.slots) == 2


def test_another_shape_comes_with_another_government_of_the_same() -> None:
    cluster = company(names(3), 8, 3, moves_max=2)
    before = [cluster.nodes(number) for number in range(8)]
    cluster.order(Configure(shape=Shape.CHAIN))
    assert sum(bucket.shape is Shape.CHAIN for bucket in cluster.distributor.buckets) == 2
    cluster.settle()
    assert all(bucket.shape is Shape.CHAIN for bucket in cluster.distributor.buckets)
    assert [cluster.nodes(number) for number in range(8)] == before and cluster.moves == 8


def test_only_what_is_given_is_changed() -> None:
    cluster = company(["a"], 1)
    cluster.order(Configure(moves_max=7))
    assert cluster.distributor.settings == Settings(moves_max=7)


# Once.


@pytest.mark.parametrize("wish", [Drain("n02"), Move(0, ("n03",)), Pause(), Configure(replication=2)])
def test_an_order_that_comes_again_is_not_carried_out_again(wish: Wish) -> None:
    cluster = company(names(4), 8)
    id = cluster.order(wish)
    cluster.settle()
    cluster.order(Undrain("n02"))
    cluster.order(Release(0))
    cluster.order(Resume())
    cluster.order(Configure(replication=3))
    cluster.settle()
    before = cluster.distributor.hash
    cluster.order(wish, id)
    assert cluster.distributor.hash == before


def test_what_runs_is_not_forgotten() -> None:
    kept = Orders()
    kept.note("drain", Drain("a"), RUNNING)
    for number in range(orders.REMEMBERED + 5):
        kept.note(str(number), Pause(), DONE)
    assert kept.get("drain") == Status(Drain("a"), RUNNING) and "5" not in kept and "6" in kept
    assert len(kept.image()) == orders.REMEMBERED
    assert Orders(kept.image()).image() == kept.image() and Orders(kept.image()).running == kept.running


def test_there_are_not_too_many_at_a_time() -> None:
    cluster = company(["a"], 1)
    ids = [cluster.order(Drain("a")) for _ in range(RUNNING_MAX + 1)]
    assert [cluster.standing(id) for id in ids[-2:]] == [RUNNING, REFUSED]


def test_a_command_is_the_same_after_the_log() -> None:
    for wish in (Drain("a"), Found(8, Settings(shape=Shape.CHAIN), 3), Configure(shape=Shape.STAR), Pause(), Resume()):
        order = Order("id", wish)
        assert decode(encode(order)) == order
    assert decode(b"") is None and decode(b"\x93abc") is None
    assert Achievement("opened") is Achievement.OPENED
