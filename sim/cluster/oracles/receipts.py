"""A receipt says where a change is, and when it was stored: whoever looks there finds it.

What was cut anew after a split may have been stored before it, as part of a larger batch: then only its first change is
where the receipt says, and the others behind it. What has no stream may have been passed on to the half that it lives
in; a receipt does not say so.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hansard.batch import Batch
from hansard.bookmark import parent
from hansard.phaser.outcome import Outcome, Receipt, Repeated, Stored
from hansard.phaser.streams import NO_CONNECTION

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.cluster.bucket import Bucket


class TrueReceipts(Oracle):
    promise = "receipts are true"

    def answered(self, bucket: "Bucket", batch: Batch, outcome: Outcome) -> None:
        values = batch.values()
        match outcome:
            case Stored(receipt=receipt, repeated=repeated):
                places = _places(bucket, batch)
                if not any(self._found(place, receipt, values[repeated:]) == values[repeated:] for place in places):
                    self._wrong(bucket, receipt, values[repeated:])
            case Repeated(receipt=receipt) if receipt is not None:
                found = self._found(bucket, receipt, values)
                if found[:1] != values[:1] or [value for value in found if value in values] != values:
                    self._wrong(bucket, receipt, values)
            case _:
                pass

    def _found(self, bucket: "Bucket", receipt: Receipt, values: list[bytes | None]) -> list[bytes | None]:
        """What is there: as much as is looked for, or all that the batch has from there on if it is not that."""
        stored = bucket.sequence.at(receipt.offset)
        changes = [change for change in stored.changes() if change.offset >= receipt.offset] if stored else []
        found = [change.value for change in changes if change.timestamp == receipt.timestamp]
        return found[: len(values)] if found[: len(values)] == values else found

    def _wrong(self, bucket: "Bucket", receipt: Receipt, values: list[bytes | None]) -> None:
        stored = bucket.sequence.at(receipt.offset)
        changes = list(stored.changes()) if stored is not None else "nothing"
        raise self.broken(f"{changes} is at {receipt} of bucket {bucket.number}, where {values} should be")


def _places(bucket: "Bucket", batch: Batch) -> Iterator["Bucket"]:
    """Where it may have been stored: where it was sent to, or where it lived when it came there."""
    yield bucket
    if batch.header.connection == NO_CONNECTION:
        world = bucket.cluster
        home = world.table.distributor.home(int(batch.key_hashes[0]))
        while home != bucket.number:
            yield world.buckets[home]
            home = parent(home)
