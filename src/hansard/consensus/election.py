"""Asking to be elected: first whether one would be, which binds nobody and changes no term, and then in earnest.

So whoever comes back from a partition, or is not wanted any more, does not depose a leader that others hear.
"""

from .cluster import Peer
from .ledger import Ledger
from .message import Ask, PreAsk
from .post import Post
from .role import majority


class Election:
    """One attempt, of one of the two kinds."""

    def __init__(self, me: Peer, ledger: Ledger, post: Post, *, earnest: bool, abdicated: bool = False) -> None:
        self.me = me
        self.ledger = ledger
        self.post = post
        self.earnest = earnest
        self._abdicated = abdicated
        self._votes: set[Peer] = set()
        self._asked = False
        self.term = ledger.term + 1
        """That it is about."""
        if earnest:
            ledger.promise(self.term, me)
        self._ticket = ledger.promised_ticket if earnest else 0

    def go_on(self) -> None:
        """Our own vote counts when it is on disk, as everybody's does."""
        ledger = self.ledger
        if self._asked or ledger.persisted_ticket < self._ticket:
            return
        self._asked = True
        self._votes.add(self.me)
        end, last_term = ledger.log.end, ledger.log.last_term
        for voter in ledger.log.voters:
            if voter != self.me:
                if self.earnest:
                    self.post.send(voter, Ask(self.term, end, last_term, self._abdicated))
                else:
                    self.post.send(voter, PreAsk(self.term, end, last_term))

    def granted(self, voter: Peer, *, earnest: bool) -> None:
        if earnest == self.earnest:
            self._votes.add(voter)

    @property
    def won(self) -> bool:
        voters = self.ledger.log.voters
        return len([voter for voter in voters if voter in self._votes]) >= majority(len(voters))


def up_to_date(end: int, last_term: int, ledger: Ledger) -> bool:
    """Whether a log is at least as good as ours: whoever is elected must have all that is committed."""
    return (last_term, end) >= (ledger.log.last_term, ledger.log.end)
