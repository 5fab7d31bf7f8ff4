"""Buckets are split live: nothing is lost, doubled or reordered, and each key has one leader."""

from itertools import count

import pytest

from hansard.batch import Change, bucket_mask, build, select
from hansard.batch.header import Flag
from hansard.batch.keyhash import key_hash
from hansard.bookmark import Bookmark
from hansard.distributor.command import Double, Move, Pause
from hansard.distributor.orders import Standing
from hansard.participant.effect import Fork
from hansard.participant.event import Submit
from hansard.participant.message import Bucketed
from hansard.participant.sight import visible
from hansard.phaser.outcome import Misplaced, Repeated, Stored
from tests.participant.cluster import SECOND, Cluster
from tests.participant.test_government import formed

KEYS = [b"key %d" % number for number in range(40)]


def doubled(cluster: Cluster, to: int) -> None:
    cluster.order(Double(to), order=f"to {to}")
    cluster.until(lambda: (status := cluster.table.orders.get(f"to {to}")) and status.standing is Standing.DONE, 60)


def owned(cluster: Cluster, bucket: int) -> list[Change]:
    """What the bucket's members have of its own, alike on all of them."""
    record = cluster.table.buckets[bucket]
    found = []
    for member in record.full:
        batches = cluster.nodes[member.node].vaults[bucket].synced_batches()
        mine = [batch for batch in batches if not batch.header.flags & Flag.INTERNAL]
        changes = [change for b in mine for change in select(b, bucket_mask(b, bucket, record.level)).changes()]
        found.append([change for change in changes if change.key in KEYS])
    assert all(changes == found[0] for changes in found)
    return found[0]


def test_everything_stays_where_it_was_and_goes_on_in_the_half_that_has_its_key() -> None:
    cluster = formed(3, 1)
    receipts = {}
    for number, key in zip(count(), KEYS, strict=False):
        stored = cluster.answer(cluster.submit("abc"[number % 3], key, b"before"))
        assert isinstance(stored, Stored)
        receipts[key] = stored.receipt.offset
    doubled(cluster, 8)
    for key in KEYS:
        assert isinstance(cluster.answer(cluster.submit("b", key, b"after")), Stored)
    cluster.run(1)
    changes = [(bucket, change) for bucket in range(8) for change in owned(cluster, bucket)]
    assert sorted([(change.key, change.value) for _, change in changes]) == sorted(
        [(key, value) for key in KEYS for value in (b"before", b"after")]
    )
    for bucket, change in changes:
        assert change.key is not None and cluster.table.home(key_hash(change.key)) == bucket
        if change.value == b"before":
            assert change.offset == receipts[change.key]


@pytest.mark.parametrize("read", range(0, 13, 3))
def test_a_reader_in_the_middle_of_a_page_goes_on_in_both_halves(read: int) -> None:
    """Also in the middle of a batch; and with who has not heard of the split it goes on in the whole."""
    cluster = formed(3, 1)
    batch = build(KEYS[:12], [b"%d" % number for number in range(12)])
    cluster.happen("a", Submit(cluster.next_id(), 0, batch, cluster.now_us + SECOND, 1))
    cluster.run(1)
    batches, record = cluster.nodes["b"].vaults[0].synced_batches(), cluster.table.buckets[0]
    whole = [change for one in visible(batches, 0, record) for change in one.changes()]
    place = whole[-12].offset + read
    bookmark = Bookmark.parse(str(Bookmark("log", {0: place})))
    cluster.pause("c")
    doubling = cluster.order(Double(2))
    cluster.until(lambda: doubling in cluster.commands and cluster.table.buckets[0].level == 2)
    assert cluster.core("c").distributor.buckets[0].level == 1
    assert after(cluster, "c", bookmark) == [change.key for change in whole if change.offset >= place]
    cluster.resume("c")
    cluster.steady()
    for node in "abc":
        assert sorted(after(cluster, node, bookmark)) == sorted([c.key for c in whole if c.offset >= place and c.key])


def after(cluster: Cluster, node: str, bookmark: Bookmark) -> list[bytes]:
    """What a reader at a node gets from there on, as the table there has it."""
    records, found = cluster.core(node).distributor.buckets, []
    for bucket, offset in bookmark.resolve("log", range(len(records))).items():
        if records[bucket].level:
            batches = visible(cluster.nodes[node].vaults[bucket].synced_batches(), bucket, records[bucket])
            found += [change.key for batch in batches for change in batch.changes() if change.offset >= offset]
    return [key for key in found if key is not None]


def test_a_stream_is_known_in_both_halves_and_has_to_be_cut_anew() -> None:
    cluster = formed(3, 1)
    first = cluster.answer(cluster.submit("a", KEYS[0], connection=7, series=0))
    assert isinstance(first, Stored)
    doubled(cluster, 2)
    for key in KEYS:
        bucket = cluster.table.home(key_hash(key))
        again = cluster.answer(cluster.submit("b", key, connection=7, series=0))
        assert again == Repeated(first.receipt), f"bucket {bucket} has forgotten it"


def test_what_was_cut_before_a_split_is_cut_anew_by_its_client_or_goes_to_its_half() -> None:
    cluster = formed(3, 1)
    doubled(cluster, 4)
    for key in KEYS[:8]:
        assert isinstance(cluster.answer(cluster.submit("c", key, level=1)), Stored)
        assert cluster.answer(cluster.submit("c", key, level=1, connection=7)) == Misplaced(4)


@pytest.mark.parametrize("victims", ["a", "b", "c", "ab", "abc"])
def test_a_crash_at_any_moment_of_a_split_leaves_two_halves_in_the_end(victims: str) -> None:
    """Whoever crashes comes back."""
    for moment in range(0, 40, 3):
        crashed_at(moment * 0.0001, victims)


def crashed_at(seconds: float, victims: str) -> None:
    cluster = formed(3, 1)
    for key in KEYS[:6]:
        assert isinstance(cluster.answer(cluster.submit("a", key, b"before")), Stored)
    cluster.order(Double(2), order="double")
    cluster.until(lambda: len(cluster.table.buckets) == 2, 10)
    cluster.run(seconds)
    cluster.crash(*victims)
    cluster.run(0.1)
    for name in victims:
        cluster.start(name)
    cluster.until(lambda: (status := cluster.table.orders.get("double")) and status.standing is Standing.DONE, 60)
    cluster.steady(60)
    for key in KEYS[:6]:
        assert isinstance(cluster.answer(cluster.submit("a", key, b"after")), Stored)
    cluster.run(1)
    values = [change.value for bucket in range(2) for change in owned(cluster, bucket)]
    assert sorted([value for value in values if value]) == [b"after"] * 6 + [b"before"] * 6


def test_a_copy_is_forked_once_and_before_anything_is_written_under_the_new_government() -> None:
    cluster = formed(3, 2)
    doubled(cluster, 4)
    forks = [(node, effect) for node, effect in cluster.told if isinstance(effect, Fork)]
    assert sorted(forks, key=lambda fork: (fork[0], fork[1].parent)) == [
        (node, Fork(parent, parent + 2)) for node in "abc" for parent in (0, 1)
    ]


def test_whoever_a_bucket_leaves_when_it_is_split_keeps_nothing_of_either_half() -> None:
    """The move is over and the split begins by one entry. The copy that is given up is forked, and not again when the
    second half has opened, in which nobody needs it any more, and the first one has not."""
    cluster = formed(4, 1, replication=2)
    goers = [member.node for member in cluster.table.buckets[0].full]
    stayers = [name for name in "abcd" if name not in goers]
    cluster.order(Pause())
    cluster.order(Move(0, tuple(stayers)))
    cluster.order(Double(2), order="double")
    cluster.lose = lambda sender, send: isinstance(send.message, Bucketed) and _of_first_half(send.message)
    cluster.until(lambda: len(cluster.table.buckets) == 2 and cluster.table.buckets[1].opened)
    cluster.run(1)
    assert not any(1 in cluster.nodes[name].vaults for name in goers)
    cluster.lose = lambda sender, send: False
    cluster.until(lambda: (status := cluster.table.orders.get("double")) and status.standing is Standing.DONE, 60)
    cluster.run(1)
    assert sorted({member.node for record in cluster.table.buckets for member in record.full}) == sorted(stayers)
    forked = [node for node, effect in cluster.told if isinstance(effect, Fork)]
    assert sorted(forked) == sorted([*goers, *stayers]), "once each"
    for name in goers:
        assert not {0, 1} & cluster.nodes[name].vaults.keys(), f"{name} still has something"


def _of_first_half(message: Bucketed) -> bool:
    return message.bucket == 0 and message.level == 2
