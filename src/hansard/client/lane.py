"""One bucket as a client submits to it: its stream, the courier that carries it, and the draft that gathers."""

from .change import Checked
from .courier import Courier
from .settings import Settings
from .stream import Stream
from .submission import Draft, Submission


class Lane:
    def __init__(self, stream: Stream, courier: Courier, settings: Settings) -> None:
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
