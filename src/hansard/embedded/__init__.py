"""The log in one process: `hansard.open(path)` gives a `Log`, which appends, reads and follows, from any thread.

A directory holds one log, of one bucket. Each append is on disk when it returns; appends of several threads share their
syncs (commit.py). A thread in the background files the journal into segments. Imports: batch, storage.
"""

from .bookmark import Bookmark
from .changes import NewChange, checked
from .errors import (
    AheadOfLog,
    BadPlace,
    LogClosed,
    LogError,
    LogInUse,
    OtherProcess,
    PartlyAppended,
    Unsettled,
    WrongLog,
)
from .info import HoldInfo, Info
from .interrupts import HeldInterrupts
from .log import Log
from .opening import open, open_on
from .reading import Page
from .receipts import Receipt, Receipts

__all__ = [
    "AheadOfLog",
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
    "WrongLog",
    "checked",
    "open",
    "open_on",
]
