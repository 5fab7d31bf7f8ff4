"""What Spark calls. Each call is in a Python process of its own, of the driver's or an executor's."""

import sys
from typing import Final

from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from .columns import ddl
from .options import BATCH_READ, EVERYTHING, Given
from .reader import BatchReader, PushingReader

_PUSHING: Final = "pyspark.sql.worker.data_source_pushdown_filters"
"""The program that Spark plans a read with where filters are pushed down. There is no other way to be told: the
session's settings are the JVM's."""


class DefaultSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "hansard"

    def schema(self) -> str:
        """Of what is read. Whether the other options make sense together is for the reader to say."""
        given = Given(self.options, EVERYTHING, "reading")
        given.reach()
        return ddl(given.listed("columns"), given.choice(), given.text("schema"))

    def reader(self, schema: StructType) -> DataSourceReader:
        given = Given(self.options, BATCH_READ, "a batch read")
        return PushingReader(given, schema) if _PUSHING in sys.modules else BatchReader(given, schema)
