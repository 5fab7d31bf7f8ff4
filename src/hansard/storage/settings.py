"""The sizes that shape a store. Tests and simulations make them small; nobody else has a reason to turn them."""

from typing import NamedTuple


class StoreSettings(NamedTuple):
    journal_file_bytes: int = 16 << 20
    unfiled_bytes_max: int = 64 << 20
    """Journal that is not yet in segments: what a recovery has to read. Appends wait for filing beyond it."""
    unfiled_records_max: int = 20_000
    """The same in records, because small ones take longer to read than their bytes."""
    segment_bytes: int = 64 << 20
    block_bytes: int = 32 << 10
    """What an index entry covers: the least that a read fetches."""

    def filing_due(self, unfiled_bytes: int, unfiled_records: int) -> bool:
        """At half the most that may be unfiled, so that appends go on while it is filed."""
        return 2 * unfiled_bytes >= self.unfiled_bytes_max or 2 * unfiled_records >= self.unfiled_records_max

    def filing_overdue(self, unfiled_bytes: int, unfiled_records: int) -> bool:
        return unfiled_bytes >= self.unfiled_bytes_max or unfiled_records >= self.unfiled_records_max
