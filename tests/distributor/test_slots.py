"""Whoever departs leaves a place, and somebody takes it: a spare at once, the same one again, or the next."""

from hansard.distributor.bucket import State
from hansard.distributor.command import Configure, Drain
from tests.distributor.company import Company, company, names


def slot_of(cluster: Company, node: str) -> int | None:
    return cluster.distributor.slots.of(cluster.member(node))


def had_by(cluster: Company, node: str) -> list[int]:
    return [number for number in range(len(cluster.distributor.buckets)) if node in cluster.nodes(number)]


def whole(cluster: Company) -> bool:
    return cluster.steady() and cluster.balanced() and not list(cluster.distributor.thinned())


def test_the_same_participant_takes_its_place_again_and_gets_its_buckets() -> None:
    cluster = company(names(4), 16)
    slot, had = slot_of(cluster, "n02"), had_by(cluster, "n02")
    cluster.depart("n02")
    cluster.settle()
    cluster.arrive("n02")
    assert slot_of(cluster, "n02") == slot
    cluster.settle()
    assert had_by(cluster, "n02") == had and whole(cluster)


def test_another_takes_the_place_and_gets_the_same_buckets() -> None:
    cluster = company(names(4), 16)
    slot, had = slot_of(cluster, "n02"), had_by(cluster, "n02")
    cluster.depart("n02")
    cluster.settle()
    cluster.arrive("new")
    assert slot_of(cluster, "new") == slot
    cluster.settle()
    assert had_by(cluster, "new") == had and whole(cluster)
    cluster.arrive("n02")
    assert slot_of(cluster, "n02") == 5
    cluster.settle()
    assert whole(cluster)


def test_with_two_places_vacant_each_one_that_returns_takes_its_own() -> None:
    cluster = company(names(4), 16)
    slots = [slot_of(cluster, node) for node in names(4)]
    cluster.depart("n01", "n03")
    cluster.arrive("n03", "n01")
    assert [slot_of(cluster, node) for node in names(4)] == slots


def test_a_spare_is_held_back_and_takes_a_place_at_once() -> None:
    cluster = company(names(4), 16, spares=1)
    assert slot_of(cluster, "n04") is None and cluster.loads() == {"n01": 16, "n02": 16, "n03": 16}
    cluster.depart("n02")
    assert slot_of(cluster, "n04") == 2
    cluster.settle()
    assert whole(cluster) and cluster.loads() == {"n01": 16, "n04": 16, "n03": 16}
    cluster.arrive("n02")
    assert slot_of(cluster, "n02") is None
    cluster.settle()
    assert whole(cluster)


def test_spares_are_not_held_back_from_the_copies_that_are_wanted() -> None:
    cluster = company(names(2), 8, spares=1)
    assert slot_of(cluster, "n02") == 2
    cluster.arrive("n03")
    assert slot_of(cluster, "n03") == 3
    cluster.arrive("n04")
    assert slot_of(cluster, "n04") is None
    cluster.order(Configure(spares=0))
    assert slot_of(cluster, "n04") == 4
    cluster.settle()
    assert whole(cluster)


def test_a_is_replaced_by_b_and_b_by_c_before_b_has_everything() -> None:
    cluster = company(names(3), 16)
    had = had_by(cluster, "n01")
    cluster.depart("n01")
    cluster.settle()
    cluster.arrive("b")
    for number in range(5):
        cluster.step(number)
        cluster.step(number)
    assert 0 < len(had_by(cluster, "b")) < len(had)
    cluster.depart("b")
    cluster.arrive("c")
    assert slot_of(cluster, "c") == 1
    cluster.settle()
    assert whole(cluster) and had_by(cluster, "c") == had
    cluster.arrive("b", "n01")
    cluster.settle()
    assert whole(cluster) and len(cluster.distributor.slots) == 5


def test_a_replacement_that_departs_in_the_middle_of_a_move_leaves_one_vacancy() -> None:
    cluster = company(names(3), 4)
    for node in ("n01", "x", "y", "z"):
        cluster.depart(node) if node == "n01" else None
        cluster.arrive(f"{node}'")
        cluster.step(0)
        cluster.depart(f"{node}'")
        for bucket in cluster.distributor.buckets:
            assert bucket.vacant == (1,)


def test_somebody_arrives_in_the_middle_of_moves() -> None:
    cluster = company(names(3), 32, moves_max=4)
    for node in ("x", "y", "z"):
        cluster.arrive(node)
        for number in range(10):
            cluster.step(number)
    assert State.EXPANDING in cluster.states()
    cluster.settle()
    assert whole(cluster)


def test_a_place_in_which_nothing_is_missed_goes() -> None:
    cluster = company(names(3), 8, 1)
    cluster.order(Drain("n02"))
    cluster.settle()
    assert slot_of(cluster, "n02") is None and len(cluster.distributor.slots) == 2


def test_a_participant_that_is_gone_for_good_is_drained_and_what_it_had_is_put_elsewhere() -> None:
    cluster = company(names(5), 16)
    cluster.depart("n02")
    cluster.settle()
    assert list(cluster.distributor.thinned())
    cluster.order(Drain("n02"))
    cluster.settle()
    assert whole(cluster) and len(cluster.distributor.slots) == 4


def test_there_are_no_more_places_than_copies_to_put_there() -> None:
    cluster = company(names(5), 2, 1)
    assert len(cluster.distributor.slots) == 2
    cluster.order(Configure(replication=2))
    assert len(cluster.distributor.slots) == 4
    cluster.settle()
    assert whole(cluster)


def test_founding_takes_one_entry_and_one_for_each_participant() -> None:
    cluster = Company()
    cluster.arrive("a", "b", "c")
    cluster.found(1024, participants=3)
    assert cluster.settle() == 3 and whole(cluster)


def test_a_founder_waits_for_as_many_as_it_was_told() -> None:
    cluster = Company()
    cluster.arrive("a")
    id = cluster.found(8, participants=3)
    cluster.arrive("b")
    assert not cluster.distributor.buckets and cluster.standing(id) == "running"
    cluster.depart("b")
    cluster.arrive("c")
    assert not cluster.distributor.buckets
    cluster.arrive("d")
    assert cluster.standing(id) == "done"
    cluster.settle()
    assert whole(cluster) and cluster.moves == 0


def test_one_who_comes_back_gets_its_share_of_leads_and_nothing_else_moves() -> None:
    cluster = company(names(12), 128)
    before = [sorted(cluster.nodes(number)) for number in range(128)]
    cluster.depart("n05")
    cluster.settle()
    cluster.arrive("n05")
    cluster.settle()
    assert [sorted(cluster.nodes(number)) for number in range(128)] == before and whole(cluster)
    assert cluster.moves < 32 + 4 * 11, "32 copies, and not much more than the leads that were its own"


def test_what_is_thinned_out_is_not_moved_about_between_zones() -> None:
    cluster = Company()
    for number in range(8):
        cluster.arrive(f"n{number}", zone="abc"[number % 3])
    cluster.found(64)
    cluster.settle()
    before = [sorted(cluster.nodes(number)) for number in range(64)]
    cluster.depart("n3")
    cluster.settle()
    cluster.arrive("n3", zone="a")
    cluster.settle()
    assert [sorted(cluster.nodes(number)) for number in range(64)] == before


def test_a_drain_elsewhere_does_not_hide_that_somebody_is_missed() -> None:
    cluster = company(names(3), 8)
    cluster.depart("n03")
    cluster.settle()
    cluster.order(Drain("n02"))
    cluster.settle()
    assert cluster.loads() == {"n01": 8}
    assert [(each.copies, each.wanted) for each in cluster.distributor.thinned()] == [(1, 2)] * 8
    cluster.arrive("n03")
    cluster.settle()
    assert cluster.loads() == {"n01": 8, "n03": 8} and whole(cluster)
