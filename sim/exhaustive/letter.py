"""Messages that were sent, and what can still come of them.

Nothing that was said is taken back, so it would seem that every state has to remember all of it. But a promise that is
on disk is never taken back either, whatever crashes. What it rules out can be forgotten:

- an answer under a term below the hearer's promise is not looked at;
- a refusal that names no newer term than the hearer's promise is not looked at;
- an order under a term below the hearer's promise is refused. The refusal may name a yet newer term some day, so one
  such order of each speaker is remembered for all.
"""

from enum import Enum, auto
from typing import NamedTuple, assert_never

from hansard.phaser import Phaser
from hansard.phaser.government import NodeId
from hansard.phaser.message import (
    Acknowledge,
    Append,
    Commit,
    Confirm,
    Confirmed,
    Estranged,
    Message,
    Part,
    PartKept,
    Refuse,
    Wedge,
    Wedged,
)


class Letter(NamedTuple):
    sender: NodeId
    to: NodeId
    message: Message


class Fate(Enum):
    """What can come of delivering a message, now or later."""

    LIVE = auto()
    REFUSED = auto()
    """Nothing but a refusal."""
    DEAD = auto()


def fate(phaser: Phaser, message: Message) -> Fate:
    promised = phaser.ledger.promised_synced
    match message:
        case Append() | Commit() | Confirm() | Part() | Wedge():
            return Fate.REFUSED if message.term < promised else Fate.LIVE
        case Refuse():
            return Fate.DEAD if message.newer <= promised else Fate.LIVE
        case Acknowledge() | Wedged() | Confirmed() | PartKept():
            return Fate.DEAD if message.term < promised else Fate.LIVE
        case Estranged():
            return Fate.LIVE
        case _:
            assert_never(message)
