"""The thread that files: it copies the journal into segments when enough has gathered, while appends go on.

A full disk is the store's own state (`store.full`), left when there is room. Any other failure is kept, and refuses the
appends that follow: what cannot be filed piles up in the journal, and somebody has to know.
"""

import copy
from threading import Event, Thread

from .errors import DiskFull, StorageError
from .store import Store


class Filer:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._wake = Event()
        self._stopping = False
        self.failure: StorageError | None = None
        """What has stopped filing, if anything has."""
        self._start()

    def _start(self) -> None:
        self._thread = Thread(target=self._run, name="hansard-filer", daemon=True)
        self._thread.start()

    def resume(self) -> None:
        """What had stopped filing is settled."""
        if self.failure is not None:
            self.failure = None
            self._start()

    def look(self) -> None:
        """To be called after each append."""
        if self._store.filing_due:
            self._wake.set()

    def check(self) -> None:
        """Raises what has stopped filing, if anything has."""
        if self.failure is not None:
            raise copy.copy(self.failure) from self.failure

    def stop(self) -> None:
        """Waits for a filing that is under way."""
        self._stopping = True
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            if self._stopping:
                return
            try:
                if self._store.filing_due:
                    self._store.file()
            except DiskFull:
                continue
            except StorageError as error:
                self.failure = error
                return
