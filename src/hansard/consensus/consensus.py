"""One participant's part in the atomic log: events in, effects out.

Nothing is said before what it promises is on disk: such messages wait for their ticket. Time decides when somebody asks
to be elected, is proposed for departure, or is sent something again; what is committed never depends on it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, assert_never

from .arrival import Arrival
from .cluster import NodeId, Peer
from .content import Arrive, Arrived, Content, Depart, Moved, Upgrade, Why
from .door import Verdict, admissible, judged
from .effect import AnswerRead, Departing, Effect, Led, Left, Outdated, Refused, Settled, Strange, Superseded
from .event import Event, Leave, Persisted, Propose, Raise, Read, Received, Tick, Transfer
from .ledger import Ledger
from .machine import Machine
from .message import Abdicate, Append, Directions, Envelope, Gone, Message, Offer, Part, ReadAsk, ReadAt
from .post import Post
from .proposals import Proposals
from .reads import Reads
from .recovered import Recovered
from .roster import Roster
from .seat import Seat
from .settings import Settings
from .view import View

CONTACTS_MAX: Final = 16
"""That somebody who asks for directions is told."""


class Consensus(View):
    def __init__(
        self,
        me: NodeId,
        address: str,
        settings: Settings,
        machine: Machine,
        recovered: Recovered,
        *,
        jitter: Callable[[], float],
        draw_life: Callable[[], int],
        now_us: int,
        seeds: Sequence[str] = (),
        zone: str = "",
        rules_max: int = 1,
        inventory: bytes = b"",
    ) -> None:
        self.me = me
        self.address = address
        self.settings = settings
        self.now_us = now_us
        self._draw_life = draw_life
        self.effects: list[Effect] = []
        self.ledger = Ledger(settings, self.effects, machine, recovered, rules_max)
        if not self.ledger.life:
            self.ledger.live(draw_life())
        self.ledger.begin_session()
        peer = Peer(me, self.ledger.life)
        self.post = Post(self.effects, self.ledger.cluster, peer, address, seeds)
        self._learn_contacts()
        self.seat = Seat(peer, settings, self.ledger, self.post, jitter, now_us)
        self.arrival = Arrival(address, zone, rules_max, inventory, peer, self.ledger.session)
        self.proposals = Proposals(peer, self.ledger.session)
        self.reads = Reads()
        self.leaving = False
        """We want to go, and do not come back in another life."""
        self._ended = 0
        """The last of our lives that we know to have ended."""
        self._silent_until = self.ledger.promised_ticket
        """Nothing is said before it is on disk who says it."""
        self._led: tuple[NodeId, int] = ("", 0)
        self._arrive_us = self._offered_us = self._asked_us = now_us - settings.resend_us
        """When we last said that we are there, offered, and asked."""
        self._roster: Roster | None = None
        """As it was looked at last."""
        self._stopped = False
        """For good: left, or left behind."""
        self._recovered_end = self.log.end

    @property
    def arrived(self) -> bool:
        """Whether the log has this process of ours. Whoever looks at the machine then sees all that counted of what an
        earlier process has proposed."""
        return self.arrival.done(self.peer, self.roster)

    def seek(self, seeds: Sequence[str]) -> None:
        """Whom to ask from now on, beside those whom we know: somebody has changed the list."""
        self.post.seek(seeds)

    # A turn.

    def turn(self, events: Iterable[Event], now_us: int) -> list[Effect]:
        """Everything that has happened, in order. `now_us` never goes back."""
        missed_us = now_us - self.now_us - self.settings.heartbeat_us
        self.now_us = now_us
        if not self._stopped:
            self.post.silent = self.ledger.persisted_ticket < self._silent_until
            self.seat.at(now_us, missed_us)
            self._live_on(events)
        effects = self.effects.copy()
        self.effects.clear()
        return effects

    def _live_on(self, events: Iterable[Event]) -> None:
        for event in events:
            if not self._stopped:
                self._handle(event)
        if not self.ledger.outdated and not self._stopped:
            self._finish()
        if self.ledger.outdated:
            self._stopped = True
            self.effects.append(Outdated(self.ledger.rules_wanted))

    def _handle(self, event: Event) -> None:
        match event:
            case Received():
                self._received(event.envelope)
            case Persisted():
                self.post.silent = event.ticket < self._silent_until
                self.seat.persisted(event.ticket)
            case Tick():
                self.seat.tick()
                self._again()
            case Propose():
                self.proposals.add(event.id, event.content)
            case Read():
                self._read(event.id)
            case Leave():
                self._leave(event.node, again=event.again)
            case Raise():
                self.proposals.wish(Upgrade(event.rules))
            case Transfer():
                if self.seat.leading is not None:
                    self.seat.leading.hand_over(event.to)
            case _:
                assert_never(event)

    def _finish(self) -> None:
        """What follows from all the events of a turn together."""
        ledger, seat = self.ledger, self.seat
        seat.count_votes()
        led = (seat.leader, ledger.term)
        if led != self._led:
            self._led = led
            self.effects.append(Led(*led))
            self._start_again()
            if seat.leading is not None:  # the log knows better than hearsay where they are
                self._learn_contacts()
        if seat.leading is not None:
            seat.leading.advance()
        if ledger.facts or ledger.roster is not self._roster or self._ended:
            self._look_at_facts()
            self._settle()
        if self.proposals.unsettled:
            self._offer()
        seat.finish()
        leading = seat.leading
        if leading is not None and leading.rounds.done:
            for number, end in leading.answer_reads():
                self.reads.told(number, end)
        if self.reads.ready:
            for id in self.reads.answerable(ledger.committed):
                self.effects.append(AnswerRead(id, ledger.committed))
        ledger.flush()

    def _start_again(self) -> None:
        """There is another leader, or none: what the one before was told may be lost."""
        self.proposals.start_again()
        self._asked_us = self._offered_us = self._arrive_us = self.now_us - self.settings.resend_us
        self._ask_again()

    # What the log says.

    def _look_at_facts(self) -> None:
        for index, entry, fact in self.ledger.facts:
            self.proposals.applied(entry.content)
            if isinstance(fact, (Arrived, Moved)) and index >= self._recovered_end:  # or else we may know better
                self.post.learn(fact.node, fact.address)
        self.ledger.facts.clear()

    def _learn_contacts(self) -> None:
        """Of what is not known to be committed as well: it only says where to ask."""
        arrivals = [entry.content for entry in self.log.entries if isinstance(entry.content, Arrive)]
        known = {participant.peer.node: participant.address for participant in self.roster.participants.values()}
        known |= {arrive.peer.node: arrive.address for arrive in arrivals}
        for node, address in known.items():
            if node not in self.post.heard:
                self.post.learn(node, address)

    def _settle(self) -> None:
        roster = self.roster
        if roster is not self._roster:  # it came from another's copy
            self._roster = roster
            self._learn_contacts()
        self.effects += [Settled(id) for id in self.proposals.settled(roster)]
        if roster.here(self.peer):
            self.proposals.renamed(self.peer, roster)
            if self.leaving:
                self.proposals.wish(Depart(self.peer, Why.LEFT))
        elif roster.gone(self.peer):
            self._end_life(again=self.ledger.released(self.peer))

    def _end_life(self, *, again: bool) -> None:
        """By the log we have departed. Who still votes stays who it is until the council goes on without it: what it
        has promised may be needed until then."""
        if self._ended != self.peer.life:
            self._ended = self.peer.life
            self.effects.append(Departing(self.peer.life))
        if not again or self.seat.leading is not None:
            return
        if self.leaving:
            self._stopped = True
            self.effects.append(Left())
            return
        self._ended = 0
        life = self._draw_life()
        self.ledger.live(life)
        self.seat.peer = self.post.peer = Peer(self.me, life)
        self.seat.follow_nobody(self.term)
        self._arrive_us = self.now_us - self.settings.resend_us
        self._silent_until = self.ledger.promised_ticket
        self.post.silent = True

    # What we want.

    def _leave(self, node: NodeId, *, again: bool) -> None:
        participant = self.roster.participants.get(node)
        why = Why.DAMAGED if again else Why.LEFT if node == self.me else Why.GIVEN_UP
        if why is Why.LEFT:
            self.leaving = True
        if participant is not None:
            self.proposals.wish(Depart(participant.peer, why))

    def _read(self, id: int) -> None:
        number = self.reads.ask(self.ledger.session, id)
        if self.seat.leading is not None:
            self.seat.leading.rounds.join(None, number)
        elif self.leader:
            self.post.ask_node(self.leader, ReadAsk(number))

    def _offer(self) -> None:
        """To the leader, at once; and again if nothing comes of it."""
        if self.leader:
            contents = self.proposals.offers(self.roster)
            if contents:
                self._offered_us = self.now_us
                self._offer_leader(contents)

    def _offer_leader(self, contents: Sequence[Content]) -> None:
        leading = self.seat.leading
        if leading is not None:
            for content in contents:
                leading.take(content)
        elif self.leader:
            self.post.ask_node(self.leader, Offer(tuple(contents), passed=False))
        elif self.arrival.hint:
            self.post.ask_node(self.arrival.hint, Offer(tuple(contents), passed=False), self.arrival.hint_address)
        else:
            self.post.ask_anybody(Offer(tuple(contents), passed=False))

    def _again(self) -> None:
        """What is due by time."""
        resend_us = self.settings.resend_us
        if self.proposals.unsettled and self.now_us - self._offered_us >= resend_us:
            self.proposals.start_again()
            self._offered_us = self.now_us
        if self.now_us - self._asked_us >= resend_us:
            self._ask_again()
        if self.now_us - self._arrive_us >= resend_us:
            self._arrive_us = self.now_us
            # One that has arrived and hears no leader asks around: it may have departed meanwhile. One that knows that
            # it has, and stays for its vote, offers nothing: it is told when it is not needed.
            if not (self.arrived and self.leader):
                gone = self.roster.gone(self.peer)
                self._offer_leader([] if gone else [self.arrival.content(self.peer, self.roster)])
                self.arrival.hint = ""

    def _ask_again(self) -> None:
        self._asked_us = self.now_us
        leading = self.seat.leading
        for number in self.reads.asked:
            if leading is not None:
                leading.rounds.join(None, number)
            elif self.leader:
                self.post.ask_node(self.leader, ReadAsk(number))

    # What others say.

    def _received(self, envelope: Envelope) -> None:
        sender, message = envelope.sender, envelope.message
        if not self._let_in(envelope):
            return
        self.seat.heard(sender.node)
        leads = isinstance(message, (Append, Part, Abdicate)) and message.term >= self.term
        if leads or not (self.ledger.released(sender) or self.ledger.usurps(sender)):
            self.post.learn(sender.node, envelope.address, heard=True)
        if self.ledger.released(sender) and not leads:
            self._reply(envelope, Gone(sender.life, self.roster.last_incarnation(sender.node)))
            return
        match message:
            case Offer():
                self._offered(envelope, message)
            case Directions():
                self._directed(sender.node, message)
            case ReadAsk():
                if self.seat.leading is not None:
                    self.seat.leading.rounds.join(sender, message.number)
            case ReadAt():
                self.reads.told(message.number, message.end)
            case Gone():
                if message.life == self.peer.life:
                    self.arrival.after = max(self.arrival.after, message.incarnation)
                    self.seat.follow_nobody(self.term)
                    self._end_life(again=True)
            case _:
                self.seat.received(sender, message)

    def _let_in(self, envelope: Envelope) -> bool:
        """Whether it is heard."""
        match judged(envelope, self.cluster, self.peer):
            case Verdict.HEARD:
                return True
            case Verdict.WELCOME:
                self.ledger.join(envelope.cluster)
                self.post.cluster = envelope.cluster
                return True
            case Verdict.IGNORED:
                pass
            case Verdict.STRANGE:
                self.effects.append(Strange(envelope.sender.node, envelope.address, envelope.cluster))
            case Verdict.OLD:
                self.effects.append(Strange(envelope.sender.node, envelope.address, envelope.cluster))
                self._reply(envelope, Directions("", ()))
            case Verdict.SUPERSEDED:
                self._stopped = True
                self.effects.append(Superseded(envelope.cluster))
        return False

    def _reply(self, envelope: Envelope, message: Message) -> None:
        self.post.answer(envelope.sender, envelope.address, message)

    def _offered(self, envelope: Envelope, offer: Offer) -> None:
        contents = [content for content in offer.contents if admissible(envelope, content)]
        leading = self.seat.leading
        if leading is None:
            if not offer.passed:
                self._direct(envelope, contents)
            return
        for content in contents:
            if isinstance(content, Arrive):
                refusal = self.roster.refusal(content)
                former = self.roster.last_incarnation(content.peer.node)
                if self.ledger.released(content.peer):
                    self.post.answer(content.peer, content.address, Gone(content.peer.life, former))
                elif refusal or (former != content.after and not self.roster.here(content.peer)):
                    self.post.answer(content.peer, content.address, Directions(self.me, (), refusal, former))
            leading.take(content)

    def _direct(self, envelope: Envelope, contents: Sequence[Content]) -> None:
        """We do not lead: say who does, and pass on what is offered. Only not that somebody arrives: whom the leader
        does not hear itself would soon depart again."""
        leader = self.leader
        others = tuple([content for content in contents if not isinstance(content, Arrive)])
        if leader and leader != envelope.sender.node and others:
            self.post.ask_node(leader, Offer(others, passed=True))
        contacts = {leader: self.post.contacts[leader]} if leader in self.post.contacts else {}
        contacts |= {self.me: self.address, **self.post.heard}
        self._reply(envelope, Directions(leader, tuple(contacts.items())[:CONTACTS_MAX]))

    def _directed(self, sender: NodeId, directions: Directions) -> None:
        for node, address in directions.contacts:
            # Whom we have heard ourselves will be heard again. Of the others we may know too little to find a leader.
            if node not in self.post.heard and (node not in self.post.contacts or not self.leader):
                self.post.learn(node, address)
        after = self.arrival.after
        refusal = self.arrival.directed(self.me, directions)
        if self.arrival.after > after or directions.leader not in ("", sender, self.me):
            self._arrive_us = self.now_us - self.settings.resend_us
        if refusal:
            self.effects.append(Refused(refusal))
