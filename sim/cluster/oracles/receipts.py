"""A receipt says where a change is, and when it was stored: whoever looks there finds it."""

from typing import TYPE_CHECKING

from hansard.batch import Batch
from hansard.phaser.outcome import Outcome, Receipt, Repeated, Stored

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.cluster.bucket import Bucket


class TrueReceipts(Oracle):
    promise = "receipts are true"

    def answered(self, bucket: "Bucket", batch: Batch, outcome: Outcome) -> None:
        values = batch.values()
        match outcome:
            case Stored(receipt=receipt, repeated=repeated):
                self._look(bucket, receipt, values[repeated:])
            case Repeated(receipt=receipt) if receipt is not None:
                self._look(bucket, receipt, values)
            case _:
                pass

    def _look(self, bucket: "Bucket", receipt: Receipt, values: list[bytes | None]) -> None:
        stored = bucket.sequence.at(receipt.offset)
        if stored is None:
            raise self.broken(f"nothing is at {receipt} of bucket {bucket.number}, where {values} should be")
        changes = [change for change in stored.changes() if change.offset >= receipt.offset][: len(values)]
        found = [change.value for change in changes]
        if found != values or any(change.timestamp != receipt.timestamp for change in changes):
            raise self.broken(f"{changes} are at {receipt} of bucket {bucket.number}, where {values} should be")
