"""What a client has open here besides what the core knows, and what it may do."""

from collections import deque

from msgspec import Struct

from hansard.wire import request as wire

from .access import Badge
from .asker import Asker


class Asked(Struct, frozen=True, gc=False):
    """Who asked, what it is called there, and where it matters for what."""

    asker: Asker
    id: int
    read: wire.Read | None = None
    deadline_us: int = 0

    @property
    def bucket(self) -> int:
        assert self.read is not None
        return self.read.bucket


class Visit:
    __slots__ = ("badge", "later", "pages", "questions", "waiting")

    def __init__(self, badge: Badge) -> None:
        self.badge = badge
        """What it may do."""
        self.pages = 0
        """That are being read."""
        self.later: deque[Asked] = deque()
        """Reads that wait until those are taken."""
        self.waiting: dict[int, int] = {}
        """Of its reads in the lounge their numbers there, and their buckets."""
        self.questions: deque[wire.Ask] = deque()
