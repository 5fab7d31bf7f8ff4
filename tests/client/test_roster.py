from random import Random

import pytest

from hansard.client.roster import Backoff, Roster, split_address


def roster(*addresses: str) -> Roster:
    return Roster(addresses, Backoff(0.1, 1.0, Random(1)))


def test_addresses_are_tried_in_turn_and_the_named_one_first() -> None:
    one = roster("a:1", "b:2")
    assert [one.next() for _ in range(3)] == [("a:1", 0), ("b:2", 0), ("a:1", 0)]
    one.name("c:3", 7)
    one.name(None, 7)
    assert [one.next() for _ in range(2)] == [("c:3", 7), ("b:2", 0)]


def test_an_address_that_is_none_is_not_followed() -> None:
    one = roster("a:1")
    one.name("nonsense", 7)
    assert one.next() == ("a:1", 0)


def test_every_address_is_tried_before_there_is_any_waiting_and_then_it_grows() -> None:
    one = roster("a:1", "b:2", "c:3")
    waits = []
    for _ in range(12):
        waits.append(one.wait_s())
        one.next()
    assert waits[:3] == [0, 0, 0]
    for wait, most in zip(waits[3:], (0.1, 0.2, 0.4, 0.8, 1, 1, 1, 1, 1), strict=True):
        assert most / 2 <= wait <= most
    one.succeeded()
    assert one.wait_s() == 0


def test_clients_do_not_wait_alike() -> None:
    assert len({Backoff(0.1, 1.0, Random(seed)).next_s() for seed in range(20)}) == 20


def test_an_address_is_a_host_and_a_port() -> None:
    assert split_address("127.0.0.1:7001") == ("127.0.0.1", 7001)
    assert split_address("[::1]:7001") == ("::1", 7001)
    for bad in ("", "a", "a:", ":1", "a:0", "a:-1", "a:x", "a:65536"):
        with pytest.raises(ValueError, match="host:port"):
            split_address(bad)
