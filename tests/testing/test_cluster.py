"""A cluster inside a test: it is there at once, and whatever a test does to it happens."""

import asyncio
import threading
from pathlib import Path

import pytest

import hansard
from hansard.batch import build
from hansard.client.operator import AskRefused, NobodyAnswers, Operator, OrderFailed
from hansard.testing import Cluster, cluster
from hansard.wire import request, submission
from tests.cluster.visitor import Visitor


def submitted(running: Cluster, value: str, name: str = "") -> object:
    """To bucket 0, at some participant that runs."""

    async def submit() -> object:
        host, port = running.address(name or running.running[0]).split(":")
        async with await Visitor.dial((host, int(port))) as visitor:
            return await visitor.submit(0, build([b"k"], [value]), 1, 5_000_000)

    return asyncio.run(submit())


def found(running: Cluster, name: str) -> list[str]:
    """What bucket 0 has, as this participant's copy shows it."""

    async def read() -> list[str]:
        host, port = running.address(name).split(":")
        async with await Visitor.dial((host, int(port))) as visitor:
            page = await visitor.read(0, 0)
        assert isinstance(page, request.Page), page
        return [(change.value or b"").decode() for batch in page.batches for change in batch.changes()]

    return asyncio.run(read())


def test_three_participants_take_changes_and_have_them_all() -> None:
    with cluster(buckets=1) as three:
        assert three.running == three.names == ["a", "b", "c"]
        assert isinstance(submitted(three, "first"), submission.Stored)
        assert three.copies(0) == ["a", "b", "c"]
        for name in "abc":
            three.until(lambda name=name: found(three, name) == ["first"], f"{name} does not have it")  # type: ignore[misc]


def test_what_was_acknowledged_survives_the_kill_of_everybody() -> None:
    with cluster(buckets=1) as three:
        for number in range(20):
            assert isinstance(submitted(three, str(number)), submission.Stored)
        for name in "abc":
            three.kill(name)
        assert three.running == []
        for name in "abc":
            if name == "a":
                threading.Thread(target=three.start, args=["b"]).start()
                three.start("a")
        three.start("c")
        three.settle()
        assert isinstance(submitted(three, "more"), submission.Stored)
        assert found(three, three.leader(0)) == [*map(str, range(20)), "more"]


def test_in_a_cluster_at_rest_everybody_votes_who_should() -> None:
    """Or else the loss of one could be the loss of the majority."""
    with cluster(buckets=1) as three:
        for name in three.running:
            assert sorted(three.ask(name, ask="status")["atomic"]["voters"]) == ["a", "b", "c"]


def test_a_leader_is_killed_and_the_others_go_on_and_it_comes_back() -> None:
    with cluster(buckets=1) as three:
        victim = three.leader(0)
        three.kill(victim)
        with pytest.raises(ValueError, match=f"{victim} does not run: start"):
            three.kill(victim)
        three.settle()
        assert three.leader(0) != victim
        assert isinstance(submitted(three, "without it"), submission.Stored)
        three.start(victim)
        three.settle()
        assert victim in three.copies(0)
        three.until(lambda: found(three, victim) == ["without it"], "what it has missed does not come")


def test_one_that_is_cut_off_departs_and_returns_when_it_is_healed() -> None:
    with cluster(buckets=1) as three:
        three.cut(0, 2)
        three.cut("b", "c")
        three.until(lambda: three.ask("a", ask="table")["buckets"][0]["full"] == ["a", "b"], "c is not missed")
        assert isinstance(submitted(three, "without c", "a"), submission.Stored)
        three.heal()
        three.settle()
        three.until(lambda: found(three, "c") == ["without c"], "c does not catch up")


def test_a_participant_that_starts_while_it_is_cut_off_stays_cut_off() -> None:
    with cluster(buckets=1) as three:
        three.kill("c")
        three.settle()
        three.cut("a", "c")
        three.cut("b", "c")
        with pytest.raises(TimeoutError):
            three.start("c", timeout_s=0.5)
        three.heal()
        three.settle()
        assert "c" in three.copies(0)


def test_buckets_are_doubled_a_spare_comes_and_one_is_drained() -> None:
    with cluster(buckets=2) as three:
        assert three.double() == 4
        assert len(three.table()["buckets"]) == 4
        assert three.add() == "d"
        three.drain("b")
        assert all("b" not in three.copies(bucket) for bucket in range(4))
        three.stop("b")
        three.undrain("b")
        three.settle()
        with pytest.raises(OrderFailed, match="power of two"):
            three.double(to=3)


def test_mistakes_are_named() -> None:
    with cluster(participants=1, buckets=1, replication=3) as one:
        assert one.table()["settings"]["replication"] == 1
        with pytest.raises(ValueError, match="there is no participant 1: there are a, or 0 to 0"):
            one.kill(1)
        with pytest.raises(ValueError, match="a runs already"):
            one.start(0)
        with pytest.raises(ValueError, match="cannot be cut off from itself"):
            one.cut(0, 0)
        with pytest.raises(AskRefused, match="there is no participant 'x'"):
            one.ask(ask="leave", node="x")
    with pytest.raises(ValueError, match="from 1 to 26"), cluster(participants=0):
        pytest.fail("there is none")


def test_nothing_is_left_and_what_is_to_be_kept_is(tmp_path: Path) -> None:
    before = threading.active_count()
    with cluster(participants=1, buckets=1) as one:
        temporary = one.directory
        assert temporary.exists()
    assert not temporary.exists() and threading.active_count() == before
    with cluster(participants=1, buckets=1, directory=tmp_path) as one:
        assert isinstance(submitted(one, "kept"), submission.Stored)
    with cluster(participants=1, buckets=1, directory=tmp_path) as one:
        assert found(one, "a") == ["kept"]


def test_two_clusters_do_not_meet() -> None:
    with cluster(participants=1, buckets=1) as one, cluster(participants=1, buckets=1) as other:
        assert one.table()["log"] != other.table()["log"]


def test_an_operator_goes_on_to_who_answers_and_says_who_does_not() -> None:
    async def ask(addresses: list[str]) -> str:
        async with Operator(addresses, timeout_s=5) as operator:
            status = await operator.ask(ask="status")
            return str(status["node"])

    with cluster(participants=2, buckets=1) as two:
        dead = two.address("a")
        two.kill("a")
        assert asyncio.run(ask([dead, two.address("b")])) == "b"
        with pytest.raises(NobodyAnswers, match=rf"{dead} \(nobody listens there\): give the address of one that runs"):
            asyncio.run(ask([dead]))


def test_a_guarded_cluster_needs_its_token() -> None:
    with cluster(participants=1, buckets=1, guarded=True) as one:
        assert one.token.startswith("hsd_")
        with hansard.Client.connect(one.addresses, token=one.token) as client:
            client.submit("k", "v")
        with pytest.raises(hansard.ClientError):
            hansard.Client.connect(one.addresses, token="hsd_wrong", timeout_s=1)
        assert one.ask(ask="tokens")["open"] is False


@pytest.mark.hansard(participants=2, buckets=2)
def test_the_fixture_makes_what_the_mark_asks_for(hansard_cluster: Cluster) -> None:
    assert hansard_cluster.names == ["a", "b"] and len(hansard_cluster.table()["buckets"]) == 2
