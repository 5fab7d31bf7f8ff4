"""The log in one process: `hansard.open(path)` gives a `Log`, which appends, reads and follows, from any thread.

A directory holds one log, of one bucket. Each append is on disk when it returns; appends of several threads share their
syncs (commit.py). A thread in the background files the journal into segments. Applications run on it as they do on a
cluster's buckets (attached.py). Imports: application, batch, bookmark, storage.
"""

from hansard.bookmark import BadPlace, Bookmark, LogError, WrongLog

from .attached import Attached
from .changes import NewChange, checked
from .errors import (
    AheadOfLog,
    AlreadyAttached,
    ApplicationFailed,
    LogClosed,
    LogInUse,
    OtherProcess,
    PartlyAppended,
    Unsettled,
    UsedFromInside,
)
from .info import HoldInfo, Info
from .interrupts import HeldInterrupts
from .log import Log
from .opening import open, open_on
from .reading import Page
from .receipts import Receipt, Receipts

__all__ = [
    "AheadOfLog",
    "AlreadyAttached",
    "ApplicationFailed",
    "Attached",
    "BadPlace",
    "Bookmark",
    "HeldInterrupts",
    "HoldInfo",
    "Info",
    "Log",
    "LogClosed",
    "LogError",
    "LogInUse",
    "NewChange",
    "OtherProcess",
    "Page",
    "PartlyAppended",
    "Receipt",
    "Receipts",
    "Unsettled",
    "UsedFromInside",
    "WrongLog",
    "checked",
    "open",
    "open_on",
]
