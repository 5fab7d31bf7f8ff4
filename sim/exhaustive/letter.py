"""Messages that were sent, and what can still come of them.

Nothing that was said is taken back, so it would seem that every state has to remember all of it. But a promise that is
on disk is never taken back either, whatever crashes. What it rules out can be forgotten:

- an answer under a term below the hearer's promise is not looked at;
- a refusal that names no newer term than the hearer's promise is not looked at;
- an order under a term below the hearer's promise is refused. The refusal may name a yet newer term some day, so one
  such order of each speaker is remembered for all.

A leader that restarts begins another term, so what it has heard within its term it has heard for good:

- an acknowledgement that reaches no further than those before it is not looked at;
- nor is anything from one whom it does not feed, once the newcomers count: from then on it feeds the same ones.
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


def fate(phaser: Phaser, letter: Letter) -> Fate:
    message, promised = letter.message, phaser.ledger.promised_synced
    match message:
        case Append() | Commit() | Confirm() | Part() | Wedge():
            return Fate.REFUSED if message.term < promised else Fate.LIVE
        case Refuse():
            return Fate.DEAD if message.newer <= promised else Fate.LIVE
        case Acknowledge() | Wedged() | Confirmed() | PartKept():
            return Fate.DEAD if message.term < promised or _no_news(phaser, letter.sender, message) else Fate.LIVE
        case Estranged():
            return Fate.LIVE
        case _:
            assert_never(message)


def _no_news(phaser: Phaser, sender: NodeId, message: Acknowledge | Wedged | Confirmed | PartKept) -> bool:
    leading = phaser.leading
    if leading is None or leading.relay is None or leading.term != message.term:
        return False
    feed = leading.relay.feeds.get(sender)
    if feed is None:
        return leading.expanded
    return isinstance(message, Acknowledge) and not message.missing and message.through <= feed.through
