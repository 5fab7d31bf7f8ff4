"""A connection number is given out once; a name keeps its own."""

import pytest

from hansard.distributor.command import Finish, Found, Grant, Names
from hansard.distributor.connections import GRANT_MAX, NAME_BYTES_MAX, Connections, Image, Named
from hansard.distributor.settings import Settings
from tests.distributor.company import Company

MEMORY_US = Settings().memory_us


@pytest.fixture
def cluster() -> Company:
    found = Company()
    found.arrive("a", "b")
    found.found(4)
    return found


def granted(cluster: Company, node: str, number: int, count: int) -> range:
    cluster.propose(Grant(number, count), node)
    found = cluster.distributor.connections.ranges[node]
    assert (found.incarnation, found.number) == (cluster.incarnations[node], number)
    return range(found.first, found.end)


def named(cluster: Company, name: str, wall_us: int = 0) -> int | None:
    cluster.propose(Names(((name, 0),), wall_us))
    found = cluster.distributor.connections.names.get(name)
    return found.connection if found else None


def test_no_number_is_granted_twice(cluster: Company) -> None:
    ranges = [granted(cluster, "a", 1, 10), granted(cluster, "b", 1, 5), granted(cluster, "a", 2, 10)]
    ranges.append(granted(cluster, "a", 2, 10))  # a process that has begun to count anew
    assert [len(each) for each in ranges] == [10, 5, 10, 10]
    numbers = [number for each in ranges for number in each]
    assert len(set(numbers)) == len(numbers) and min(numbers) == 1


def test_a_grant_is_neither_empty_nor_endless(cluster: Company) -> None:
    assert len(granted(cluster, "a", 1, 0)) == 1
    assert len(granted(cluster, "a", 2, 1 << 40)) == GRANT_MAX


def test_what_was_granted_to_one_who_departs_is_nobodys(cluster: Company) -> None:
    before = granted(cluster, "a", 1, 10)
    cluster.depart("a")
    assert "a" not in cluster.distributor.connections.ranges
    cluster.arrive("a")
    assert granted(cluster, "a", 1, 10).start >= before.stop


@pytest.mark.parametrize("importing", [False, True])
def test_no_number_is_given_out_before_it_is_known_which_are_an_imported_logs(importing: bool) -> None:
    """Whoever had one of them would be taken for the client that it was of."""
    cluster = Company()
    cluster.arrive("a")
    if importing:
        cluster.order(Found(1, Settings(), 1, log="0123", importing=True))
    cluster.propose(Grant(1, 10), "a")
    assert named(cluster, "sink") is None and not cluster.distributor.connections.ranges
    if importing:
        cluster.order(Finish(500, (0,)))
    else:
        cluster.found(1)
    assert granted(cluster, "a", 2, 10).start == (500 if importing else 1)
    assert named(cluster, "sink") is not None


def test_grants_and_names_do_not_change_the_table(cluster: Company) -> None:
    version = cluster.distributor.version
    granted(cluster, "a", 1, 10)
    named(cluster, "sink")
    assert cluster.distributor.version == version


def test_a_name_has_the_same_number_as_long_as_it_is_asked_for(cluster: Company) -> None:
    first = named(cluster, "sink")
    assert first is not None and first not in granted(cluster, "a", 1, 10)
    for turn in range(1, 5):
        assert named(cluster, "sink", turn * 2 * MEMORY_US) == first
    assert named(cluster, "other", 8 * MEMORY_US) != first


def test_a_name_that_nobody_asked_for_in_a_long_time_gets_another_number(cluster: Company) -> None:
    first = named(cluster, "sink", 1)
    assert named(cluster, "sink", 2 * MEMORY_US + 2) != first


def test_time_does_not_go_back(cluster: Company) -> None:
    first = named(cluster, "sink", 3 * MEMORY_US)
    assert named(cluster, "sink", 0) == first
    assert cluster.distributor.connections.wall_us == 3 * MEMORY_US
    assert named(cluster, "sink", 5 * MEMORY_US) == first


def test_names_that_are_none_get_nothing(cluster: Company) -> None:
    assert named(cluster, "") is None
    assert named(cluster, "x" * (NAME_BYTES_MAX + 1)) is None
    assert named(cluster, "x" * NAME_BYTES_MAX) is not None


def test_when_there_are_too_many_names_the_known_ones_go_on() -> None:
    names = tuple([(f"name {number}", Named(number, 0)) for number in range(1, 200_001)])
    connections = Connections(Image(200_001, 0, (), names))
    connections.name(Names((("one more", 0),), 1), MEMORY_US)
    connections.name(Names((("name 7", 0),), 1), MEMORY_US)
    assert "one more" not in connections.names and connections.names["name 7"] == Named(7, 1)
    connections.name(Names((("one more", 0),), 2 * MEMORY_US + 1), MEMORY_US)
    assert connections.names["one more"].connection == 200_001
