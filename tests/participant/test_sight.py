"""What readers of a bucket are shown of its log."""

from hansard.batch import Batch, bucket_of, build, key_hash
from hansard.distributor.bucket import Bucket
from hansard.distributor.member import Member
from hansard.participant.sight import visible
from hansard.phaser.decree import Decree, as_batch
from hansard.phaser.government import Government, first_term

ME = Member("a", 1)


def key(bucket: int, buckets: int) -> bytes:
    return next(b"%d" % n for n in range(1000) if bucket_of(key_hash(b"%d" % n), buckets) == bucket)


def written(offset: int, epoch: int, *keys: bytes) -> Batch:
    values = [b"v%d" % (offset + number) for number in range(len(keys))]
    return build(list(keys), values).stamped(epoch=first_term(epoch), base_offset=offset, timestamp=1)


def record(level: int, born: int) -> Bucket:
    return Bucket(epoch=9, leader=ME, members=(ME,), opened=9, full=(ME,), level=level, born=born)


def test_a_half_shows_its_own_of_what_was_written_before_it_was_split() -> None:
    own, other = key(1, 4), key(3, 4)
    log = [written(0, 2, own, other, own), written(3, 2, other), written(4, 5, own)]
    shown = list(visible(log, 1, record(4, 5)))
    assert [change.offset for batch in shown for change in batch.changes()] == [0, 2, 4]
    assert [change.offset for batch in visible(log, 3, record(4, 5)) for change in batch.changes()][:2] == [1, 3]


def test_what_is_left_of_a_batch_covers_all_of_it() -> None:
    (shown,) = visible([written(7, 2, key(0, 2), key(1, 2))], 1, record(2, 5))
    assert (shown.header.base_offset, shown.header.end_offset, len(shown)) == (7, 9, 1)


def test_what_a_bucket_has_written_since_it_was_split_is_handed_on_as_it_is() -> None:
    batch = written(0, 5, key(1, 4))
    (shown,) = visible([batch], 1, record(4, 5))
    assert shown is batch
    (unsplit,) = visible([batch], 1, record(2, 0))
    assert unsplit is batch


def test_a_copy_that_was_not_split_yet_shows_both_halves() -> None:
    log = [written(0, 2, key(1, 4), key(3, 4))]
    assert [len(batch) for batch in visible(log, 1, record(2, 2))] == [2]


def test_what_is_internal_is_never_shown() -> None:
    decree = as_batch(Decree(first_term(5), Government(5, "a#1", ("a#1",)), False, 4))
    internal = decree.stamped(epoch=first_term(5), base_offset=0, timestamp=1)
    (shown,) = visible([internal, written(len(internal), 5, key(1, 4))], 1, record(4, 5))
    assert shown.values() == [b"v1"]
    assert list(visible([internal], 1, record(4, 9))) == []
