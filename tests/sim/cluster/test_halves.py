"""Promises that concern splits and readers, broken by hand; and what is known of halves."""

import pytest
from msgspec.structs import replace

from hansard.batch import Flag
from hansard.bookmark import Bookmark
from hansard.distributor.bucket import Bucket as Record
from hansard.distributor.command import Double
from hansard.phaser.government import epoch_of
from hansard.phaser.outcome import Receipt, Stored
from sim.cluster.bucket import Bucket
from sim.cluster.oracles import Violation
from sim.cluster.oracles.counted import Counted
from sim.cluster.oracles.halves import OwnKeys, contents
from sim.cluster.oracles.leaders import OneAcknowledges
from sim.cluster.oracles.readers import SeenOnce
from sim.cluster.reader import shows
from sim.cluster.world import LOG, World
from sim.counter import Counter
from tests.sim.cluster.quiet import SECOND, begun, quiet

# Halves of a split.


@pytest.fixture(scope="module")
def doubled() -> World:
    """A cluster whose buckets were split while clients submitted."""
    world = begun(quiet(3, 1, 2, buckets_max=2, gap_us=50_000), 4)
    world.operator.order(Double(2))
    world.clock.run_until(8 * SECOND)
    assert [record.level for record in world.table.distributor.buckets] == [2, 2]
    return world


def test_a_half_begins_with_what_is_known_of_the_whole(doubled: World) -> None:
    first, second = doubled.buckets
    born = second.births[0].epoch
    assert second.split_off and not first.split_off
    inherited = [batch for batch in second.sequence.batches if epoch_of(batch.header.epoch) < born]
    assert len(inherited) > 20 and inherited == first.sequence.batches[: len(inherited)]
    assert [one.level_in(epoch) for one in (first, second) for epoch in (born - 1, born)] == [1, 2, 1, 2]
    assert first.durable.end > 0 and second.durable.end > 0


def test_no_half_writes_what_is_the_others(doubled: World) -> None:
    first, second = doubled.buckets
    copy = first.at(doubled.by_name[first.record.full[0].node])
    oracle = OwnKeys()
    oracle.shown(copy, first.sequence.batches)
    foreign = second.sequence.batches[-1]
    assert not foreign.header.flags & Flag.INTERNAL
    later = foreign.placed(epoch=foreign.header.epoch, base_offset=first.sequence.end)
    with pytest.raises(Violation, match="bucket 0 of 2"):
        oracle.shown(copy, [later])


def test_an_idle_bucket_has_no_phaser(doubled: World, monkeypatch: pytest.MonkeyPatch) -> None:
    first = doubled.buckets[0]
    copy = first.at(doubled.by_name[first.record.full[0].node])
    OwnKeys().bucket_turned(copy, (), ())
    monkeypatch.setattr(Bucket, "record", Record())
    with pytest.raises(Violation, match="which is idle"):
        OwnKeys().bucket_turned(copy, (), ())


def test_whoever_led_the_whole_takes_nothing_once_a_half_has_opened(doubled: World) -> None:
    (oracle,) = [one for one in doubled.oracles if isinstance(one, OneAcknowledges)]
    first = doubled.buckets[0]
    born = first.births[0].epoch
    assert oracle.opened[1] and born in dict(oracle.opened[1])
    copy = first.at(doubled.by_name[first.record.leader.node])  # type: ignore[union-attr]
    fresh = OneAcknowledges()
    fresh.opened = {1: oracle.opened[1]}
    batch, later_us = first.sequence.batches[-1], dict(oracle.opened[1])[born] + 1
    assert copy.phaser is not None and copy.phaser.leading is not None
    government = copy.phaser.leading.government
    fresh.acknowledges(copy, 1, Stored(Receipt(0, 0)), batch, later_us)
    copy.phaser.leading.government = replace(government, epoch=born - 1)
    try:
        with pytest.raises(Violation, match="after a later one opened"):
            fresh.acknowledges(copy, 1, Stored(Receipt(0, 0)), batch, later_us)
        fresh.acknowledges(copy, 2, Stored(Receipt(0, 0)), batch, later_us - 1)
    finally:
        copy.phaser.leading.government = government


def finished(world: World) -> OwnKeys:
    (oracle,) = [one for one in world.oracles if isinstance(one, OwnKeys)]
    oracle.finish(world)
    return oracle


def test_what_is_acknowledged_is_in_the_half_that_has_its_key(doubled: World) -> None:
    oracle = finished(doubled)
    assert len(oracle.acknowledged) > 50
    oracle.acknowledged[b"0:99999"] = None
    with pytest.raises(Violation, match="0:99999"):
        oracle.finish(doubled)
    del oracle.acknowledged[b"0:99999"]


def test_nothing_is_in_both_halves_and_nothing_twice_in_one(doubled: World) -> None:
    first = doubled.buckets[0]
    own = first.sequence.batches[-1]
    for again in (own, doubled.buckets[1].sequence.batches[-1]):
        first.sequence.batches.append(again)
        with pytest.raises(Violation, match="is in bucket"):
            finished(doubled)
        first.sequence.batches.pop()
    finished(doubled)


def test_an_application_has_what_its_half_of_the_log_gives(doubled: World) -> None:
    before = doubled.coverage.counts["state of a half's application compared"]
    Counted().finish(doubled)
    assert doubled.coverage.counts["state of a half's application compared"] == before + 4, "two members of each half"
    bucket = doubled.buckets[1]
    phaser = bucket.at(doubled.by_name[bucket.record.full[0].node]).phaser
    host = phaser.ledger.derived.host("counter") if phaser is not None else None
    assert host is not None and isinstance(host.application, Counter)
    foreign = next(key for key, _ in contents(doubled.buckets[0]))
    for key in (foreign, next(iter(host.application.counts))):
        counts = dict(host.application.counts)
        host.application.counts[key] = host.application.counts.get(key, 0) + 1
        with pytest.raises(Violation, match="has counted"):
            Counted().finish(doubled)
        host.application.counts = counts
    Counted().finish(doubled)


# Readers.


def test_a_reader_sees_everything_once(doubled: World) -> None:
    oracle, reader = SeenOnce(), doubled.readers[0]
    oracle.finish(doubled)
    assert len(reader.seen) > 50 and {one.bucket for one in reader.seen} == {0, 1}
    last = reader.seen.pop()
    with pytest.raises(Violation, match="has seen"):
        oracle.finish(doubled)
    reader.seen += [last, last]
    with pytest.raises(Violation, match="has seen"):
        oracle.finish(doubled)
    reader.seen.pop()
    key = reader.seen[0].key
    first, second = [place for place, one in enumerate(reader.seen) if one.key == key][:2]
    reader.seen[first], reader.seen[second] = reader.seen[second], reader.seen[first]
    with pytest.raises(Violation, match="has seen"):
        oracle.finish(doubled)
    reader.seen[first], reader.seen[second] = reader.seen[second], reader.seen[first]
    oracle.finish(doubled)


def test_a_reader_goes_on_after_a_split_from_a_bookmark_of_before(doubled: World) -> None:
    reader = doubled.readers[0]
    whole = Bookmark(LOG, {0: 5})
    read, reader.bookmark = reader.seen, whole
    reader.seen = [one for one in read if one.offset < 5]
    SeenOnce().finish(doubled)
    assert reader.bookmark is not None and set(reader.bookmark.offsets) == {0, 1}


def test_a_copy_is_not_read_in_the_name_of_what_it_is_not(doubled: World) -> None:
    node = doubled.by_name[doubled.buckets[1].record.full[0].node]
    assert shows(node, 1, 2) is not None
    assert shows(node, 1, 1) is None and shows(node, 1, 4) is None and shows(node, 7, 8) is None
