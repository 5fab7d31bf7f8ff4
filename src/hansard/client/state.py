"""The state that a checkpoint is: its layers, read by Arrow wherever they are, and merged.

The newest layer counts, so layers are read from the newest to the oldest, and whatever a newer one has said of a key
hides it in the older ones. Only the keys of the newer layers are kept in memory: the oldest, which is nearly
everything, goes through by batches.
"""

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from .checkpoints import Checkpoint
from .errors import BadCheckpoint
from .page import Change

COLUMNS: Final = ("timestamp_us", "bucket", "offset", "key", "value", "tags", "connection", "series")
"""Of a layer's files; in the order of a Change."""
BATCH_ROWS: Final = 10_000
SAME: Final = {"s3a": "s3", "s3n": "s3", "abfss": "abfs"}
"""What Spark calls otherwise than Arrow."""


class State:
    """`location` is where the layers are as this machine sees it; as the record says it, if not given."""

    def __init__(self, checkpoint: Checkpoint, location: str = "") -> None:
        self.checkpoint = checkpoint
        self.location = (location or checkpoint.location).rstrip("/")
        self._seen: set[bytes] = set()
        self._batches = self._merged()

    def next(self) -> list[Change] | None:
        """Some more of it, in no particular order; None when that was all."""
        return next(self._batches, None)

    def _merged(self) -> Iterator[list[Change]]:
        import pyarrow as pa  # noqa: PLC0415 (most clients load no checkpoint)

        try:
            files, root = _opened(self.location)
            layers = self.checkpoint.layers
            for place in reversed(range(len(layers))):
                yield from self._layer(files, f"{root}/{layers[place].path}", layers[place].rows, keep=place > 0)
        except (OSError, pa.ArrowException, KeyError) as error:
            raise BadCheckpoint(self.location, str(error)) from error

    def _layer(self, files: Any, path: str, rows: int, *, keep: bool) -> Iterator[list[Change]]:
        seen, found = self._seen, 0
        added: list[bytes] = []
        for batch in _read(files, path):
            found += batch.num_rows
            changes = map(Change, *[batch.column(name).to_pylist() for name in COLUMNS])
            fresh = [change for change in changes if change.key not in seen]
            if keep:
                added += [change.key for change in fresh if change.key is not None]
            yield [change._replace(tags=tuple(change.tags)) for change in fresh if change.value is not None]
        if found != rows:
            raise BadCheckpoint(self.location, f"{path} has {found} rows, and its record says {rows}")
        seen.update(added)


def _opened(location: str) -> tuple[Any, str]:
    """Whatever Arrow calls a file system, and the path in it."""
    from pyarrow import fs  # noqa: PLC0415

    parts = urlsplit(location)
    if not parts.scheme:
        return fs.LocalFileSystem(), location
    if parts.scheme == "file":
        return fs.LocalFileSystem(), parts.path
    files, root = fs.FileSystem.from_uri(f"{SAME.get(parts.scheme, parts.scheme)}{location[len(parts.scheme) :]}")
    return files, root


def _read(files: Any, path: str) -> Iterator[Any]:
    """The batches of a layer; pages whose checksums are wrong are refused."""
    import pyarrow.parquet as pq  # noqa: PLC0415
    from pyarrow import fs  # noqa: PLC0415

    listed = files.get_file_info(fs.FileSelector(path, recursive=False))
    for info in sorted(listed, key=lambda info: str(info.path)):
        name = info.base_name
        if info.is_file and name.endswith(".parquet") and not name.startswith(("_", ".")):
            with (
                files.open_input_file(info.path) as file,
                pq.ParquetFile(file, page_checksum_verification=True) as parquet,
            ):
                yield from parquet.iter_batches(batch_size=BATCH_ROWS, columns=list(COLUMNS))
