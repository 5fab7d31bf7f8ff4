"""A model's disk as retention sees it: every batch is a segment."""

from collections.abc import Iterable

from hansard.batch import Batch
from hansard.storage.manifest import Segment


def ends(batch: Batch, before: int) -> bool:
    """All of it is before an offset."""
    return batch.header.end_offset <= before


def segments(batches: Iterable[Batch]) -> list[Segment]:
    found = []
    for number, batch in enumerate(batches):
        header = batch.header
        place = (header.base_offset, header.end_offset, batch.length)
        times = (header.first_timestamp, header.last_timestamp)
        found.append(Segment(number, *place, *times, header.change_count, header.epoch, 0, sealed=True))
    return found
