"""A client's connection: what it asks for comes in, and the answers of a turn go back in one frame.

The ids that clients give to their requests are theirs, and two clients may use the same ones. So the node numbers all
requests itself, and keeps with each who asked, and what it is called there.
"""

from collections.abc import Callable
from typing import Any, Final, assert_never

from hansard.batch import reopen, verify_at
from hansard.phaser import outcome as phaser
from hansard.phaser.government import NodeId
from hansard.wire import submission as wire
from hansard.wire.codec import Codec
from hansard.wire.errors import MalformedFrame
from hansard.wire.frame import Frame

from .connection import Connection, nothing

UNSENT_BYTES_MAX: Final = 16 << 20
"""Answers that a client does not take; beyond it the connection ends."""

FULL_BYTES: Final = 1 << 20
"""While so much waits to be taken by a client, nothing is taken from it."""

REQUESTS_MAX: Final = 16_384
"""In one frame, and open at once: who has asked for so much that is not answered is not listened to. A frame is handled
as a whole, and everybody else waits for that."""

RECEIPTS_MAX: Final = 1_000
"""In one message, so that what does not fit into one frame can be cut."""


def submission_codec() -> Codec[Any]:
    """What comes from outside is looked at completely, once."""
    return Codec(wire.Submit, verify_at)


def answer_codec() -> Codec[Any]:
    return Codec(wire.Answer, reopen)


class Asker:
    def __init__(
        self,
        connection: Connection,
        asked: Callable[["Asker", Any], None],
        address: Callable[[NodeId], str | None],
        codecs: tuple[Codec[Any], Codec[Any]],
    ) -> None:
        self.connection = connection
        self._asked = asked
        self._address = address
        self._requests, self._answers = codecs
        self._ids: list[int] = []
        self._offsets: list[int] = []
        self._timestamps: list[int] = []
        self._others: list[Any] = []
        self.waiting = False
        """There are answers that this turn has not sent yet."""
        self.open = 0
        """Requests without an answer."""
        self._pressed = False
        self.ready: Callable[[], None] = nothing
        """Called when it takes answers again."""
        connection.limit(FULL_BYTES)
        connection.writable = self._can_take

    def received(self, frame: Frame) -> None:
        requests = self._requests.decode(frame)
        if len(requests) > REQUESTS_MAX:
            raise MalformedFrame(f"{len(requests)} requests in one frame; {REQUESTS_MAX} is the most")
        if not requests:  # it wants to know whether anybody listens
            self.connection.send(self._answers.encode(()))
        self.open += len(requests)
        for request in requests:
            self._asked(self, request)
        self._balance()

    def press(self, *, pressed: bool) -> None:
        """Whether nothing is to be taken from anybody."""
        self._pressed = pressed
        self._balance()

    def _balance(self) -> None:
        """What it sends waits on its side while it has enough of ours to take, or we of its to do."""
        held = self._pressed or self.connection.is_full or self.open >= REQUESTS_MAX
        if held is not self.connection.is_held:
            self.connection.hold(held=held)

    def _can_take(self) -> None:
        self._balance()
        self.ready()

    def answer(self, called: int, outcome: phaser.Outcome) -> None:
        """At the end of this turn, together with all others."""
        self.open -= 1
        if isinstance(outcome, phaser.Stored) and not outcome.repeated:
            self._ids.append(called)
            self._offsets.append(outcome.receipt.offset)
            self._timestamps.append(outcome.receipt.timestamp)
        else:
            self._others.append(self._translated(called, outcome))

    def say(self, answer: Any) -> None:
        """The same for an answer as it goes over the wire."""
        self.open -= 1
        self._others.append(answer)

    def flush(self) -> None:
        self.waiting = False
        answers, self._others = self._others, []
        ids, offsets, timestamps = self._ids, self._offsets, self._timestamps
        if ids:
            self._ids, self._offsets, self._timestamps = [], [], []
            while len(ids) > RECEIPTS_MAX:
                answers.append(wire.Stored(ids[:RECEIPTS_MAX], offsets[:RECEIPTS_MAX], timestamps[:RECEIPTS_MAX]))
                ids, offsets, timestamps = ids[RECEIPTS_MAX:], offsets[RECEIPTS_MAX:], timestamps[RECEIPTS_MAX:]
            answers.append(wire.Stored(ids, offsets, timestamps))
        if self.connection.unsent_bytes > UNSENT_BYTES_MAX:
            self.connection.close()
        elif answers:
            self.connection.send(self._answers.frames(answers))
        self._balance()

    def _translated(self, called: int, outcome: phaser.Outcome) -> wire.Answer:
        match outcome:
            case phaser.Stored():
                receipt = outcome.receipt
                return wire.StoredInPart(called, outcome.repeated, receipt.offset, receipt.timestamp)
            case phaser.Repeated():
                first = outcome.receipt
                return wire.Repeated(called, first.offset if first else None, first.timestamp if first else None)
            case phaser.NotLeader():
                address = self._address(outcome.leader) if outcome.leader is not None else None
                return wire.NotLeader(called, outcome.leader, address, outcome.epoch)
            case phaser.Gap():
                return wire.Gap(called, outcome.expected)
            case phaser.Invalid():
                return wire.Invalid(called, outcome.reason)
            case phaser.Misplaced():
                return wire.Misplaced(called, outcome.buckets)
            case phaser.Unknown():
                return wire.Unknown(called)
            case phaser.Broken():
                return wire.Broken(called)
            case phaser.Expired():
                return wire.Expired(called)
            case phaser.ReadOnly():
                return wire.ReadOnly(called, outcome.node, outcome.reason)
            case phaser.Busy() | phaser.Importing():
                return wire.Busy(called)
            case _:
                assert_never(outcome)
