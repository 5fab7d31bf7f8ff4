"""A log is taken from one cluster to another, as it is: the same offsets, times, connections and series, also in more
buckets. Bookmarks, streams and states go on there as if nothing had happened."""

from collections.abc import Callable, Iterator
from random import Random

import pytest

from hansard.batch import Batch, Change, build
from hansard.batch.keyhash import bucket_of, key_hash
from hansard.bookmark import Bookmark, WrongLog
from hansard.distributor.bucket import State
from hansard.distributor.command import Double, Finish, Found
from hansard.distributor.orders import Standing
from hansard.distributor.settings import BUCKETS_MAX
from hansard.distributor.settings import Settings as Wanted
from hansard.participant.event import Connect, Import, Read
from hansard.participant.sight import portable, visible
from hansard.phaser.outcome import Gap, Importing, Invalid, Misplaced, Outcome, Repeated, Stored
from sim.counter import Counter
from tests.participant.cluster import SECOND, Cluster
from tests.participant.test_applications import query, update
from tests.participant.test_splitting import doubled

LOG = "7d2c"
KEYS = [b"key %d" % number for number in range(24)]
SENDER, SINK = 3, 8
"""Connections of the log."""


def lived() -> Cluster:
    """A log with a past: two clients' streams and changes without any, over two buckets that became four."""
    cluster = Cluster()
    cluster.applications = [Counter]
    cluster.add(*"abc")
    cluster.order(Found(2, Wanted(), 3, log=LOG))
    cluster.steady()
    previous: dict[tuple[int, int], int] = {}
    for series, key in enumerate(KEYS):
        streamed(cluster, previous, SENDER, series, key, 2)
        update(cluster, "b", key, 1)
    doubled(cluster, 4)
    previous |= {(connection, home + 2): last for (connection, home), last in previous.items()}
    for connection in (SENDER, SINK):
        for series, key in enumerate(KEYS[::2]):
            streamed(cluster, previous, connection, 100 + series, key, 4)
    cluster.submit("a", KEYS[1], b"none")
    cluster.run(2)
    cluster.last = previous  # type: ignore[attr-defined]
    return cluster


def streamed(
    cluster: Cluster, previous: dict[tuple[int, int], int], connection: int, series: int, key: bytes, amount: int
) -> None:
    place = (connection, cluster.table.home(key_hash(key)))
    stream = {"connection": connection, "series": series, "previous": previous.get(place, -1)}
    assert isinstance(cluster.answer(cluster.submit("c", key, b"%d" % amount, **stream)), Stored)  # type: ignore[arg-type]
    previous[place] = series


@pytest.fixture(scope="module")
def original() -> Cluster:
    return lived()


def log_of(cluster: Cluster, bucket: int) -> list[Batch]:
    """All of a bucket, as one of its disks has it."""
    (member, *_) = cluster.table.buckets[bucket].full
    return cluster.nodes[member.node].vaults[bucket].synced_batches()


def shown(cluster: Cluster, since: Bookmark | None = None) -> Iterator[tuple[bytes | None, Change]]:
    """What a reader gets, by key, in order."""
    buckets = range(len(cluster.table.buckets))
    places = (since or Bookmark(cluster.table.log, {})).resolve(cluster.table.log, buckets)
    for bucket in buckets:
        for batch in visible(log_of(cluster, bucket), bucket, cluster.table.buckets[bucket]):
            yield from [(change.key, change) for change in batch.changes() if change.offset >= places[bucket]]


def exported(cluster: Cluster, bucket: int) -> list[Batch]:
    return list(portable(log_of(cluster, bucket), bucket, cluster.table.buckets[bucket]))


def empty(buckets: int, importing: bool = True) -> Cluster:
    cluster = Cluster()
    cluster.applications = [Counter]
    cluster.add(*"abc")
    cluster.order(Found(buckets, Wanted(), 3, log=LOG, importing=importing))
    cluster.until(lambda: len(cluster.table.buckets) == buckets)
    cluster.run(1)
    return cluster


def bring(
    cluster: Cluster, at: str, bucket: int, batch: Batch, follows: int, level: int = 0, seconds: float = 3
) -> Outcome:
    id, level = cluster.next_id(), level or len(cluster.table.buckets)
    deadline_us = cluster.now_us + int(seconds * SECOND)
    cluster.happen(at, Import(id, bucket, batch, deadline_us, level, follows))
    return cluster.answer(id)


def fill(cluster: Cluster, original: Cluster, disturb: Callable[[int], None] = lambda number: None) -> list[int]:
    """All of a log, sent to whoever is there. Where each bucket ends then."""
    ends, sent = [], 0
    for bucket in range(len(cluster.table.buckets)):
        follows = 0
        for batch in exported(original, bucket % len(original.table.buckets)):
            sent += 1
            disturb(sent)
            until_us = cluster.now_us + 120 * SECOND
            while not isinstance(outcome := _sent(cluster, bucket, batch, follows), Stored | Repeated):
                assert not isinstance(outcome, Invalid | Gap) and cluster.now_us < until_us, outcome
                cluster.run(0.5)
                disturb(0)
            follows = batch.header.end_offset
        ends.append(follows)
    return ends


def _sent(cluster: Cluster, bucket: int, batch: Batch, follows: int) -> Outcome:
    up = [name for name, node in cluster.nodes.items() if node.core is not None]
    return bring(cluster, up[cluster.now_us % len(up)], bucket, batch, follows)


def finish(cluster: Cluster, ends: list[int], connections: int = SINK + 1) -> None:
    id = cluster.order(Finish(connections, tuple(ends)), at=next(n for n in cluster.nodes if cluster.nodes[n].core))
    cluster.until(lambda: id in cluster.commands)
    status = cluster.commands[id].status
    assert status is not None and status.standing is Standing.DONE, status
    cluster.steady()
    cluster.run(1)


def imported(original: Cluster, buckets: int) -> Cluster:
    cluster = empty(buckets)
    finish(cluster, fill(cluster, original))
    return cluster


def same(cluster: Cluster, original: Cluster) -> None:
    """A reader cannot tell."""
    there, here = sorted(shown(original), key=_place), sorted(shown(cluster), key=_place)
    assert len(there) == len(KEYS) * 3 + 1 and here == there
    for key in KEYS:
        assert query(cluster, "a", key) == query(original, "a", key)


def _place(row: tuple[bytes | None, Change]) -> tuple[bytes, int]:
    assert row[0] is not None
    return row[0], row[1].offset


@pytest.mark.parametrize("buckets", [4, 16])
def test_a_log_that_is_imported_is_the_log_that_it_was(original: Cluster, buckets: int) -> None:
    cluster = imported(original, buckets)
    same(cluster, original)
    for number, record in enumerate(cluster.table.buckets):
        logs = [cluster.nodes[member.node].vaults[number].synced_batches() for member in record.full]
        assert len(logs) == 3 and all([str(one) for one in log] == [str(one) for one in logs[0]] for log in logs)


@pytest.mark.parametrize("buckets", [4, 8])
def test_bookmarks_go_on_and_are_refused_by_another_log_by_name(original: Cluster, buckets: int) -> None:
    whole = list(shown(original))
    offsets = {bucket: log_of(original, bucket)[-1].header.end_offset // 2 for bucket in range(4)}
    bookmark = Bookmark.parse(str(Bookmark(LOG, offsets)))
    rest = sorted(shown(original, bookmark), key=_place)
    assert 0 < len(rest) < len(whole)
    cluster = imported(original, buckets)
    assert sorted(shown(cluster, bookmark), key=_place) == rest
    with pytest.raises(WrongLog, match=f"is of the log elsewhere, and this is {LOG}"):
        list(shown(cluster, Bookmark("elsewhere", offsets)))


@pytest.mark.parametrize("buckets", [4, 8])
def test_streams_go_on_and_what_is_sent_again_is_not_stored_again(original: Cluster, buckets: int) -> None:
    cluster = imported(original, buckets)
    previous: dict[tuple[int, int], int] = original.last  # type: ignore[attr-defined]
    count = len(list(shown(cluster)))
    for (connection, home), last in sorted(previous.items()):
        if connection == SINK and last < 100:
            continue
        for key in [key for key in KEYS if original.table.home(key_hash(key)) == home]:
            again = cluster.answer(cluster.submit("b", key, b"2", connection=connection, series=last, previous=-1))
            assert isinstance(again, Repeated), f"{key!r} of connection {connection}, series {last}"
    assert len(list(shown(cluster))) == count
    for number, key in enumerate(KEYS):
        home = original.table.home(key_hash(key))
        last = previous[SENDER, home]
        early = {"connection": SENDER, "series": 900 + number, "previous": 800 + number}
        refused = cluster.answer(cluster.submit("b", key, **early))  # type: ignore[arg-type]
        assert isinstance(refused, Gap) and refused.expected >= last
    homes = {cluster.table.home(key_hash(key)): key for key in KEYS}
    for key in homes.values():
        last = previous[SENDER, original.table.home(key_hash(key))]
        fresh = cluster.submit("c", key, b"1", connection=SENDER, series=500, previous=last)
        assert isinstance(cluster.answer(fresh), Stored), "who goes on where it was is understood"


def test_numbers_of_connections_begin_after_those_of_the_log(original: Cluster) -> None:
    cluster = empty(4)
    during = [cluster.next_id(), cluster.next_id()]
    cluster.happen(
        "a", Connect(during[0], cluster.now_us + SECOND), Connect(during[1], cluster.now_us + SECOND, "sink")
    )
    cluster.until(lambda: all(id in cluster.connections for id in during))
    assert [cluster.connections[id].connection for id in during] == [0, 0], "they may be somebody else's"
    finish(cluster, fill(cluster, original))
    after = cluster.next_id()
    cluster.happen("b", Connect(after, cluster.now_us + SECOND))
    cluster.until(lambda: after in cluster.connections)
    assert cluster.connections[after].connection > SINK


# While it is under way.


def test_nobody_submits_or_reads_before_all_of_it_is_there(original: Cluster) -> None:
    cluster = empty(4)
    assert bring(cluster, "b", 0, exported(original, 0)[0], 0) is not None
    assert isinstance(cluster.answer(cluster.submit("a", KEYS[0], level=4)), Importing)
    for linear in (False, True):
        id = cluster.next_id()
        cluster.happen("c", Read(id, 0, cluster.now_us + SECOND, linear))
        cluster.until(lambda id=id: id in cluster.reads)  # type: ignore[misc]
        assert cluster.reads[id].outcome == Importing()
    refused = cluster.order(Double(8))
    cluster.until(lambda: refused in cluster.commands)
    status = cluster.commands[refused].status
    assert status is not None and status.standing is Standing.REFUSED


def test_a_batch_that_was_refused_is_not_taken_for_a_gap_by_the_next(original: Cluster) -> None:
    cluster = empty(4)
    first, second, *_ = exported(original, 0)
    end = first.header.end_offset
    assert bring(cluster, "a", 0, second, end) == Gap(0)
    assert isinstance(bring(cluster, "b", 0, first, 0), Stored)
    wrong = f"it begins at offset {first.header.base_offset}, and cannot follow what ends at {end}"
    assert bring(cluster, "c", 0, first, end) == Invalid(wrong)
    assert isinstance(bring(cluster, "c", 0, second, end), Stored)
    assert isinstance(bring(cluster, "a", 0, first, 0), Repeated), "whoever imports may begin again"


def test_what_is_brought_for_other_buckets_than_there_are_is_refused(original: Cluster) -> None:
    cluster = empty(4)
    batch = exported(original, 0)[0]
    assert bring(cluster, "a", 0, batch, 0, level=2) == Misplaced(4)
    assert bring(cluster, "a", 0, batch, 0, level=8, seconds=1) == Misplaced(4)
    assert isinstance(bring(cluster, "a", 5, batch, 0, level=4), Invalid)
    assert isinstance(bring(cluster, "a", 0, batch, 0, level=3), Invalid)
    assert isinstance(bring(cluster, "a", 0, batch, -5), Invalid)


@pytest.mark.parametrize("buckets", [4, 8])
def test_whoever_dies_meanwhile_nothing_is_lost(original: Cluster, buckets: int) -> None:
    """One member departs in the middle of it, another restarts, and in the end all do, before anything has opened."""
    cluster = empty(buckets)
    cluster.run(2)

    def disturb(number: int) -> None:
        if number == 5:
            cluster.crash("b")
        elif number == 15:
            cluster.crash("c")
            cluster.run(0.5)
            cluster.start("c")
        elif number == 30:
            cluster.until(lambda: cluster.table.slots.member("b") is None)
            cluster.start("b")

    ends = fill(cluster, original, disturb)
    cluster.crash("a", "b", "c")
    for name in "cba":
        cluster.start(name)
        cluster.run(1)
    finish(cluster, ends)
    cluster.run(10)
    cluster.steady()
    assert {len(record.full) for record in cluster.table.buckets} == {3}
    same(cluster, original)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_meanwhile_nothing_is_lost(original: Cluster, seed: int) -> None:
    """Somebody crashes now and then, for a moment or for good as far as the others know, and messages are lost."""
    cluster, random = empty(4 << seed % 2), Random(seed)
    cluster.run(2)
    cluster.lose = lambda sender, send: random.random() < 0.02
    down: list[str] = []

    def disturb(number: int) -> None:
        draw = random.random()
        if down and draw < 0.3:
            cluster.start(down.pop())
        elif number and not down and draw < 0.15 and {len(core.time.voters) for core in cluster.up} == {3}:
            down.append(random.choice("abc"))
            cluster.crash(*down)
            cluster.run(random.choice((0.0, 0.001, 0.3, 3.0)))

    ends = fill(cluster, original, disturb)
    for name in down:
        cluster.start(name)
    if random.random() < 0.5:
        cluster.run(random.choice((0.0, 1.0)))
        cluster.crash("a", "b", "c")
        for name in random.sample("abc", 3):
            cluster.start(name)
    cluster.lose = lambda sender, send: False
    cluster.run(3)
    finish(cluster, ends)
    cluster.run(10)
    cluster.steady()
    same(cluster, original)
    for number, record in enumerate(cluster.table.buckets):
        logs = [cluster.nodes[member.node].vaults[number].synced_batches() for member in record.full]
        assert len(logs) == 3 and all([str(one) for one in log] == [str(one) for one in logs[0]] for log in logs)


def test_a_bucket_that_is_not_all_there_does_not_open_until_it_is(original: Cluster) -> None:
    cluster = empty(4)
    ends = fill(cluster, original)
    behind = build([KEYS[0]], ["x"]).stamped(epoch=9, base_offset=ends[0] + 5, timestamp=2_000_000_000_000_000)
    wanted = [behind.header.end_offset, *ends[1:]]
    id = cluster.order(Finish(9, tuple(wanted)))
    cluster.until(lambda: id in cluster.commands)
    cluster.run(5)
    assert [bool(record.opened) for record in cluster.table.buckets] == [False, True, True, True]
    assert isinstance(cluster.answer(cluster.submit("a", key_in(0), level=4)), Importing)
    assert isinstance(bring(cluster, "b", 0, behind, ends[0]), Stored)
    cluster.steady()
    assert isinstance(cluster.answer(cluster.submit("a", key_in(0))), Stored)


def key_in(bucket: int) -> bytes:
    return next(key for key in KEYS if bucket_of(key_hash(key), 4) == bucket)


# Where there is something.


def test_nothing_is_imported_into_a_cluster_that_has_something(original: Cluster) -> None:
    cluster = imported(original, 4)
    batch = exported(original, 0)[0]
    assert isinstance(bring(cluster, "a", 0, batch, 0), Invalid)
    again = cluster.order(Found(4, Wanted(), 1, log=LOG, importing=True))
    cluster.until(lambda: again in cluster.commands)
    status = cluster.commands[again].status
    assert status is not None and (status.standing, status.remark) == (
        Standing.REFUSED,
        "this cluster has its buckets already",
    )
    usual = empty(4, importing=False)
    usual.steady()
    assert isinstance(bring(usual, "b", 0, batch, 0), Invalid)
    assert usual.table.buckets[0].state is State.STEADY


def test_the_end_can_be_told_of_as_many_buckets_as_there_may_be() -> None:
    cluster = Cluster()
    cluster.add("a")
    cluster.order(Found(BUCKETS_MAX, Wanted(replication=1), 1, log=LOG, importing=True))
    cluster.until(lambda: len(cluster.table.buckets) == BUCKETS_MAX)
    id = cluster.order(Finish(9, (1 << 40,) * BUCKETS_MAX))
    cluster.until(lambda: id in cluster.commands)
    status = cluster.commands[id].status
    assert status is not None and status.standing is Standing.DONE
