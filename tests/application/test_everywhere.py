"""An application is written once: in one process and on a cluster it says the same to the same changes, and what it has
outlives whatever happens to either."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import hansard
from hansard.application import Application, BadQuestion, Entries
from hansard.application.testing import check
from hansard.batch import Change
from hansard.participant.settings import Settings
from hansard.phaser.outcome import Stored
from hansard.phaser.settings import Settings as BucketSettings
from tests.participant.cluster import Cluster
from tests.participant.test_applications import query
from tests.participant.test_splitting import doubled


class Stock(Application):
    """How much there is of each article. Nothing is taken that is not there."""

    name = "stock"

    def __init__(self) -> None:
        self.amounts: dict[bytes, int] = {}
        self.given = 0
        """Changes that this very object was given, which is no part of its state."""

    def apply(self, change: Change) -> bytes | None:
        self.given += 1
        if change.key is None or change.value is None:
            return None
        amount = self.amounts.get(change.key, 0) + int(change.value)
        if amount < 0:
            return b"refused"
        self.amounts[change.key] = amount
        return b"%d left" % amount

    def image(self) -> Entries:
        return [(key, b"%d" % amount) for key, amount in self.amounts.items()]

    def join(self, version: int, image: Entries) -> None:
        self.amounts = {key: int(content) for key, content in image if key is not None}

    def purge(self, belongs: Callable[[bytes], bool]) -> None:
        self.amounts = {key: amount for key, amount in self.amounts.items() if belongs(key)}

    def query(self, question: bytes) -> bytes:
        if question not in self.amounts:
            raise BadQuestion(f"there never was any {question.decode()}")
        return b"%d" % self.amounts[question]


ARTICLES = [b"article %d" % number for number in range(10)]
ROWS = [(Random(seed).choice(ARTICLES), b"%d" % Random(seed).randint(-5, 6)) for seed in range(150)]
CHECKPOINT = 8


def test_it_keeps_to_the_rules() -> None:
    check(Stock, ROWS[:40])


def in_one_process(path: Path) -> tuple[list[bytes | None], dict[bytes, bytes]]:
    """What it says to all changes, and what it has in the end; with a new process now and then."""
    results = []
    for part in range(3):
        with hansard.open(path) as log:
            stock = log.attach(Stock())
            results += [stock.update(key, value) for key, value in ROWS[part::3]]
    with hansard.open(path) as log:
        stock = log.attach(Stock())
        return results, {key: stock.query(key) for key in ARTICLES}


def on_a_cluster(disturb: Callable[[Cluster, int], None]) -> tuple[list[bytes | None], dict[bytes, bytes], Cluster]:
    cluster = Cluster(Settings(phaser=BucketSettings(checkpoint_batches=CHECKPOINT)))
    cluster.applications = [Stock]
    cluster.add(*"abc")
    cluster.found(1, participants=3)
    cluster.steady()
    cluster.run(3)
    results: list[bytes | None] = []
    for part in range(3):
        disturb(cluster, part)
        for number, (key, value) in enumerate(ROWS[part::3]):
            up = [name for name in "abc" if cluster.nodes[name].core is not None]
            outcome = cluster.answer(cluster.submit(up[number % len(up)], key, value))
            assert isinstance(outcome, Stored)
            results += outcome.results
    found = {key: query(cluster, "a", key, application="stock") for key in ARTICLES}
    return results, {key: answer for key, answer in found.items() if isinstance(answer, bytes)}, cluster


def disturbed(cluster: Cluster, part: int) -> None:
    """The cluster is doubled twice, loses somebody for good, and is down altogether once."""
    if part == 1:
        doubled(cluster, 4)
        cluster.crash("c")
        cluster.until(lambda: cluster.table.slots.member("c") is None)
        cluster.until(lambda: all(record.opened == record.epoch for record in cluster.table.buckets))
    elif part == 2:
        cluster.crash("a", "b")
        for name in "bca":
            cluster.start(name)
        cluster.steady()
        doubled(cluster, 8)


def test_it_says_the_same_in_one_process_and_on_a_cluster(tmp_path: Path) -> None:
    alone, has = in_one_process(tmp_path)
    assert b"refused" in alone and len(has) == len(ARTICLES)
    for disturb in (lambda cluster, part: None, disturbed):
        results, found, _ = on_a_cluster(disturb)
        assert results == alone and found == has


def test_a_restart_is_given_what_came_after_the_last_checkpoint_and_no_more(tmp_path: Path) -> None:
    """However long the log is."""
    _, _, cluster = on_a_cluster(lambda cluster, part: None)
    cluster.run(1)
    cluster.crash("b")
    cluster.start("b")
    cluster.run(1)
    copy = cluster.core("b").copies.running[0]
    host = copy.phaser.ledger.derived.host("stock") if copy.phaser is not None else None
    assert host is not None and isinstance(host.application, Stock)
    assert len(ROWS) > 10 * CHECKPOINT
    assert 0 <= host.application.given <= 2 * CHECKPOINT
    leader = cluster.core("a").copies.running[0].phaser
    assert leader is not None
    mine = leader.ledger.derived.host("stock")
    assert mine is not None and dict(mine.image().entries) == dict(host.image().entries)
