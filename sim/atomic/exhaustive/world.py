"""A small world: who votes, how often somebody loses patience, what is proposed, and what fails.

A council of a few is settled, in nobody's term. Those who propose take part and have no vote: what they offer may come
to anybody, at any time and any number of times, which is what becomes of an offer that is repeated and passed on.
"""

from collections.abc import Sequence

from msgspec import Struct

from hansard.consensus.cluster import ClusterId, NodeId, Peer
from hansard.consensus.content import Arrive, Proposal
from hansard.consensus.message import Offer
from hansard.consensus.recovered import STATE, NoteContent, State, encode
from hansard.consensus.roster import Roster

from .drive import Drive, Platter

CLUSTER = ClusterId("small")
LIFE = 1
SESSION = 1
"""Of the process with which everybody begins."""
BASE = 1
"""Where the log begins: what was before is in the state."""


class World(Struct, frozen=True, kw_only=True):
    name: str
    story: str
    voters: tuple[NodeId, ...] = ("a", "b", "c")
    terms_max: int
    timeouts_max: int
    """Of each voter: how often it does not hear a leader, or as a leader a majority, for too long."""
    proposers: tuple[NodeId, ...] = ()
    """Who proposes one after the other; none of them votes."""
    crashes_max: int = 0
    slow: bool = False
    """A disk takes its time: other things happen before a write is persisted."""
    exact: bool = False
    """Nothing of what lean.py tells is left out."""
    tried: bool = False
    """What lean.py claims of an `Append` is tried out; see claims.py."""
    symmetric: bool = True
    """States that differ only in who is who are one state; see views.py."""
    covering: bool = True
    """States that were reached with fewer timeouts and crashes stand for those with more; see tolls.py."""
    sometimes: tuple[str, ...] = ()
    """What must have happened somewhere."""

    def __post_init__(self) -> None:
        assert 2 <= len(self.voters) <= 3, "one other vote is a majority, and lean.py relies on it"
        assert not (self.tried and (self.exact or self.slow)), "it compares what is on disk at once"
        assert not set(self.voters) & set(self.proposers)

    def drive(self) -> Drive:
        """Everybody's disk in the beginning."""
        roster = Roster()
        voters = [Peer(name, LIFE) for name in self.voters]
        for peer in [*voters, *[Peer(name, LIFE) for name in dict.fromkeys(self.proposers)]]:
            roster.apply(Arrive(peer=peer, address=peer.node, session=SESSION, origin=LIFE))
        state = State(BASE, 0, tuple(voters), roster.image())
        note = NoteContent(cluster=CLUSTER, life=LIFE)
        return Drive(Platter(note, BASE, (), ((STATE, encode(state)),)))

    def offers(self) -> Sequence[tuple[NodeId, Offer]]:
        """Who proposes, and what comes of it to somebody."""
        found = []
        for place, proposer in enumerate(self.proposers):
            number = self.proposers[: place + 1].count(proposer)
            proposal = Proposal(Peer(proposer, LIFE), SESSION, number, b"%d" % (place + 1))
            found.append((proposer, Offer((proposal,), passed=True)))
        return found


def number_of(proposal: Proposal) -> int:
    """Of all that are made, from 1 on."""
    return int(proposal.content)
