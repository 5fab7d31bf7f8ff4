"""The slow look at all that is stored: damage is found while others still have what it has destroyed.

A thread of its own reads every stored byte, so slowly that nobody notices, and again after a while. What it finds is
handed to the loop, like damage that somebody else meets. It can be told to look at once.
"""

import logging
import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Any, Final

from hansard.storage.errors import Corrupt, StorageError
from hansard.storage.scrub import scrub
from hansard.storage.store import Store

log = logging.getLogger("hansard")

BEGIN_S: Final = 600.0
"""After a start there is other work."""
AGAIN_S: Final = 24 * 3600.0
"""From the end of one to the beginning of the next."""
BYTES_PER_S: Final = 16 << 20
"""A terabyte in less than a day, and a small part of what any disk can read."""


class Stopped(Exception):
    """In the middle of a scrub."""


class Scrubber:
    """`looked` is called in the loop with all the damage that was found."""

    def __init__(self, store: Store, call: Callable[..., object], looked: Callable[[list[Corrupt]], None]) -> None:
        self._store = store
        self._call = call
        self._looked = looked
        self._wake = Event()
        self._stopping = False
        self._begun_s = 0.0
        self._read = 0
        self._last: dict[str, Any] | None = None
        self._thread = Thread(target=self._run, name="hansard-scrubber", daemon=True)
        self._thread.start()

    def look_now(self) -> None:
        """Unless it is looking already."""
        if not self._begun_s:
            self._wake.set()

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()
        self._thread.join()

    def status(self) -> dict[str, Any]:
        return {"running": bool(self._begun_s), "last": self._last}

    def _run(self) -> None:
        wait_s = BEGIN_S
        while True:
            self._wake.wait(wait_s)
            self._wake.clear()
            if self._stopping:
                return
            try:
                self._scrub()
            except Stopped:
                return
            except StorageError as error:  # whoever writes meets it as well
                log.warning("cannot look for damage: %s", error)
            wait_s = AGAIN_S

    def _scrub(self) -> None:
        self._begun_s, self._read = time.monotonic(), 0
        try:
            report = scrub(self._store, progress=self._pace)
        finally:
            took_s, self._begun_s = time.monotonic() - self._begun_s, 0.0
        self._call(self._looked, report.damage)
        found = {"bytes": report.byte_count, "damage": len(report.damage), "seconds": round(took_s, 3)}
        self._last = {**found, "at": int(time.time())}
        level = logging.WARNING if report.damage else logging.INFO
        log.log(level, "looked for damage in %d bytes: found %d", report.byte_count, len(report.damage), extra=found)

    def _pace(self, byte_count: int) -> None:
        """Called for each batch that was read."""
        self._read += byte_count
        ahead_s = self._begun_s + self._read / BYTES_PER_S - time.monotonic()
        if ahead_s > 0:
            time.sleep(min(ahead_s, 1.0))
        if self._stopping:
            raise Stopped
