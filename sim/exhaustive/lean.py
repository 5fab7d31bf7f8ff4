"""What a lean world leaves out of an exact one, because nothing more can come of it.

The exact worlds deliver everything. The large ones would spend nearly all of their states on the ways in which one
thing can be said twice, so they take for granted what the exact ones try out:

- A batch with a commit point is the batch and then the commit point: an `Append` counts as one without it and a
  `Commit`. (Whoever sends the first sends the second as well as soon as it reminds.)
- An `Acknowledge` says how far it reaches and no more. A complaint would only have a batch sent again that is still
  there to be heard, and what else is in it only matters to reminders.
- What cannot be taken is not heard: a batch that the log has, or that does not follow on it, a commit point that is
  known, the Wedge of a term that is followed already from the same side. All that they cause is another word of what
  was said before.
- `Estranged` is not said: it makes its receiver deaf until it has heard a `Wedged` again, and says a Wedge that is
  still there to be heard. Whatever follows could also have been reached without.
"""

from hansard.phaser import Phaser
from hansard.phaser.government import NodeId
from hansard.phaser.message import Acknowledge, Append, Commit, Estranged, Message, Wedge


def plain(message: Message) -> tuple[Message, ...]:
    """What a message amounts to."""
    match message:
        case Append() if message.committed:
            bare = Append(message.term, message.previous_term, message.previous_end, message.batch, 0)
            return bare, Commit(message.term, message.committed)
        case Acknowledge():
            return (Acknowledge(message.term, message.through, message.through, 0, False),)
        case Estranged():
            return ()
        case _:
            return (message,)


def futile(phaser: Phaser, sender: NodeId, message: Message) -> bool:
    """Whether nothing would come of hearing it now."""
    following = phaser.following
    if following is None or message.term != phaser.term or following.upstream != sender:
        return False
    match message:
        case Append():
            return message.previous_end != phaser.ledger.end and not following.foreign
        case Commit():
            return message.committed <= phaser.ledger.commit_known
        case Wedge():
            return following.relay.wedge == message
        case _:
            return False
