"""Applications on a log in one process: the same classes that a cluster runs on its buckets.

Whichever thread commits a group also applies it, in the order of the log and before anyone is answered: so an update
returns with its result, and a query knows all that was acknowledged. Now and then, and when the log is closed, the
application's state is kept as a document of the store, so that the next opening replays only what came after; what came
after is held from retention. A state that is missing or of no use is made anew from the log.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from threading import Lock, get_ident
from typing import Final

from msgspec import MsgspecError

from hansard.application import Application, HistoryGone, Host, Image, NewerImage
from hansard.application.image import decode, encode
from hansard.batch import Batch, Text
from hansard.storage.errors import Corrupt, StorageError
from hansard.storage.manifest import Hold
from hansard.storage.store import Store
from hansard.storage.write import DOCUMENT_BYTES_MAX, Keep

from .changes import CheckedChange, checked
from .errors import AlreadyAttached, ApplicationFailed, UsedFromInside
from .interrupts import HeldInterrupts
from .places import BUCKET

CHECKPOINT_BATCHES: Final = 4096
CHECKPOINT_BYTES: Final = 16 << 20
"""After so much the state is kept; after more, if it is larger than that itself."""
REPLAY_BYTES: Final = 4 << 20
FOREVER: Final = 253_402_300_799_000_000
"""The end of the year 9999, in microseconds since 1970."""

Visit = Callable[[], AbstractContextManager[HeldInterrupts]]
Submit = Callable[[CheckedChange, Callable[[int], bytes | None]], bytes | None]


class Attached:
    """An application on a log: made by `Log.attach`, used from any thread.

    Invariant: the application has seen all of the log before the host's offset, and is touched under the lock only.
    """

    def __init__(self, application: Application, store: Store, visit: Visit, submit: Submit) -> None:
        self.application = application
        self._host = Host(application, BUCKET)
        self._store = store
        self._visit = visit
        self._submit = submit
        self._lock = Lock()
        self._keeping = Lock()
        """Held by whoever writes a checkpoint."""
        self._results: dict[int, bytes] = {}
        """Of the group that was committed last, by offset."""
        self._failure: ApplicationFailed | None = None
        self._taking = 0
        """The thread in which it is being given something."""
        self._begun = False
        """It has become what was kept: before that there is nothing to be kept instead."""
        self._due = self._due_bytes = self._image_bytes = 0

    def __repr__(self) -> str:
        return f"<hansard.Attached {self.name!r} at {self._host.offset}>"

    @property
    def name(self) -> str:
        return self._host.name

    # For users.

    def update(self, key: Text | None = None, value: Text | None = None, tags: Sequence[str] = ()) -> bytes | None:
        """Append a change, as `Log.append` does; what the application says to it, when it is on disk and applied."""
        self.check()
        self._keep_out()
        result = self._submit(checked(key, value, tags), self._result)
        self.check()
        return result

    def query(self, question: Text = b"") -> bytes:
        """The application's answer, from all that was appended before."""
        with self._visit():
            content = question.encode() if isinstance(question, str) else question
            self._keep_out()
            with self._lock:
                self.check()
                return self.application.query(content)

    def _keep_out(self) -> None:
        """The application itself, which would wait for what it is in the middle of."""
        if self._taking == get_ident():
            raise UsedFromInside(self.name)

    def check(self) -> None:
        if self._failure is not None:
            raise ApplicationFailed(*self._failure.args) from self._failure.__cause__

    # The log grows.

    def take(self, batches: Sequence[Batch]) -> None:
        """A group is on disk. One who is still catching up finds it there."""
        with self._lock:
            self._results, self._taking = {}, get_ident()
            for batch in batches:
                if batch.header.base_offset == self._host.offset and self._failure is None:
                    self._apply(batch)
            self._taking = 0

    def _apply(self, batch: Batch) -> None:
        try:
            self._results |= self._host.apply(batch)
        except Exception as error:
            self._fail(error, f"at the batch at offset {batch.header.base_offset}")
        self._due += 1
        self._due_bytes += batch.length

    def _fail(self, error: Exception, where: str) -> None:
        self._failure = ApplicationFailed(self.name, repr(error), where)
        self._failure.__cause__ = error

    def _result(self, offset: int) -> bytes | None:
        """To be asked by the thread that has committed it."""
        return self._results.get(offset)

    # Catching up, and checkpoints.

    @property
    def _document(self) -> str:
        return f"application-{self.name}"

    def catch_up(self) -> None:
        """Go on from the state that was kept, or from the beginning of the log. What an application raises meanwhile is
        raised."""
        with self._lock:
            self._begin()
        while not self._caught_up():
            pass

    def _begin(self) -> None:
        (start, end), version = self._store.bounds(BUCKET), self.application.version
        image = self._kept()
        if image is not None and start <= image.offset <= end and (image.version == version or start):
            self._host.restore(image)
            self._image_bytes = max(1, image.byte_count)
        elif not start:
            self._host.clear()
        elif image is not None and image.version > version:
            raise NewerImage(self.name, image.version, version)
        else:
            raise HistoryGone(self.name, BUCKET, start)
        self._begun = True

    def _kept(self) -> Image | None:
        """The checkpoint, if it is one."""
        with suppress(Corrupt, MsgspecError):
            content = self._store.document(BUCKET, self._document)
            image = decode(content) if content is not None else None
            return image if image is not None and image.name == self.name else None
        return None

    def _caught_up(self) -> bool:
        """A piece of the log more; whether that was the last."""
        with self._lock:
            host = self._host
            if host.offset < self._store.bounds(BUCKET)[1]:
                for batch in self._store.batches(BUCKET, host.offset, REPLAY_BYTES):
                    host.apply(batch)
                    self._due += 1
                    self._due_bytes += batch.length
            return host.offset >= self._store.bounds(BUCKET)[1]

    @property
    def is_due(self) -> bool:
        """The larger the state, the rarer it is kept: that costs by its length."""
        too_many = self._due >= CHECKPOINT_BATCHES + self._image_bytes // 4096
        return too_many or self._due_bytes >= max(CHECKPOINT_BYTES, self._image_bytes)

    def checkpoint(self) -> None:
        """Keep the state, and hold what comes after it. Where that fails the one before is as good, and the log longer
        to replay: whoever appends need not know."""
        if not self._keeping.acquire(blocking=False):
            return
        try:
            with self._lock:
                if self._failure is not None or not self._begun:
                    return
            image, content = self._taken()
            if image is None:
                return
            self._image_bytes = max(1, image.byte_count)
            if len(content) <= DOCUMENT_BYTES_MAX:
                with suppress(StorageError):
                    self._store.write([Keep(BUCKET, self._document, content)])
                    self._store.hold(Hold(self._document, BUCKET, image.offset, FOREVER))
        finally:
            self._keeping.release()

    def _taken(self) -> tuple[Image | None, bytes]:
        """The state as it is now, if it can be read back: what it covers may be dropped from the log."""
        try:
            with self._lock:
                image = self._host.image()
                self._due = self._due_bytes = 0
            content = encode(image)
            decode(content)
        except Exception as error:
            self._fail(error, "when its state was to be kept")
            return None, b""
        return image, content

    def checkpoint_if(self, *, at_all: bool) -> None:
        """When something was applied since the last one, or there is none; or only when that was much."""
        if self.is_due or (at_all and (self._due or not self._image_bytes)):
            self.checkpoint()


class Applications:
    """Those of one log."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._attached: tuple[Attached, ...] = ()

    def attach(self, application: Application, visit: Visit, submit: Submit, hold: HeldInterrupts) -> Attached:
        attached = Attached(application, self._store, visit, submit)
        with self._lock:
            if any(other.name == attached.name for other in self._attached):
                raise AlreadyAttached(attached.name)
            self._attached = (*self._attached, attached)  # from here on it is told what comes
        complete = False
        try:
            hold.exposed(attached.catch_up)
            if not self._store.shelf.read_only:
                attached.checkpoint_if(at_all=True)
            attached.check()
            complete = True
        finally:
            if not complete:
                with self._lock:
                    self._attached = tuple([other for other in self._attached if other is not attached])
        return attached

    def take(self, batches: Sequence[Batch]) -> None:
        for attached in self._attached:
            attached.take(batches)

    def checkpoint(self, *, at_all: bool = False) -> None:
        """Those that are due; or all that have something to keep."""
        for attached in self._attached:
            attached.checkpoint_if(at_all=at_all)
