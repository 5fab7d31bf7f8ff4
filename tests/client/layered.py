"""Checkpoints made by hand, without Spark: the layers of the latest changes, and their records in the log."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hansard.bookmark import Bookmark
from hansard.checkpoint import End, Layer, Subject, encoded
from hansard.client import Change, Client
from hansard.client.state import COLUMNS

SCHEMA = pa.schema(
    [
        ("timestamp_us", pa.int64()),
        ("bucket", pa.int32()),
        ("offset", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("tags", pa.list_(pa.string())),
        ("connection", pa.int64()),
        ("series", pa.int64()),
    ]
)


def written(location: Path, path: str, changes: Iterable[Change]) -> Layer:
    """The latest of each key among these, in two files."""
    latest = list({change.key: change for change in changes}.values())
    (location / path).mkdir(parents=True)
    for number, rows in enumerate((latest[::2], latest[1::2])):
        table = pa.table([list(column) for column in zip(*rows, strict=True)] or [[]] * 8, names=list(COLUMNS))
        pq.write_table(table.cast(SCHEMA), location / path / f"part-{number}.parquet", write_page_checksum=True)
    (location / path / "_SUCCESS").touch()
    return Layer(path=path, rows=len(latest), deleted=sum([change.value is None for change in latest]))


def recorded(
    client: Client, subject: Subject, at: Bookmark, location: Path, layers: Sequence[Layer], number: int = 1
) -> None:
    end = End(
        id=f"made-{number}",
        number=number,
        base=f"made-{number - 1}" if number > 1 else "",
        who="by hand",
        bookmark=str(at),
        location=str(location),
        layers=tuple(layers),
    )
    client.submit(subject.key, encoded(end), subject.record_tags)
