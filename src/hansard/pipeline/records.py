"""The records of checkpoints, as a job reads and writes them: everybody's, read to the end of the log.

What was written is read back before it is believed: only the order in the log says who was first.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from hansard.bookmark import Bookmark
from hansard.checkpoint import RECORDS, Docket, Record, encoded
from hansard.client import Change, Client
from hansard.client.checkpoints import filed_of

from .columns import OFFSET, TAGS
from .reading import micros


class Register:
    """The dockets of all subjects, by the names of these, as far as they were read."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._place: Bookmark | None = None
        self.dockets: dict[str, Docket] = {}
        self.now_us = 0
        """The time of the last record: the cluster's."""
        self.read()

    def read(self) -> None:
        """All that was written until now."""
        reading = self._client.read(since=self._place, tags=[RECORDS])
        self.now_us = max(self.now_us, entered(self.dockets, reading))
        self._place = reading.bookmark

    def docket(self, name: str) -> Docket:
        return self.dockets.setdefault(name, Docket())

    def write(self, records: Mapping[str, Record]) -> None:
        """By the names of their subjects; then all is read that has come."""
        names = list(records)
        if names:
            self._client.submit_many(
                names, [encoded(records[name]) for name in names], [[RECORDS, name] for name in names]
            )
        self.read()


def entered(dockets: dict[str, Docket], changes: Iterable[Change]) -> int:
    """Puts records, in the order of the log, into the dockets of their subjects; the time of the last one."""
    last_us = 0
    for change in changes:
        filed, name = filed_of(change), (change.key or b"").decode(errors="replace")
        if filed is not None and name in change.tags:
            dockets.setdefault(name, Docket()).take(filed)
            last_us = max(last_us, filed.timestamp_us)
    return last_us


def dockets_in(changes: DataFrame) -> dict[str, Docket]:
    """What the records in an archive say, of a log that may be gone. Those of one subject have one key."""
    dockets: dict[str, Docket] = {}
    entered(dockets, map(_change, changes.where(fn.array_contains(TAGS, RECORDS)).orderBy(OFFSET).collect()))
    return dockets


def _change(row: Any) -> Change:
    key, value = (None if part is None else bytes(part) for part in (row.key, row.value))
    time_us = micros(row.timestamp)
    return Change(time_us, row.bucket, row.offset, key, value, tuple(row.tags), row.connection, row.series)
