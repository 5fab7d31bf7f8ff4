"""Small files that are read and replaced as a whole: whoever reads one after a crash finds the old or the new."""

from .disk import Disk


def read(disk: Disk, path: str) -> bytes | None:
    """All of it; None if it is not there."""
    try:
        file = disk.open(path, read_only=True)
    except FileNotFoundError:
        return None
    try:
        return file.read(0, file.size())
    finally:
        file.close()


def replace(disk: Disk, path: str, *chunks: bytes) -> None:
    """New content in place of the old, on disk when this returns."""
    draft = f"{path}.new"
    file = disk.open(draft, create=True)
    try:
        file.truncate(0)
        file.write(0, chunks)
        file.sync()
    finally:
        file.close()
    disk.rename(draft, path)
    disk.sync_folder(path.rpartition("/")[0])
