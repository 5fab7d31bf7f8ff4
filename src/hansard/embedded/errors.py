"""What a user of the embedded log can do wrong, or can run into, beyond what storage and batch already name.

    LogError
    ├── LogClosed        open the log again
    ├── LogInUse         (a DirectoryLocked) close the other holder, or wait for it
    ├── OtherProcess     the process was forked: open the log in one of the two only
    ├── CloseFromInside  a signal handler or callback closed the log that its own thread is using
    ├── Unsettled        a commit was cut short: open the log again, and look what is there
    ├── PartlyAppended   go on after `receipts`; the cause says what went wrong
    ├── AheadOfLog       the bookmark points past the end: this is an older copy of its log
    ├── AlreadyAttached  an application of that name runs on this log: use that one
    ├── ApplicationFailed  an application has raised: mend it, and open the log again
    ├── UsedFromInside   an application used the log that it was being given a change of
    └── WrongLog, BadPlace, ...    (in hansard.bookmark) the place is none of this log

`StorageError` (DiskFull, Trimmed, Corrupt, ...) and `BatchError` (LimitExceeded, BadInput) pass through unchanged.
"""

import os
from typing import TYPE_CHECKING

from hansard.bookmark import LogError
from hansard.storage.errors import DirectoryLocked

if TYPE_CHECKING:
    from .receipts import Receipts


class LogClosed(LogError):
    def __init__(self, name: str) -> None:
        super().__init__(name)

    def __str__(self) -> str:
        return f"the log {self.args[0]} is closed; hansard.open() opens it again"


class LogInUse(LogError, DirectoryLocked):
    def __init__(self, path: str, holder: int | None, *, read_only: bool = False) -> None:
        super().__init__(path, holder)
        self.path, self.holder, self.read_only = path, holder, read_only

    def __reduce__(self) -> tuple[object, ...]:
        return (_log_in_use, (self.path, self.holder, self.read_only))

    def __str__(self) -> str:
        if self.holder == os.getpid():
            return f"{self.path} is open in this process already; use that Log, or close it first"
        if self.holder is None:
            by = "another process" if self.read_only else "a process that reads it"
        else:
            by = f"process {self.holder}"
        rule = "it can be read when that has closed it" if self.read_only else "only one at a time may write to it"
        return f"{self.path} is in use by {by}; {rule}"


def _log_in_use(path: str, holder: int | None, read_only: bool) -> LogInUse:
    return LogInUse(path, holder, read_only=read_only)


class OtherProcess(LogError):
    def __init__(self, opened_in: int) -> None:
        super().__init__(opened_in)

    def __str__(self) -> str:
        return (
            f"the log was opened in process {self.args[0]}, and this is a fork of it: "
            "send the changes to that process, or close the log before forking and open it in one process only"
        )


class CloseFromInside(LogError):
    def __str__(self) -> str:
        return (
            "close() was called by a signal handler or a callback while this thread is inside the log, and would wait "
            "for itself: set a flag or raise an exception instead, and close the log outside"
        )


class Unsettled(LogError):
    def __str__(self) -> str:
        return (
            "an append was cut short while it was being written, so whether its changes are stored is not known; "
            "close the log, open it again and look"
        )


class PartlyAppended(LogError):
    """Some batches of a long append are stored, the rest is not."""

    def __init__(self, receipts: "Receipts", cause: str) -> None:
        super().__init__(receipts, cause)
        self.receipts = receipts

    def __str__(self) -> str:
        count = len(self.receipts)
        return (
            f"the first {count:,} changes are stored, those after them are not ({self.args[1]}); go on after {count:,}"
        )


class AheadOfLog(LogError):
    def __init__(self, bookmarked: int, end: int) -> None:
        super().__init__(bookmarked, end)
        self.bookmarked, self.end = bookmarked, end

    def __str__(self) -> str:
        return (
            f"the bookmark points to offset {self.bookmarked}, and the log ends at {self.end}: this is an older copy "
            "of its log; what came after it is not here. To go on regardless, start from an offset or a time"
        )


class AlreadyAttached(LogError):
    def __init__(self, name: str) -> None:
        super().__init__(name)

    def __str__(self) -> str:
        return f"an application {self.args[0]!r} is attached to this log already; use what attach() returned then"


class UsedFromInside(LogError):
    def __init__(self, name: str) -> None:
        super().__init__(name)

    def __str__(self) -> str:
        what = f"the application {self.args[0]!r}" if self.args[0] else "an application"
        return (
            f"{what} used its log while it was being given a change, and would wait for itself: what it does may "
            "depend on that change and its own state only; append from where the result of an update is returned"
        )


class ApplicationFailed(LogError):
    """Its cause is what the application has raised."""

    def __init__(self, name: str, problem: str, where: str) -> None:
        super().__init__(name, problem, where)
        self.name = name

    def __str__(self) -> str:
        name, problem, where = self.args
        return (
            f"the application {name!r} raised {problem} {where}, and is given no more; the log goes on, and what was "
            "appended is stored. Mend the application, and open the log again"
        )
