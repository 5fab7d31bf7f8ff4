"""The bench of replication works: every mode runs, and everything is answered. Nothing is said of how fast."""

import asyncio
from pathlib import Path

import pytest

from bench import etcd, nats
from bench.cluster import Cluster
from bench.contest import CLIENT
from bench.failover import BUCKETS, COPIES, NAMES, Failover
from bench.peer import Missing, Peer
from bench.processes import Children
from bench.replication import CLUSTERS, SHAPES, SMOKE, TOGETHER, smoke, wanted_of


def test_every_contestant_answers_everything_in_every_mode() -> None:
    runs = smoke()
    assert {name for name, _ in runs} == {*TOGETHER, *(name + CLIENT for name in (*SHAPES, *CLUSTERS))}
    for (name, mode), rounds in runs.items():
        load = SMOKE[mode]
        assert [figures.changes for figures in rounds] == [load.most * load.changes], (name, mode)
        assert all(figures.seconds > 0 for figures in rounds)
    assert len(runs) == (len(TOGETHER) + len(SHAPES) + len(CLUSTERS)) * len(SMOKE)


def test_every_bucket_goes_on_after_a_kill(tmp_path: Path) -> None:
    with Children(tmp_path / "logs") as children:
        cluster = Cluster(children, tmp_path, "failover", NAMES, buckets=BUCKETS)
        cluster.start(*NAMES)
        failover = Failover(cluster)
        asyncio.run(failover.run(1))
    touched = BUCKETS * COPIES / len(NAMES)
    assert touched - 1 < len(failover.led) + len(failover.followed) < touched + 1
    assert failover.led and failover.untouched and failover.calm


@pytest.mark.parametrize("peer", [etcd.PEER, nats.PEER])
def test_peer_that_is_not_installed_says_how_to_give_it(
    peer: Peer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(peer.variable, raising=False)
    with pytest.raises(Missing, match=f"not installed: set {peer.variable}"):
        peer.binary()


def test_script_is_not_taken_for_a_peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "etcd"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setenv(etcd.PEER.variable, str(script))
    with pytest.raises(Missing, match="is a script"):
        etcd.PEER.binary()


def test_replies_are_found_however_they_are_cut() -> None:
    sent = b'INFO {}\r\nMSG _INBOX.bench 1 9\r\n{"seq":1}\r\nPING\r\nMSG _INBOX.bench 1 10\r\n{"seq":12}\r\n'
    for cut in range(len(sent) + 1):
        replies = nats.Replies()
        replies.take(sent[:cut])
        replies.take(sent[cut:])
        assert replies.contents == [b'{"seq":1}', b'{"seq":12}']
        assert replies.pinged


def test_some_of_it_is_chosen_by_name_and_mode() -> None:
    assert set(wanted_of(["star:64", "sketch"])) == {"star", "sketch"}
    assert list(wanted_of(["star:64"])["star"]) == ["64"]
    for word in ("nobody", "star:7", "etcd:b100", "limits:64"):
        with pytest.raises(ValueError, match=word):
            wanted_of([word])
