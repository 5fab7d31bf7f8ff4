"""One bucket as a client submits to it: its stream, the courier that carries it, and the draft that gathers."""

from typing import Protocol

from .change import Checked
from .settings import Settings
from .stream import Stream
from .submission import Draft, Submission


class AnyCourier(Protocol):
    """Carries a stream: over the binary protocol (courier.py), or over HTTP (web/courier.py)."""

    stored_end: int
    """After the last change of which a receipt has come; 0 where that does not matter."""

    def announce(self) -> None:
        """Something was submitted."""

    def reroute(self, leader: str | None) -> None:
        """The table says who leads."""

    async def open(self, deadline: float) -> None:
        """Returns when somebody was reached."""

    async def close(self) -> None: ...


class Lane:
    def __init__(self, stream: Stream, courier: AnyCourier, settings: Settings) -> None:
        self.stream = stream
        self.courier = courier
        self._settings = settings
        self._draft: Draft | None = None

    def draft(self, change: Checked, now: float) -> Draft:
        """The one that gathers now, or a new one."""
        draft, settings, waiting = self._draft, self._settings, self.stream.waiting
        if (
            draft is None
            or not waiting
            or waiting[-1] is not draft
            or draft.change_count >= settings.batch_changes
            or draft.length + change.byte_count > settings.batch_bytes
            or draft.open_until < now
        ):
            draft = self._draft = Draft(now + settings.timeout_s, now + settings.draft_s)
            self.stream.put(draft)
        return draft

    def put(self, submission: Submission) -> None:
        self.stream.put(submission)
        self.courier.announce()
