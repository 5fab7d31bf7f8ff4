"""What a reader of a bucket is shown of its log: client's changes, of the bucket's own keys.

What is internal is nobody's business. A bucket that was split has its parent's history, and for a while what others
of its parent's copies had not committed: of all that was written before it had its present keys it shows its own only.
Offsets stay what they are, and a batch of which something is left out still covers its whole span; so whoever has read
up to an offset before the split goes on from there in both halves, and sees every change once.
"""

from collections.abc import Iterable, Iterator

from hansard.batch import Batch, Flag, bucket_mask, hollow, select
from hansard.distributor.bucket import Bucket
from hansard.phaser.government import epoch_of


def visible(batches: Iterable[Batch], bucket: int, record: Bucket) -> Iterator[Batch]:
    """Of a committed part of a bucket's log what may be shown. The record is what the table says of the bucket at the
    node that has this copy, in the same turn: a copy that was not split yet is read as the whole that it is, and not in
    the name of a half."""
    assert record.level, "there is nothing in a bucket that is not split off yet"
    for batch in batches:
        flags = batch.header.flags
        if flags & Flag.INTERNAL:
            continue
        # What was imported may have others' changes too, by name only: without values.
        if epoch_of(batch.header.epoch) < record.born or flags & Flag.NULL_VALUES:
            mask = bucket_mask(batch, bucket, record.level)
            if mask.any():
                yield batch if mask.all() else select(batch, mask)
        else:
            yield batch


def portable(batches: Iterable[Batch], bucket: int, record: Bucket) -> Iterator[Batch]:
    """The same for who takes a log to another cluster: with the names of others' changes from before a split, because
    they are part of what the bucket knows of its clients' streams (batch/hollow.py)."""
    assert record.level, "there is nothing in a bucket that is not split off yet"
    for batch in batches:
        if batch.header.flags & Flag.INTERNAL:
            continue
        if epoch_of(batch.header.epoch) < record.born:
            batch = hollow(batch, bucket_mask(batch, bucket, record.level))
        if len(batch):
            yield batch
