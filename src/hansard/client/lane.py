"""One bucket as a client submits to it: its stream, the courier that carries it, and the draft that gathers."""

from asyncio import Future
from collections.abc import Sequence
from typing import Protocol

from .callers import Callers, Shares, Singles
from .change import Checked
from .columns import Columns
from .delivery import Delivery
from .receipts import Receipt
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
        """The one that gathers, if it is still the last that waits: nothing overtakes what came after it. It was
        announced when it was begun, and is sent as soon as it may be."""

    def add(self, change: Checked, future: "Future[Receipt]", now: float) -> None:
        """To the single changes that gather."""
        draft = self._open_draft(1, change.byte_count, now)
        callers = draft.callers if draft is not None else None
        if draft is None or not isinstance(callers, Singles):
            callers = Singles([])
            draft = self._begin(callers, now)
        draft.add(change)
        callers.futures.append(future)

    def extend(self, columns: Columns, delivery: Delivery, places: Sequence[int], now: float) -> None:
        """To what gathers of callers with many changes each, all of it into one batch."""
        draft = self._open_draft(len(places), columns.byte_count, now)
        callers = draft.callers if draft is not None else None
        if draft is None or not isinstance(callers, Shares):
            callers = Shares()
            draft = self._begin(callers, now)
        draft.extend(columns)
        callers.add(delivery, places)

    def _open_draft(self, changes: int, byte_count: int, now: float) -> Draft | None:
        draft, settings, waiting = self._draft, self._settings, self.stream.waiting
        if (
            draft is None
            or not waiting
            or waiting[-1] is not draft
            or draft.change_count + changes > settings.batch_changes
            or draft.length + byte_count > settings.batch_bytes
            or draft.open_until < now
        ):
            return None
        return draft

    def _begin(self, callers: Callers, now: float) -> Draft:
        draft = self._draft = Draft(now + self._settings.timeout_s, callers, now + self._settings.draft_s)
        self.put(draft)
        return draft

    def put(self, submission: Submission) -> None:
        self.stream.put(submission)
        self.courier.announce()
