"""What Spark calls. Each call is in a Python process of its own, of the driver's or an executor's."""

import sys
from typing import Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from .columns import ddl
from .options import BATCH_READ, BATCH_WRITE, EVERYTHING, STREAM_READ, STREAM_WRITE, Given
from .reader import BatchReader, PushingReader
from .sink import BatchWriter, StreamWriter
from .streaming import StreamReader

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

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 (Spark's name)
        return StreamReader(Given(self.options, STREAM_READ, "a streaming read"), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        return BatchWriter(Given(self.options, BATCH_WRITE, "a batch write"), schema, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        return StreamWriter(Given(self.options, STREAM_WRITE, "a streaming write"), schema, overwrite=overwrite)
