"""A log that comes from elsewhere: nothing opens before all of it is there, and nothing of it is given up before."""

import pytest

from hansard.distributor.bucket import State
from hansard.distributor.command import Achievement, Double, Finish, Found
from hansard.distributor.distributor import Distributor
from hansard.distributor.fact import Copy
from hansard.distributor.orders import Standing
from hansard.distributor.settings import Settings
from tests.distributor.company import Company


@pytest.fixture
def importing() -> Company:
    """Two buckets at a and b, and c is there too; their leaders follow epoch 1, and have not opened."""
    cluster = Company()
    cluster.arrive("a", "b")
    cluster.order(Found(2, Settings(replication=2), 2, log="0123", importing=True))
    cluster.arrive("c")
    return cluster


def opened(cluster: Company) -> list[int]:
    return [bucket.opened for bucket in cluster.distributor.buckets]


def open_all(cluster: Company) -> None:
    for number in range(len(cluster.distributor.buckets)):
        cluster.report(number, Achievement.OPENED)


def test_the_log_has_its_id_from_when_it_is_founded() -> None:
    cluster = Company()
    cluster.arrive("a")
    cluster.order(Found(1, Settings(), 2, log="another"))
    assert cluster.distributor.log == ""
    cluster.order(Found(1, Settings(), 2, log="0123"))
    cluster.arrive("b")
    assert cluster.distributor.log == "0123" and not cluster.distributor.importing
    other = Distributor()
    other.restore(cluster.distributor.image())
    assert other.log == "0123"


def test_nothing_opens_while_it_is_imported(importing: Company) -> None:
    open_all(importing)
    assert opened(importing) == [0, 0]
    assert all(bucket.leader is not None for bucket in importing.distributor.buckets)


def test_after_the_order_to_finish_everything_opens_and_goes_on(importing: Company) -> None:
    order = importing.order(Finish(500, (7, 9)))
    assert importing.standing(order) is Standing.DONE
    assert importing.distributor.ends == (7, 9) and not importing.distributor.importing
    open_all(importing)
    assert opened(importing) == [1, 1]
    importing.settle()
    assert importing.steady() and importing.balanced()


def test_connections_are_numbered_from_where_the_imported_log_ends(importing: Company) -> None:
    importing.order(Finish(500, (7, 9)))
    assert importing.distributor.connections.next == 500


def test_connections_never_get_a_number_again(importing: Company) -> None:
    importing.distributor.connections.next = 900
    importing.order(Finish(500, (7, 9)))
    assert importing.distributor.connections.next == 900


def test_what_is_imported_is_in_the_image(importing: Company) -> None:
    other = Distributor()
    other.restore(importing.distributor.image())
    assert other.importing and other.image() == importing.distributor.image()
    importing.order(Finish(500, (7, 9)))
    other.restore(importing.distributor.image())
    assert other.ends == (7, 9) and not other.importing


@pytest.mark.parametrize("ends", [(), (7,), (7, 9, 9)])
def test_where_each_bucket_ends_must_be_said(importing: Company, ends: tuple[int, ...]) -> None:
    order = importing.order(Finish(500, ends))
    assert importing.standing(order) is Standing.REFUSED and importing.distributor.importing
    assert importing.distributor.connections.next == 1


def test_what_is_not_imported_cannot_be_finished(importing: Company) -> None:
    importing.order(Finish(500, (7, 9)))
    again = importing.order(Finish(600, (7, 9)))
    assert importing.standing(again) is Standing.REFUSED and importing.distributor.connections.next == 500


def test_buckets_are_not_doubled_while_they_are_imported(importing: Company) -> None:
    assert "imported" in importing.status(importing.order(Double(4))).remark


def test_a_departure_leaves_the_others_to_go_on(importing: Company) -> None:
    importing.depart("a")
    assert importing.nodes(0) == importing.nodes(1) == ["b"]


def test_what_was_imported_into_a_bucket_is_not_given_up(importing: Company) -> None:
    """Somebody else would begin with nothing, and nobody would notice that the beginning is missing."""
    importing.depart("a", "b")
    assert importing.states() == {State.LOST}
    assert [(lost.bucket, lost.opened, lost.nodes) for lost in importing.distributor.lost()] == [
        (0, 0, ("a", "b")),
        (1, 0, ("b", "a")),
    ]
    importing.bring("a", Copy(0, 1, 70, intact=True, level=2))  # b was the last one, and may have had more
    assert importing.states() == {State.LOST}
    importing.bring("b", Copy(0, 2, 70, intact=True, level=2), Copy(1, 2, 70, intact=True, level=2))
    assert importing.nodes(0) == importing.nodes(1) == ["b"]
    importing.order(Finish(1, (70, 70)))
    importing.settle()
    assert importing.steady()


def test_when_all_is_imported_whoever_has_all_of_it_goes_on(importing: Company) -> None:
    importing.order(Finish(1, (70, 0)))
    importing.depart("a", "b")
    assert importing.nodes(0) == [] and importing.nodes(1) == ["c"]  # in the second one there is nothing
    importing.bring("b", Copy(0, 0, 69, intact=True, level=2))
    assert importing.nodes(0) == []
    importing.bring("a", Copy(0, 0, 70, intact=False, level=2))
    assert importing.nodes(0) == []
    importing.depart("a")
    importing.bring("a", Copy(0, 0, 70, intact=True, level=2))
    assert importing.nodes(0) == ["a"]


def test_a_cluster_that_was_founded_empty_places_its_buckets_anew_before_they_open() -> None:
    cluster = Company()
    cluster.arrive("a")
    cluster.found(1, Settings(replication=1))
    cluster.depart("a")
    assert not list(cluster.distributor.lost())
    cluster.arrive("b")
    assert cluster.nodes(0) == ["b"]
