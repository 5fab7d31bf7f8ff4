"""What a lean world leaves out of an exact one, because nothing more can come of it.

Nothing that was said is lost, and everything may be heard at any time and any number of times. So it does no harm to
have said more, and earlier: at worst, more is looked at than can happen.

- *A leader says at any time all that its log has*, entry by entry, with every commit point by itself, and that it
  leads. An `Append` with several entries is as good as one after the other, one with a commit point as good as the
  entries and then the commit point, as far as it is matched; claims.py tries that out. So what a leader knows of how
  far others have come makes no difference to what it sends, and complaints none at all. That what it really sends is
  in its log is checked.
- *An `Appended` says how far it reaches*, and in which term.
- *Asking whether one would be elected binds nobody*, and is done at one blow with what comes of it: somebody grants it,
  whether or not anybody would have; or somebody names a later term; or the one who asks gives its vote to another one,
  which it could not do while it followed, and may be granted it afterwards. If none of it happens, nothing has.
- *Everybody tells everybody in which term it is*, as it tells those who ask to be elected, and leaders of old. Whoever
  has ever lost its patience hears it, and so does who leads, for it had to ask first.
- *Who grants a vote or a pre-vote, or names a later term, makes no difference*: with three voters or two, one other is
  a majority. So they all come from the same one.

What only makes somebody know more is heard at once: whoever knows more can do all that it could, and more of what
everybody checks. That is what is committed, and what others have on disk; and for one that has voted in its term, who
leads that term: it could only have said its vote again, and the term is won already.

Messages of which nothing can come are forgotten: see `dead`. A promise that is on disk is never taken back, whatever
crashes, so what it rules out it rules out for good.

A restart that makes no difference is none: one that forgets nothing but what it knew, and was not leading, and not
following without having voted, could have done the same things as before.
"""

from collections.abc import Sequence

from hansard.consensus.cluster import NodeId
from hansard.consensus.consensus import Consensus
from hansard.consensus.content import Proposal
from hansard.consensus.leader import Leader
from hansard.consensus.message import Append, Appended, Ask, Directions, Message, Offer, PreAsk, PreVote, Vote
from hansard.consensus.role import Role

from .participant import Participant, Word


def plain(core: Consensus, words: Sequence[Word]) -> list[Word]:
    """What the words of a turn amount to, apart from what is said all the time."""
    found: list[Word] = []
    for to, message in words:
        match message:
            case Append():
                _check_truth(core, message)
            case Appended() if message.through:
                found.append((to, Appended(message.term, 0, message.through, 0, 0, missing=False)))
            case Appended() | Directions() | PreAsk() | PreVote() | Vote(granted=False):
                pass
            case Ask() | Vote():
                found.append((to, message))
            case _:
                raise AssertionError(f"not expected here: {message}")
    return found


def standing(core: Consensus) -> list[Word]:
    """What can be said at any time, to everybody."""
    if core.ledger.persisted_ticket < core._silent_until:
        return []
    said: list[Message] = [PreVote(core.term, granted=False)] if core.term else []
    if core.seat.leading is not None:
        said += _pieces(core)
    return [(voter.node, message) for voter in core.voters if voter.node != core.me for message in said]


def _pieces(core: Consensus) -> list[Append]:
    log, term = core.log, core.term
    found = [Append(term, log.start, log.start_term, (), 0, 0)]
    for index, entry in enumerate(log.entries, log.start):
        previous = log.term_before(index)
        assert previous is not None
        found.append(Append(term, index, previous, (entry,), 0, 0))
        if index < core.committed:
            found.append(Append(term, index + 1, entry.term, (), index + 1, 0))
    return found


def _check_truth(core: Consensus, append: Append) -> None:
    log = core.log
    assert core.seat.leading is not None and append.term == core.term, "who says it leads"
    assert append.previous_term == log.term_before(append.start), "what is said follows on the log"
    place = append.start - log.start
    assert list(append.entries) == log.entries[place : place + len(append.entries)], "what is said is in the log"
    assert append.committed <= core.committed, "what is said to be committed is"


def unsigned(message: Message) -> bool:
    """Whether it makes no difference who says it."""
    return isinstance(message, (PreVote, Vote))


def dead(participant: Participant, sender: NodeId, message: Message) -> bool:
    """Whether nothing can come of it, now or later, apart from a refusal."""
    core, note = participant.core, participant.drive.platter.note
    promised = min(note.term, core.term)
    match message:
        case Ask():
            given = note.vote if note.term == message.term and note.vote == core.vote else None
            return message.term < promised or (given is not None and given.node != sender)
        case PreVote():
            return message.term <= promised
        case Vote():
            election = core.seat.election
            asking = election is not None and election.earnest and election.term == message.term
            return message.term <= promised and not asking
        case Append():
            return message.term < promised or _answered(participant, sender, message)
        case Appended():
            leading = core.seat.leading
            if leading is None:
                return message.term <= promised
            return message.term < promised or (
                message.term == core.term and message.through <= _through(leading, sender)
            )
        case Offer():
            settled = core.log.entries[: core.committed - core.log.start]
            return any(entry.content in message.contents for entry in settled)
        case _:
            return False


def _answered(participant: Participant, sender: NodeId, append: Append) -> bool:
    """It is an entry that is on disk as its leader has it, and the leader was told."""
    core, following = participant.core, participant.core.seat.following
    if not append.entries or following is None or append.term != core.term or participant.drive.waiting:
        return False
    return following.leader.node == sender and min(following.matched, core.synced) > append.start


def _through(leading: Leader, node: NodeId) -> int:
    return max([progress.through for progress in leading.peers.values() if progress.peer.node == node], default=0)


def only_knows_more(before: Participant, after: Participant) -> bool:
    """Whether a step has changed nothing but what is known, and what will be said once something is on disk; or else
    has made one follow a leader that was free to do so."""
    one, other = before.core, after.core
    if (one.term, one.vote, one.role) != (other.term, other.vote, other.role) or before.drive != after.drive:
        return False
    if one.leader != other.leader:
        return one.role is Role.FOLLOWER and one.vote is not None and not one.leader
    pairs = list(zip(_knowledge(one), _knowledge(other), strict=True))
    return all(less <= more for less, more in pairs) and any(less < more for less, more in pairs)


def _knowledge(core: Consensus) -> tuple[int, int, int]:
    seat = core.seat
    reached = 0
    if seat.following is not None:
        reached = seat.following.matched
    elif seat.leading is not None:
        reached = sum([progress.through for progress in seat.leading.peers.values()])
    return core.committed, reached, len(seat._waiting)


def forgets_nothing(before: Participant, restarted: Participant) -> bool:
    """Whether whatever one can do after a restart, it could have done without."""
    core = before.core
    if before.drive.waiting or restarted.drive.waiting or core.role is Role.LEADER:
        return False
    if core.vote is None and core.leader:
        return False
    return _kept(before) == _kept(restarted)


def _kept(participant: Participant) -> object:
    """What a restart must leave as it was, in memory and on disk."""
    core, platter = participant.core, participant.drive.platter
    memory = (core.term, core.vote, core.synced, core.log.entries)
    return participant.voted, memory, platter.note.term, platter.note.vote, platter.entries


def proposal_in(message: Message) -> Proposal | None:
    if isinstance(message, Offer):
        (content,) = message.contents
        assert isinstance(content, Proposal)
        return content
    return None
