"""Files at any path that Spark reads, through Hadoop's file systems in Spark's own JVM: no other client is needed.

Of two who create the same file one wins and the other is told, and a file is there as a whole or not at all. On a local
disk that is a hard link to what was written beside it. Elsewhere it is what Spark's streaming keeps its own offsets
with, so it is as good as that is there: a rename that replaces nothing, or whatever class
`spark.sql.streaming.checkpointFileManagerClass` names for an object store.
"""

import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, cast
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

_PACKAGE: Final = "org.apache.hadoop.fs"
_EXISTS: Final = f"{_PACKAGE}.FileAlreadyExistsException"
_MISSING: Final = "java.io.FileNotFoundException"


class Found(NamedTuple):
    """A file, by its path below the folder."""

    path: str
    byte_count: int
    modified_us: int


class Folder:
    """`root` is a path or URI as Spark takes it; one without a scheme is what Spark's default file system makes of
    it."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self._jvm: Any = cast(Any, spark._jvm)
        self._conf: Any = spark._jsc.hadoopConfiguration()
        given: Any = self._jvm.org.apache.hadoop.fs.Path(root)
        self._fs = given.getFileSystem(self._conf)
        self.root = str(self._fs.makeQualified(given).toString()).rstrip("/")
        """With its scheme, so that it means the same everywhere."""
        parts = urlsplit(self.root)
        self.local = Path(unquote(parts.path)) if parts.scheme == "file" else None
        """As this machine's own programs take it, where it is a path of theirs."""

    def path(self, name: str) -> str:
        """As Spark takes it."""
        return f"{self.root}/{name}"

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.path(name) if name else self.root)

    def create(self, name: str, content: bytes) -> bool:
        """Whether the file is ours; False if somebody else's is there, and stays."""
        if self.local is not None:
            return _link(self.local / name, content)
        path = self._path(name)
        self._fs.mkdirs(path.getParent())
        keeping = self._jvm.org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
        try:
            stream = keeping.create(path.getParent(), self._conf).createAtomic(path, False)
            stream.write(bytearray(content))
            stream.close()
        except Py4JJavaError as error:
            if _is(error, _EXISTS):
                return False
            raise OSError(f"{self.path(name)} cannot be written: {error.java_exception.getMessage()}") from error
        return True

    def read(self, name: str) -> bytes:
        try:
            stream = self._fs.open(self._path(name))
        except Py4JJavaError as error:
            if _is(error, _MISSING):
                raise FileNotFoundError(f"{self.path(name)} is not there") from error
            raise OSError(f"{self.path(name)} cannot be read: {error.java_exception.getMessage()}") from error
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def names(self, below: str) -> list[str]:
        """Of the files and folders directly below a folder, sorted; nothing where that is not there. What begins with a
        dot or an underscore is nobody's business, as for Spark."""
        try:
            found = self._fs.listStatus(self._path(below))
        except Py4JJavaError as error:
            if _is(error, _MISSING):
                return []
            raise OSError(f"{self.path(below)} cannot be listed: {error.java_exception.getMessage()}") from error
        names = [str(status.getPath().getName()) for status in found]
        return sorted(name for name in names if not name.startswith((".", "_")))

    def files(self, below: str) -> list[Found]:
        """All files below a folder, however deep, sorted."""
        found: list[Found] = []
        try:
            walk = self._fs.listFiles(self._path(below), True)
            while walk.hasNext():
                status = walk.next()
                path = str(status.getPath().toString()).removeprefix(f"{self.root}/")
                if not any(part.startswith((".", "_")) for part in path.split("/")):
                    found.append(Found(path, status.getLen(), status.getModificationTime() * 1000))
        except Py4JJavaError as error:
            if not _is(error, _MISSING):
                raise OSError(f"{self.path(below)} cannot be listed: {error.java_exception.getMessage()}") from error
        return sorted(found)

    def sync(self, names: Iterable[str]) -> None:
        """What Spark has written there outlives the power. Other file systems than a local disk see to that
        themselves."""
        if self.local is None or not (paths := [self.local / name for name in names]):
            return
        for path in paths:
            sync_path(path)
        for folder in sorted({parent for path in paths for parent in path.parents if self.local in parent.parents}):
            sync_path(folder)
        sync_path(self.local)

    def remove(self, name: str) -> None:
        """A file, or a folder and all that is in it. That it is not there is as good."""
        self._fs.delete(self._path(name), True)


def _is(error: Py4JJavaError, name: str) -> bool:
    """Whether this kind of exception is behind it, or one derived from it."""
    kind = error.java_exception.getClass()
    while kind is not None:
        if kind.getName() == name:
            return True
        kind = kind.getSuperclass()
    return False


def _link(path: Path, content: bytes) -> bool:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            path.hardlink_to(beside)
        except FileExistsError:
            return False
        sync_path(path.parent)
        return True
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()


def sync_path(path: Path) -> None:
    """A file or a folder."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
