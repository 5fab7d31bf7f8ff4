"""One participant to whom batches are passed on: how far it is, and what is under way to it.

not introduced   the Wedge was sent, or has to be sent again; nothing is known of the other's log
snapshot         its log is of no use; it gets the state in parts, one at a time, and then the log from its beginning
streaming        batches are sent one after the other, a bounded number of bytes ahead of its acknowledgements
"""

from collections import deque

from .government import NodeId
from .snapshot import Snapshot


class Transfer:
    """A snapshot on its way to a copy that has none."""

    __slots__ = ("kept", "snapshot")

    def __init__(self, snapshot: Snapshot, kept: int) -> None:
        self.snapshot = snapshot
        self.kept = kept
        """Parts that the other one has on disk."""

    @property
    def done(self) -> bool:
        return self.kept == self.snapshot.collection.total


class Feed:
    """Invariant: `flight` holds the ends and lengths of what was sent and not acknowledged, in order, and
    `flight_bytes` is their sum."""

    __slots__ = (
        "asked_us",
        "commit_sent",
        "commit_there",
        "complaint",
        "complaint_us",
        "confirmed",
        "fetching",
        "flight",
        "flight_bytes",
        "floor",
        "introduced",
        "next",
        "node",
        "patience_us",
        "probed_us",
        "progress_us",
        "resend_us",
        "through",
        "transfer",
    )

    def __init__(self, node: NodeId, now_us: int, resend_us: int) -> None:
        self.node = node
        self.resend_us = resend_us
        self.patience_us = resend_us
        """Without progress for this long, what is under way is taken for lost."""
        self.introduced = False
        self.transfer: Transfer | None = None
        self.next = 0
        """The offset of the batch to be sent next."""
        self.through = -1
        """Everything before this is on its disk, and on the disks behind it. Never falls within a term."""
        self.floor = 0
        """Where its log ended when it last said so: it has everything before, unless it restarts, and then it tells."""
        self.flight: deque[tuple[int, int]] = deque()
        self.flight_bytes = 0
        self.complaint = -1
        """Where its log ended when it last complained that something is missing, and when that was."""
        self.complaint_us = 0
        self.fetching = False
        self.commit_sent = 0
        self.commit_there = 0
        """What it is known to know as committed."""
        self.confirmed = 0
        """The last round in which it confirmed the term."""
        self.asked_us = now_us
        """When it was last asked to confirm."""
        self.probed_us = now_us
        """When it was last reminded."""
        self.progress_us = now_us
        """When something last came of what was sent."""

    @property
    def streaming(self) -> bool:
        return self.introduced and self.transfer is None

    @property
    def wanted(self) -> int:
        """From here on the log is needed for it."""
        if self.transfer is not None:
            return self.transfer.snapshot.collection.start
        return max(self.through, self.floor)

    def restart(self, offset: int) -> None:
        """Go on from this offset, or from what is acknowledged; what was under way is not counted on."""
        self.next = max(offset, self.through)
        while self.flight and self.flight[-1][0] > self.next:
            self.flight_bytes -= self.flight.pop()[1]
        self.fetching = False

    def complains_anew(self, end: int, now_us: int) -> bool:
        """Whether a complaint is to be heard, or is the same one again: then what it asks for is under way."""
        if end == self.complaint and 4 * (now_us - self.complaint_us) < self.resend_us:
            return False
        self.complaint, self.complaint_us = end, now_us
        return True

    def seems_lost(self, end: int, now_us: int) -> bool:
        """It has answered, and has got nothing for long. It may be slow: each time it is waited for twice as long, or a
        slow way would fill with copies."""
        if end > max(self.floor, self.through):
            self.progress_us = now_us
        if end >= self.next or now_us - self.progress_us < self.patience_us:
            return False
        self.progress_us = now_us
        self.patience_us = min(2 * self.patience_us, 16 * self.resend_us)
        return True

    def sent(self, end: int, length: int) -> None:
        self.next = end
        self.flight.append((end, length))
        self.flight_bytes += length

    def acknowledged(self, through: int, now_us: int) -> bool:
        """Says whether that was news."""
        if through <= self.through:
            return False
        self.through, self.progress_us = through, now_us
        while self.flight and self.flight[0][0] <= through:
            self.flight_bytes -= self.flight.popleft()[1]
        if self.next < through:  # what was to be sent again has come after all
            self.next, self.fetching = through, False
        if not self.flight:
            self.patience_us = self.resend_us
        return True
