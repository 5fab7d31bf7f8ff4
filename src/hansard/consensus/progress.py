"""How far one participant has come, as its leader knows."""

from collections import deque

from .cluster import Peer
from .snapshot import Snapshot


class Transfer:
    """A state that is being sent, one part after the other."""

    __slots__ = ("kept", "snapshot")

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.kept = 0
        """Parts that are on the other's disk."""

    @property
    def done(self) -> bool:
        return self.kept >= self.snapshot.collection.total


class Progress:
    """Invariant: `through <= next`; all before `through` is on its disk, whatever happens to it in this life.

    It is `introduced` once something that was sent has matched: before, one message at a time goes out."""

    __slots__ = (
        "asked",
        "commit_sent",
        "flight",
        "heard_us",
        "introduced",
        "next",
        "peer",
        "progress_us",
        "round",
        "sent_us",
        "through",
        "transfer",
    )

    def __init__(self, peer: Peer, next: int, now_us: int) -> None:
        self.peer = peer
        self.next = next
        self.through = 0
        self.introduced = False
        self.flight: deque[int] = deque()
        """Where the messages end that are under way with entries."""
        self.asked = next
        """Where it was last asked whether its log matches, before it is introduced."""
        self.transfer: Transfer | None = None
        self.round = 0
        """The last one that it has answered."""
        self.heard_us = now_us
        self.progress_us = now_us
        """When it last came further, or was tried again."""
        self.sent_us = -1
        """When something was last sent; never, if negative."""
        self.commit_sent = 0

    def restart(self, next: int, now_us: int) -> None:
        """What was under way may be lost, or did not fit."""
        self.next = max(next, self.through)
        self.flight.clear()
        self.introduced = False
        self.progress_us = now_us

    def came(self, through: int, now_us: int) -> None:
        if through > self.through:
            self.through, self.progress_us = through, now_us
            self.next = max(self.next, through)
        while self.flight and self.flight[0] <= self.through:
            self.flight.popleft()
        if self.through >= self.next:
            self.introduced = True

    def sent(self, end: int, now_us: int) -> None:
        if not self.flight:
            self.progress_us = now_us
        self.flight.append(end)
        self.next = end
