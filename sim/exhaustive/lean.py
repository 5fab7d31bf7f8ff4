"""What a lean world leaves out of an exact one, because nothing more can come of it.

The exact worlds deliver everything. The large ones would spend nearly all of their states on the ways in which one
thing can be said twice, so they take for granted what the exact ones try out:

- A batch with a commit point is the batch and then the commit point: an `Append` counts as one without it and a
  `Commit`. (Whoever sends the first sends the second as well as soon as it reminds.)
- An `Acknowledge` says how far it reaches and no more. A complaint would only have a batch sent again that is still
  there to be heard, and what else is in it only matters to reminders.
- A `Wedged` counts as one and an `Acknowledge`. (Whoever says the first says the second as soon as it is reminded.) So
  of those of one term, the one with the shortest log serves for all: it has everything sent that the others would have.
- A `Refuse` says which term is newer and no more.
- What cannot be taken is not heard: a batch that the log has, or that does not follow on it, a commit point that is
  known, the Wedge of a term that is followed already. All that they cause is another word of what was said before. They
  are heard where they come from the one who feeds this copy by now, and another one did before: it is answered then.
- `Estranged` is not said: it makes its receiver deaf until it has heard a `Wedged` again, and says a Wedge that is
  still there to be heard. Whatever follows could also have been reached without.
"""

from hansard.phaser import Phaser
from hansard.phaser.government import NO_TERM, NodeId, upstream
from hansard.phaser.message import Acknowledge, Append, Commit, Estranged, Message, Refuse, Wedge, Wedged


def plain(message: Message) -> tuple[Message, ...]:
    """What a message amounts to."""
    match message:
        case Append() if message.committed:
            bare = Append(message.term, message.previous_term, message.previous_end, message.batch, 0)
            return bare, Commit(message.term, message.committed)
        case Acknowledge():
            if message.through < 0:
                return ()
            return (Acknowledge(message.term, message.through, message.through, 0, False),)
        case Wedged() if message.stated and message.through >= 0:
            return message, Acknowledge(message.term, message.through, message.through, 0, False)
        case Refuse():
            return (Refuse(NO_TERM, message.newer),)
        case Estranged():
            return ()
        case _:
            return (message,)


def futile(phaser: Phaser, sender: NodeId, message: Message) -> bool:
    """Whether nothing would come of hearing it now."""
    following = phaser.following
    if following is None or message.term != phaser.term:
        return False
    wedge = following.relay.wedge
    if sender != following.upstream and sender == upstream(wedge.government, phaser.me, expanded=wedge.expanded):
        return False  # from now on it is answered
    match message:
        case Append():
            return message.previous_end != phaser.ledger.end and not following.foreign
        case Commit():
            return message.committed <= phaser.ledger.commit_known
        case Wedge():
            return wedge == message or (wedge.expanded and not message.expanded)
        case _:
            return False


def serves_for(message: Message, other: Message, start: int) -> bool:
    """Whether all that can come of the other one can come of this one, as long as the other's acknowledgement is there;
    both by one participant to one whose log begins at an offset."""
    match message, other:
        case Wedged(), Wedged():
            if message.term != other.term or not (message.stated and other.stated):
                return False
            return message.end is not None and other.end is not None and start <= message.end <= other.end
        case _:
            return False
