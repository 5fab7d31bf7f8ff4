"""Hansard, a replicated change log: what was said, in order, and kept.

The log in one process:

    import hansard

    with hansard.open("ledger") as log:
        receipt = log.append("account/1", '{"balance": 10}', tags=["eu", "retail"])
        log.append("account/2", '{"balance": 20}', tags=["us"])
        for change in log.read(tags=["eu"]):
            print(change.offset, change.time, change.key, change.value)

`append` returns when the change is on disk. docs/guides/log.md is a five-minute start.

A cluster, from anywhere:

    with hansard.Client.connect(["127.0.0.1:7001"]) as client:
        client.submit("account/1", {"balance": 10}, tags=["eu", "retail"])
        for change in client.follow(tags=["eu"]):
            print(change.key, change.json())

`submit` returns when the change is on the disk of every member of its bucket. docs/guides/submitting.md says more.

Names are loaded when they are first used, so that importing this package, and with it every command, is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .application import Application as Application
    from .application import ApplicationError as ApplicationError
    from .application import BadQuestion as BadQuestion
    from .application import HistoryGone as HistoryGone
    from .application import NewerImage as NewerImage
    from .batch import SCHEMA as SCHEMA
    from .batch import BatchError as BatchError
    from .batch import Change as Change
    from .batch import LimitExceeded as LimitExceeded
    from .batch.errors import BadInput as BadInput
    from .client import AsyncClient as AsyncClient
    from .client import Client as Client
    from .client import ClientError as ClientError
    from .client import Gone as Gone
    from .client import NotStored as NotStored
    from .client import OutcomeUnknown as OutcomeUnknown
    from .client import PartlyStored as PartlyStored
    from .client import StreamBroken as StreamBroken
    from .embedded import AheadOfLog as AheadOfLog
    from .embedded import AlreadyAttached as AlreadyAttached
    from .embedded import ApplicationFailed as ApplicationFailed
    from .embedded import Attached as Attached
    from .embedded import BadPlace as BadPlace
    from .embedded import Bookmark as Bookmark
    from .embedded import HoldInfo as HoldInfo
    from .embedded import Info as Info
    from .embedded import Log as Log
    from .embedded import LogClosed as LogClosed
    from .embedded import LogError as LogError
    from .embedded import LogInUse as LogInUse
    from .embedded import NewChange as NewChange
    from .embedded import OtherProcess as OtherProcess
    from .embedded import Page as Page
    from .embedded import PartlyAppended as PartlyAppended
    from .embedded import Receipt as Receipt
    from .embedded import Receipts as Receipts
    from .embedded import Unsettled as Unsettled
    from .embedded import UsedFromInside as UsedFromInside
    from .embedded import WrongLog as WrongLog
    from .embedded import open as open
    from .storage.errors import Corrupt as Corrupt
    from .storage.errors import DirectoryLocked as DirectoryLocked
    from .storage.errors import DiskFull as DiskFull
    from .storage.errors import NoStore as NoStore
    from .storage.errors import ReadOnly as ReadOnly
    from .storage.errors import StorageError as StorageError
    from .storage.errors import StoreFailed as StoreFailed
    from .storage.errors import SyncFailed as SyncFailed
    from .storage.errors import Trimmed as Trimmed

__version__ = "0.1.0"

_HOMES = {
    ".application": ("Application", "ApplicationError", "BadQuestion", "HistoryGone", "NewerImage"),
    ".batch": ("SCHEMA", "BatchError", "Change", "LimitExceeded"),
    ".batch.errors": ("BadInput",),
    ".client": (
        *("AsyncClient", "Client", "ClientError", "Gone", "NotStored", "OutcomeUnknown", "PartlyStored"),
        "StreamBroken",
    ),
    ".embedded": (
        *("AlreadyAttached", "ApplicationFailed", "Attached"),
        *("AheadOfLog", "BadPlace", "Bookmark", "HoldInfo", "Info", "Log", "LogClosed", "LogError", "LogInUse"),
        *(
            "NewChange",
            "OtherProcess",
            "Page",
            "PartlyAppended",
            "Receipt",
            "Receipts",
            "Unsettled",
            "UsedFromInside",
            "WrongLog",
            "open",
        ),
    ),
    ".storage.errors": (
        *("Corrupt", "DirectoryLocked", "DiskFull", "NoStore", "ReadOnly"),
        *("StorageError", "StoreFailed", "SyncFailed", "Trimmed"),
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME_OF]  # noqa: PLE0604

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOME_OF:
            raise AttributeError(f"module 'hansard' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOME_OF[name], __name__), name)
        return value

    def __dir__() -> list[str]:
        return sorted(__all__)
