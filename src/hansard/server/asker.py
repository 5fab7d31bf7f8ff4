"""A client's connection: its submissions come in, and the answers of a turn go back in one frame.

The ids that clients give to their submissions are theirs, and two clients may use the same ones. So the node numbers
all submissions itself, and keeps with each who asked, and what it is called there.
"""

from collections.abc import Callable, Mapping
from typing import Final, assert_never

from hansard.batch import reopen, verify_at
from hansard.phaser import outcome as phaser
from hansard.phaser.government import NodeId
from hansard.wire import submission as wire
from hansard.wire.codec import Codec
from hansard.wire.frame import Frame

from .connection import Connection

UNSENT_BYTES_MAX: Final = 16 << 20
"""Answers that a client does not take; beyond it the connection ends."""

RECEIPTS_MAX: Final = 1_000
"""In one message, so that what does not fit into one frame can be cut."""


def submission_codec() -> Codec[wire.Submit]:
    """What comes from outside is looked at completely, once."""
    return Codec(wire.Submit, verify_at)


def answer_codec() -> Codec[wire.Answer]:
    return Codec(wire.Answer, reopen)


class Asker:
    def __init__(
        self,
        connection: Connection,
        submit: Callable[["Asker", wire.Submit], None],
        addresses: Mapping[NodeId, str],
        codecs: tuple[Codec[wire.Submit], Codec[wire.Answer]],
    ) -> None:
        self.connection = connection
        self._submit = submit
        self._addresses = addresses
        self._submissions, self._answers_codec = codecs
        self._ids: list[int] = []
        self._offsets: list[int] = []
        self._timestamps: list[int] = []
        self._others: list[wire.Answer] = []
        self.waiting = False
        """There are answers that this turn has not sent yet."""

    def received(self, frame: Frame) -> None:
        for submit in self._submissions.decode(frame):
            self._submit(self, submit)

    def answer(self, called: int, outcome: phaser.Outcome) -> None:
        """At the end of this turn, together with all others."""
        if isinstance(outcome, phaser.Stored) and not outcome.repeated:
            self._ids.append(called)
            self._offsets.append(outcome.receipt.offset)
            self._timestamps.append(outcome.receipt.timestamp)
        else:
            self._others.append(self._translated(called, outcome))

    def flush(self) -> None:
        self.waiting = False
        answers, self._others = self._others, []
        ids, offsets, timestamps = self._ids, self._offsets, self._timestamps
        if ids:
            self._ids, self._offsets, self._timestamps = [], [], []
            for first in range(0, len(ids), RECEIPTS_MAX):
                part = slice(first, first + RECEIPTS_MAX)
                answers.append(wire.Stored(ids[part], offsets[part], timestamps[part]))
        if self.connection.unsent_bytes > UNSENT_BYTES_MAX:
            self.connection.close()
        elif answers:
            self.connection.send(self._answers_codec.frames(answers))

    def _translated(self, called: int, outcome: phaser.Outcome) -> wire.Answer:
        match outcome:
            case phaser.Stored():
                receipt = outcome.receipt
                return wire.StoredInPart(called, outcome.repeated, receipt.offset, receipt.timestamp)
            case phaser.Repeated():
                first = outcome.receipt
                return wire.Repeated(called, first.offset if first else None, first.timestamp if first else None)
            case phaser.NotLeader():
                address = self._addresses.get(outcome.leader) if outcome.leader is not None else None
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
            case phaser.Busy():
                return wire.Busy(called)
            case _:
                assert_never(outcome)
