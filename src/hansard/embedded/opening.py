"""Opening a log: finding it in a directory, or making it there."""

import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from hansard.storage import identity as identities
from hansard.storage.disk import Disk, RealDisk
from hansard.storage.errors import DirectoryLocked, IdentityMismatch, NoStore
from hansard.storage.identity import Identity
from hansard.storage.settings import StoreSettings
from hansard.storage.store import Store, open_store

from .errors import LogInUse
from .log import Log


def open(
    path: str | os.PathLike[str],
    *,
    create: bool = True,
    read_only: bool = False,
    clock_ns: Callable[[], int] = time.time_ns,
) -> Log:
    """The log in a directory; made there if there is none, unless `create` is False.

    One process at a time may have a log open, or any number with `read_only`: those change nothing in the directory, so
    that it may be a copy on a disk which cannot be written to.
    """
    root = Path(path)
    if root.exists() and not root.is_dir():
        raise NoStore(f"{root} is a file; a log is a directory")
    return open_on(RealDisk(root), path=str(root), create=create, read_only=read_only, clock_ns=clock_ns)


def open_on(
    disk: Disk,
    *,
    path: str = "log",
    create: bool = True,
    read_only: bool = False,
    clock_ns: Callable[[], int] = time.time_ns,
    settings: StoreSettings | None = None,
) -> Log:
    """The same on any disk; `path` is what the log is called in messages."""
    store = store_on(disk, path=path, create=create and not read_only, read_only=read_only, settings=settings)
    if store.identity.cluster_id and not read_only:
        store.close()
        raise IdentityMismatch("cluster_id", store.identity.cluster_id, "that of a log in one process")
    return Log(store, path=path, clock_ns=clock_ns)


def store_on(
    disk: Disk, *, path: str, create: bool, read_only: bool = False, settings: StoreSettings | None = None
) -> Store:
    """The store below a log, with errors that name its path. A directory that is no log is left untouched."""
    if not create and not disk.exists(identities.PATH):
        advice = "is the path right?" if read_only else "leave out create=False to make one"
        raise NoStore(f"there is no log in {path}; {advice}")
    made = Identity(log_id=secrets.token_hex(8)) if create else None
    try:
        return open_store(disk, create=made, read_only=read_only, settings=settings)
    except DirectoryLocked as error:
        raise LogInUse(path, error.holder, read_only=read_only) from None
    except NoStore as error:
        raise NoStore(f"{path}: {error}") from error
