"""What can go wrong with stored data, one class for each decision of a caller.

    StorageError
    ├── DiskFull          refuse writes, go on serving reads, try again when there is room
    ├── SyncFailed        end the process; whether the data is on disk is unknown
    ├── StoreFailed       the same, for whoever comes after the one that met it
    ├── DirectoryLocked   say who holds the directory; do not start
    ├── NoStore           there is nothing here, and nobody asked to make something
    ├── FormatMismatch    the directory is of another version; do not start
    ├── IdentityMismatch  the directory is somebody else's; do not start
    ├── Corrupt           some stored bytes are damaged; fetch another copy of what it names, and repair
    ├── Trimmed           what was asked for is no longer retained; start at what is
    ├── OutOfOrder        the appended batch does not follow the log; a mistake of the caller's
    ├── NotABoundary      the log cannot be cut inside a batch; a mistake of the caller's
    ├── CannotFork        there is nothing to fork, or something in the way; a mistake of the caller's
    └── ReadOnly          the store was opened for reading

Arguments are kept as given, so that an error survives pickling on its way between processes.
"""


class StorageError(Exception):
    """Any failure of the storage room."""


class DiskFull(StorageError):
    """No room. Nothing counts as stored, though bytes of the failed write may lie where it was going."""

    def __init__(self, path: str, wanted_bytes: int) -> None:
        super().__init__(path, wanted_bytes)
        self.path = path
        self.wanted_bytes = wanted_bytes

    def __str__(self) -> str:
        return f"no room for {self.wanted_bytes} bytes in {self.path}"


class SyncFailed(StorageError):
    """A sync failed, and a second one proves nothing.

    Linux marks the pages clean when writing them back fails, so that a retry succeeds without having written
    them (Rebello et al., "Can Applications Recover from fsync Failures?", 2020).
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"cannot sync {self.path}: what was written since its last sync may be lost"


class StoreFailed(StorageError):
    """The store met a failure that it cannot go on after; only a new process may open the directory again."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause

    def __str__(self) -> str:
        return f"the store has stopped for good: {self.cause}; restart the process to recover from the disk"


class DirectoryLocked(StorageError):
    """Another holder has the directory: `holder` is its process id, None when it is unknown."""

    def __init__(self, path: str, holder: int | None) -> None:
        super().__init__(path, holder)
        self.path = path
        self.holder = holder

    def __str__(self) -> str:
        by = "another process" if self.holder is None else f"process {self.holder}"
        return f"{self.path} is in use by {by}"


class NoStore(StorageError):
    def __init__(self, problem: str) -> None:
        super().__init__(problem)

    def __str__(self) -> str:
        return str(self.args[0])


class FormatMismatch(StorageError):
    def __init__(self, path: str, found: int, expected: int) -> None:
        super().__init__(path, found, expected)
        self.path, self.found, self.expected = path, found, expected

    def __str__(self) -> str:
        return f"{self.path} is of format {self.found}, and this release reads format {self.expected}"


class IdentityMismatch(StorageError):
    def __init__(self, field: str, found: str, expected: str) -> None:
        super().__init__(field, found, expected)
        self.field, self.found, self.expected = field, found, expected

    def __str__(self) -> str:
        return f"the directory's {self.field} is {self.found}, not {self.expected}: it belongs to another"


class Corrupt(StorageError):
    """Damaged bytes: `path` from `position` on, `length` of them where that is known.

    `bucket` and the offsets from `first` up to, not including, `end` say what is lost to readers until it is
    repaired; each is None where the damage hides it.
    """

    def __init__(
        self,
        path: str,
        position: int,
        length: int | None,
        reason: str,
        *,
        bucket: int | None = None,
        first: int | None = None,
        end: int | None = None,
    ) -> None:
        super().__init__(path, position, length, reason)
        self.path, self.position, self.length, self.reason = path, position, length, reason
        self.bucket, self.first, self.end = bucket, first, end

    def of(self, bucket: int) -> "Corrupt":
        """The same damage, for another bucket that shares what is damaged."""
        return _corrupt(self.path, self.position, self.length, self.reason, bucket, self.first, self.end)

    def __reduce__(self) -> tuple[object, ...]:
        return (_corrupt, (*self.args, self.bucket, self.first, self.end))

    def __str__(self) -> str:
        offsets = "" if self.first is None else f", offsets {self.first} to {self._last}"
        what = "" if self.bucket is None else f" (bucket {self.bucket}{offsets})"
        return f"{self.path} is damaged at byte {self.position}{what}: {self.reason}"

    @property
    def _last(self) -> str:
        return "?" if self.end is None else str(self.end - 1)


def _corrupt(
    path: str, position: int, length: int | None, reason: str, bucket: int | None, first: int | None, end: int | None
) -> Corrupt:
    return Corrupt(path, position, length, reason, bucket=bucket, first=first, end=end)


class Trimmed(StorageError):
    """Retention has dropped what was asked for; `start` is the first offset still there."""

    def __init__(self, bucket: int, wanted: int, start: int) -> None:
        super().__init__(bucket, wanted, start)
        self.bucket, self.wanted, self.start = bucket, wanted, start

    def __str__(self) -> str:
        return f"offset {self.wanted} of bucket {self.bucket} is no longer retained; the log begins at {self.start}"


class OutOfOrder(StorageError):
    def __init__(self, bucket: int, field: str, given: int, expected: int) -> None:
        super().__init__(bucket, field, given, expected)
        self.bucket, self.field, self.given, self.expected = bucket, field, given, expected

    def __str__(self) -> str:
        return f"bucket {self.bucket}: {self.field} {self.given} does not follow; at least {self.expected} is due"


class NotABoundary(StorageError):
    """`first` and `end` are the offsets of the batch that the cut would go through."""

    def __init__(self, bucket: int, cut: int, first: int, end: int) -> None:
        super().__init__(bucket, cut, first, end)
        self.bucket, self.cut, self.first, self.end = bucket, cut, first, end

    def __str__(self) -> str:
        return f"bucket {self.bucket} cannot be cut at {self.cut}, inside the batch {self.first}..{self.end - 1}"


class CannotFork(StorageError):
    def __init__(self, bucket: int, source: int, problem: str) -> None:
        super().__init__(bucket, source, problem)
        self.bucket, self.source, self.problem = bucket, source, problem

    def __str__(self) -> str:
        return f"bucket {self.bucket} cannot become what bucket {self.source} is: {self.problem}"


class ReadOnly(StorageError):
    def __str__(self) -> str:
        return "the store was opened for reading only"
