"""The part that a participant has in the present term, how it gets and loses it, and what waits for the disk.

    follower    hears a leader, or waits for one; learns the log, with a vote or without
    candidate   has not heard one for too long, and asks to be elected
    leader      its log is the log (leader.py)

Invariant: at most one of `leading`, `following` and `election` is there.
"""

from collections.abc import Callable

from .cluster import NodeId, Peer
from .election import Election, up_to_date
from .following import Following
from .leader import Leader
from .ledger import Ledger
from .message import Abdicate, Append, Appended, Ask, Message, Part, PartKept, PreAsk, PreVote, Vote
from .post import Post
from .role import Role
from .settings import Settings


class Seat:
    def __init__(
        self, peer: Peer, settings: Settings, ledger: Ledger, post: Post, jitter: Callable[[], float], now_us: int
    ) -> None:
        self.peer = peer
        self.settings = settings
        self.ledger = ledger
        self.post = post
        self._jitter = jitter
        self.now_us = now_us
        self.leading: Leader | None = None
        self.following: Following | None = None
        self.election: Election | None = None
        self.heard_us = now_us
        """When the leader was last heard."""
        self._last_leader: tuple[NodeId, int] = ("", now_us)
        """Who led last, as far as was heard here, and when that was."""
        self.deadline_us = 0
        """When not to wait for a leader any longer."""
        self._wait_for_leader()
        self._waiting: list[tuple[int, Peer, Message]] = []
        """Messages that have to wait for a ticket."""

    @property
    def role(self) -> Role:
        if self.leading is not None:
            return Role.LEADER
        return Role.CANDIDATE if self.election is not None else Role.FOLLOWER

    @property
    def leader(self) -> NodeId:
        if self.leading is not None:
            return self.peer.node
        return self.following.leader.node if self.following is not None else ""

    @property
    def votes(self) -> bool:
        """By any council that may count: a log with our own removal may be the only one that can win (Ongaro's thesis,
        4.2.2)."""
        return self.ledger.log.may_vote(self.peer, self.ledger.committed)

    @property
    def hears_leader(self) -> bool:
        if self.leading is not None:
            return True
        return self.following is not None and self.now_us - self.heard_us < self.settings.election_us

    def at(self, now_us: int, missed_us: int) -> None:
        """A turn begins. If nobody looked for a while, what was not heard then may have been said."""
        self.now_us = now_us
        if missed_us > 0:
            self.heard_us += missed_us
            self.deadline_us += missed_us
            self._last_leader = (self._last_leader[0], self._last_leader[1] + missed_us)
        if self.leading is not None:
            self.leading.now_us = now_us
            if missed_us > 0:
                self.leading.forgive(missed_us)

    # The disk.

    def persisted(self, ticket: int) -> None:
        self.ledger.persisted(ticket)
        due = [waiting for waiting in self._waiting if waiting[0] <= ticket]
        self._waiting = [waiting for waiting in self._waiting if waiting[0] > ticket]
        for _, to, message in due:
            self.post.send(to, message)

    def _say_after(self, ticket: int, to: Peer, message: Message) -> None:
        if ticket <= self.ledger.persisted_ticket:
            self.post.send(to, message)
        else:  # what was to be said before is said better now
            kept = [waiting for waiting in self._waiting if (waiting[1], type(waiting[2])) != (to, type(message))]
            self._waiting = [*kept, (ticket, to, message)]

    # Changing parts.

    def _wait_for_leader(self) -> None:
        self.deadline_us = self.now_us + int(self.settings.election_us * (1 + self._jitter()))

    def follow_nobody(self, term: int) -> None:
        """In a term whose leader is not known, or is not heard any more."""
        if term > self.ledger.term:
            self.ledger.promise(term)
        self.leading = self.following = self.election = None
        self._wait_for_leader()

    def _follow(self, leader: Peer, term: int) -> Following:
        following = self.following
        if following is None or term > self.ledger.term or following.leader != leader:
            assert self.leading is None or term > self.ledger.term, "one leader for each term"
            self.follow_nobody(term)
            self.following = following = Following(leader, self.ledger)
        self.heard_us = self.now_us
        self._last_leader = (leader.node, self.now_us)
        self._wait_for_leader()
        return following

    def heard(self, node: NodeId) -> None:
        """Who led before is there, whatever it says now."""
        if node == self._last_leader[0]:
            self._last_leader = (node, self.now_us)

    def campaign(self, *, earnest: bool, abdicated: bool = False) -> None:
        self.leading = self.following = None
        self.election = Election(self.peer, self.ledger, self.post, earnest=earnest, abdicated=abdicated)
        self._wait_for_leader()

    def count_votes(self) -> None:
        """To be called whenever there may be more of them."""
        election = self.election
        if election is None:
            return
        election.go_on()
        if not election.won:
            return
        if election.earnest:
            self.election = None
            self.leading = Leader(self.peer, self.ledger, self.post, self.now_us, self._last_leader)
            self._last_leader = ("", 0)
        else:
            self.campaign(earnest=True)
            self.count_votes()

    def tick(self) -> None:
        """Whoever waits too long for a leader tries to become it; a leader that nobody hears gives up."""
        leading = self.leading
        if leading is not None:
            if leading.heard_majority():
                leading.watch_leases()
                leading.keep_council()
                leading.remind()
            else:
                self.follow_nobody(self.ledger.term)
        elif self.now_us >= self.deadline_us or self._alone:
            if self.votes:
                self.campaign(earnest=False)
            else:
                self.follow_nobody(self.ledger.term)

    @property
    def _alone(self) -> bool:
        """There is nobody to wait for."""
        return self.election is None and self.ledger.log.voters == (self.peer,)

    def finish(self) -> None:
        """What is said at the end of a turn."""
        self.count_votes()
        leading, following = self.leading, self.following
        if leading is not None:
            self._lead_on(leading)
        elif following is not None:
            answer = following.answer()
            if answer is not None:
                self._say_after(self.ledger.promised_ticket, following.leader, answer)

    def _lead_on(self, leading: Leader) -> None:
        leading.attend()
        leading.confirm()
        leading.help_heir()
        leading.pump()
        if not self.votes:
            leading.hand_over("")  # our own removal is committed: somebody else leads from here on
            leading.help_heir()
            self.follow_nobody(self.ledger.term)

    # What others say.

    def received(
        self,
        sender: Peer,
        message: PreAsk | PreVote | Ask | Vote | Append | Appended | Part | PartKept | Abdicate,
    ) -> None:
        term = self.ledger.term
        match message:
            case PreAsk():
                self._pre_ask(sender, message)
            case Ask():
                self._ask(sender, message)
            case Append() | Part():
                if message.term < term:  # a leader of old that has to learn it
                    self._say_after(self.ledger.promised_ticket, sender, Appended(term, 0, 0, 0, 0, missing=False))
                else:
                    self._hear(self._follow(sender, message.term), sender, message)
            case PreVote() | Vote():
                self._voted(sender, message)
            case Appended() | PartKept():
                self._came_back(sender, message)
            case Abdicate():
                following = self.following
                if message.term == term and following is not None and following.leader == sender and self.votes:
                    self.campaign(earnest=True, abdicated=True)

    def _pre_ask(self, sender: Peer, message: PreAsk) -> None:
        ledger = self.ledger
        granted = (
            message.term > ledger.term and not self.hears_leader and up_to_date(message.end, message.last_term, ledger)
        )
        self.post.send(sender, PreVote(message.term if granted else ledger.term, granted))

    def _ask(self, sender: Peer, message: Ask) -> None:
        ledger = self.ledger
        if message.term > ledger.term:
            if self.hears_leader and not message.abdicated:
                return  # check-quorum: whoever hears a leader takes no part in deposing it
            self.follow_nobody(message.term)
        granted = (
            message.term == ledger.term
            and ledger.vote in (None, sender)
            and self.following is None
            and up_to_date(message.end, message.last_term, ledger)
        )
        if granted and ledger.vote is None:
            ledger.promise(message.term, sender)
            self._wait_for_leader()
        self._say_after(ledger.promised_ticket, sender, Vote(ledger.term, granted))

    def _voted(self, sender: Peer, message: PreVote | Vote) -> None:
        election = self.election
        if sender not in self.ledger.log.voters:
            return
        if not message.granted and message.term > self.ledger.term:
            self.follow_nobody(message.term)
        elif election is not None and message.granted and message.term == election.term:
            election.granted(sender, earnest=isinstance(message, Vote))

    def _hear(self, following: Following, sender: Peer, message: Append | Part) -> None:
        if isinstance(message, Append):
            following.append(message)
        else:
            kept = following.part(message)
            if kept is not None:
                self._say_after(self.ledger.mark, sender, kept)

    def _came_back(self, sender: Peer, message: Appended | PartKept) -> None:
        leading = self.leading
        progress = leading.peers.get(sender) if leading is not None else None
        if leading is None or progress is None:
            return
        if message.term > self.ledger.term:
            self.follow_nobody(message.term)
        elif message.term == self.ledger.term:
            if isinstance(message, Appended):
                leading.appended(progress, message)
            else:
                leading.part_kept(progress, message)
