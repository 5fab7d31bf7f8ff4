"""What of a stream is in flight, sent and not answered, and what may be sent beside it. It does no IO."""

from typing import Final

from .settings import Settings
from .submission import Submission

FLIGHT_LITTLE: Final = 8
"""With fewer changes in flight nothing waits for more to be sent with it."""
FULL_BYTES: Final = 64 << 10
"""A batch of so many costs hardly more than its bytes do."""


class Window:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.flight: dict[int, Submission] = {}
        """By the id of the attempt."""
        self.change_count = 0
        self._byte_count = 0

    def admits(self, submission: Submission, under_way: int) -> bool:
        """`under_way`: so many changes were in flight before those that are sent together with it; 0 for what does not
        gather any more."""
        if not self.flight:
            return True
        if len(self.flight) >= self._settings.window_batches:
            return False
        return self._byte_count + submission.length <= self._settings.window_bytes and not _gathers_on(
            submission, under_way
        )

    def send(self, submission: Submission, sent_id: int) -> None:
        submission.sent_id = sent_id
        self.flight[sent_id] = submission
        self._byte_count += submission.length
        self.change_count += submission.change_count

    def land(self, submission: Submission) -> None:
        """It is answered, or given up on."""
        assert submission.sent_id is not None
        del self.flight[submission.sent_id]
        self._byte_count -= submission.length
        self.change_count -= submission.change_count
        submission.sent_id = None


def _gathers_on(submission: Submission, under_way: int) -> bool:
    """Where many changes are under way, few more that follow each answer would be a batch each time: they wait until
    they are as many as those. Where little is under way nobody waits."""
    return (
        submission.batch is None
        and FLIGHT_LITTLE <= under_way > submission.change_count
        and submission.length < FULL_BYTES
    )
