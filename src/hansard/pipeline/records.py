"""The records of checkpoints, as a job reads and writes them: everybody's, read to the end of the log.

What was written is read back before it is believed: only the order in the log says who was first.
"""

from collections.abc import Mapping

from hansard.bookmark import Bookmark
from hansard.checkpoint import RECORDS, Docket, Record, encoded
from hansard.client import Client
from hansard.client.checkpoints import filed_of


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
        for change in reading:
            filed, name = filed_of(change), (change.key or b"").decode(errors="replace")
            if filed is not None and name in change.tags:
                self.dockets.setdefault(name, Docket()).take(filed)
                self.now_us = max(self.now_us, filed.timestamp_us)
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
