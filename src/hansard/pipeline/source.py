"""The cluster that a job reads from or writes to: one description for the driver's client and for Spark's tasks."""

from collections.abc import Sequence
from typing import Self

from pyspark.sql import DataFrame, SparkSession

from hansard.bookmark import Bookmark
from hansard.client import Client
from hansard.client.operator import Operator
from pyspark_hansard.options import BATCH_READ, Given, Reach
from pyspark_hansard.reader import BatchReader

from .columns import CHANGES, NAMES

FORMAT = "hansard"
TIMEOUT_S = 30.0


class Source(Reach):
    @classmethod
    def of(
        cls,
        endpoints: str | Sequence[str],
        token: str = "",
        tls_ca: str = "",
        tls_cert: str = "",
        tls_key: str = "",
    ) -> Self:
        """Addresses in a list, or in one text with commas, as the data source takes them."""
        parts = endpoints.split(",") if isinstance(endpoints, str) else endpoints
        return cls(tuple(part.strip() for part in parts), token, tls_ca, tls_cert, tls_key)

    def client(self, timeout_s: float = TIMEOUT_S) -> Client:
        return Client.connect(self.endpoints, timeout_s=timeout_s, token=self.token, tls=self.tls())

    def operator(self, timeout_s: float = TIMEOUT_S) -> Operator:
        return Operator(self.endpoints, timeout_s=timeout_s, token=self.token, tls=self.tls())

    def changes(
        self,
        spark: SparkSession,
        since: Bookmark,
        until: Bookmark,
        *,
        tags: Sequence[str] = (),
        match: str = "any",
        key: str | None = None,
    ) -> DataFrame:
        """All changes between two bookmarks, what tools keep in the log for themselves too. Both bounds are said, so
        that whoever computes the DataFrame a second time gets the same."""
        options = self._between(since, until)
        if tags:
            options |= {"tags": ",".join(tags), "match": match}
        if key is not None:
            options["key"] = key
        return spark.read.format(FORMAT).options(**options).load().select(*NAMES)

    def reader(self, since: Bookmark, until: Bookmark) -> BatchReader:
        """What reads the same, for tasks that take it as Arrow's batches instead of rows."""
        return BatchReader(Given(self._between(since, until), BATCH_READ, "a batch read"), CHANGES)

    def _between(self, since: Bookmark, until: Bookmark) -> dict[str, str]:
        return {**self.options(), "since": str(since), "until": str(until), "records": "true"}
