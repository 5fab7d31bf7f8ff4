"""Following a term: taking its leader's batches in order, and acknowledging what is on disk.

The first thing is to match the leader's log: what the leader never had is unrolled, and what is lacking comes. Nothing
is acknowledged before the promise to follow the term is on disk, and nothing beyond what those further down have
acknowledged in turn.
"""

from typing import assert_never

from msgspec.structs import replace

from .effect import Effect, Send
from .government import NO_TERM, NodeId, Term, downstream
from .ledger import Ledger
from .lineage import Lineage, common_end
from .message import (
    Acknowledge,
    Append,
    Collection,
    Commit,
    Confirm,
    Confirmed,
    Estranged,
    Part,
    PartKept,
    Wedge,
    Wedged,
)
from .recovered import State, encode
from .relay import Relay
from .snapshot import snapshot
from .streams import Image


class Member:
    __slots__ = (
        "acknowledged",
        "complaint",
        "completed",
        "demanded",
        "effects",
        "foreign",
        "ledger",
        "me",
        "part_mark",
        "part_of",
        "relay",
        "round",
        "round_answered",
        "upstream",
        "wedged_mark",
    )

    def __init__(
        self, me: NodeId, upstream: NodeId, wedge: Wedge, ledger: Ledger, effects: list[Effect], now_us: int
    ) -> None:
        self.me = me
        self.upstream = upstream
        """Whoever feeds us now, as its last message shows: acknowledgements go there."""
        self.ledger = ledger
        self.effects = effects
        self.foreign = False
        """The log has nothing in common with the leader's: it is waiting to begin anew."""
        self.complaint = -1
        """Where the log ended when something that does not follow came; complained of once."""
        self.demanded = False
        """An acknowledgement is due even if there is no news."""
        self.acknowledged = -1
        self.wedged_mark: int | None = None
        """The ticket after which the Wedge is to be answered."""
        self.part_mark: int | None = None
        self.part_of: Collection | None = None
        self.completed: Collection | None = None
        """The snapshot with which this copy began anew in this term."""
        self.round = 0
        self.round_answered = 0
        self._match(wedge)
        self.relay = Relay(ledger, effects, wedge, now_us)
        self._pass_on()
        self.wedged_mark = ledger.mark

    def _match(self, wedge: Wedge) -> None:
        """Unroll what the leader never had. What this very term has written stays: it was matched before that."""
        ledger = self.ledger
        if ledger.lineage.last_term == wedge.term:
            return
        common = common_end(ledger.lineage, Lineage(wedge.start, wedge.end, wedge.runs))
        if common is None:
            self.foreign = True
        elif common < ledger.committed and ledger.latest_decree is None:
            self._begin_anew(wedge.term)
        else:
            ledger.cut(common)

    def _begin_anew(self, term: Term) -> None:
        """No government has ever opened, so what is here was imported, and was shown to nobody. Everybody else who had
        more of it than the leader has is gone."""
        ledger = self.ledger
        nothing = snapshot(0, 0, NO_TERM, encode(State(0, 0, None, Image(0, ()))), ledger.settings.part_bytes)
        ledger.collect(nothing.part(term, 0))
        ledger.count()
        ledger.saved_synced = 0
        for ticket in ledger.tickets:
            ticket.saved = 0

    def wedged_again(self, sender: NodeId, wedge: Wedge) -> None:
        """The Wedge was lost, or its answer, or somebody else feeds us now that the government is expanded."""
        if self.relay.wedge.expanded and not wedge.expanded:
            return
        self.upstream = sender
        if wedge.expanded and not self.relay.wedge.expanded:
            self.relay.wedge = wedge
            self._pass_on()
        self.wedged_mark = self.ledger.mark

    def _pass_on(self) -> None:
        """In a chain: to the next one, as the wedge or the log has it."""
        wedge, decree = self.relay.wedge, self.ledger.latest_decree
        if not wedge.expanded and decree is not None and decree.expanded and decree.term == wedge.term:
            self.relay.wedge = wedge = replace(wedge, expanded=True)
        self.relay.feed_only(downstream(wedge.government, self.me, expanded=wedge.expanded))

    # What the leader says.

    def received(self, sender: NodeId, message: Append | Commit | Confirm | Part) -> None:
        self.upstream = sender
        match message:
            case Append():
                self._append(message)
            case Commit():
                self._commit(message)
            case Confirm():
                self.round = max(self.round, message.round)
                self.round_answered = min(self.round_answered, self.round - 1)
                self.relay.confirm(self.round)
            case Part():
                self._part(message)
            case _:
                assert_never(message)

    def _append(self, message: Append) -> None:
        ledger = self.ledger
        if self.foreign or ledger.collection is not None:
            return
        end = ledger.end
        if message.previous_end == end and message.previous_term in (ledger.lineage.last_term, NO_TERM):
            ledger.append(message.batch)
            if ledger.derived.decrees and ledger.derived.decrees[-1][0] == end:
                self._pass_on()
            ledger.commit_known = max(ledger.commit_known, message.committed)
        elif message.previous_end < end:
            self.demanded = True
        elif self.complaint < end:
            self.complaint = end
            self.demanded = True

    def _commit(self, message: Commit) -> None:
        ledger = self.ledger
        if self.foreign or ledger.collection is not None:
            return
        if message.committed <= ledger.commit_known:
            self.demanded = True
        ledger.commit_known = max(ledger.commit_known, message.committed)

    def _part(self, message: Part) -> None:
        """The first part of a snapshot throws this copy's log away, so it is taken only where that log is of no use."""
        ledger, collection = self.ledger, message.collection
        useless = self.foreign or ledger.state_from is None or ledger.end < collection.start
        if collection == self.completed:
            self.part_of, self.part_mark = collection, ledger.mark
        elif message.number <= len(ledger.parts) if collection == ledger.collection else useless and not message.number:
            ledger.collect(message)
            self.foreign, self.acknowledged = False, -1
            self.part_of, self.part_mark = collection, ledger.mark
            self.completed = collection if ledger.collection is None else None
        else:  # whoever sends it has a wrong idea of this copy
            self._send(Estranged(message.term))

    @property
    def passes_on(self) -> bool:
        """Whether there is somebody further down, and anything for them but what is to be thrown away."""
        return bool(self.relay.feeds) and not self.foreign and self.ledger.collection is None

    def pump(self) -> None:
        if self.passes_on:
            self.relay.pump()

    # What is owed to whoever feeds us.

    def answer(self) -> None:
        """Say what is on disk by now."""
        ledger = self.ledger
        term = self.relay.wedge.term
        if ledger.promised_synced != term:
            return
        through = self.through()
        if self.wedged_mark is not None and ledger.persisted_ticket >= self.wedged_mark:
            self.wedged_mark = None
            end = None if self.foreign else ledger.end
            stated = ledger.state_from is not None
            held = (ledger.collection, len(ledger.parts))
            self._send(Wedged(term, end, through, stated, *held))
            self.acknowledged = through
        if self.part_mark is not None and ledger.persisted_ticket >= self.part_mark:
            self._answer_part()
        if through > self.acknowledged or self.demanded:
            self.acknowledged = max(through, self.acknowledged)
            missing = self.complaint == ledger.end
            self._send(Acknowledge(term, ledger.end, through, ledger.commit_known, missing))
            self.demanded = False
        if self.round > self.round_answered and self._all_confirmed():
            self.round_answered = self.round
            self._send(Confirmed(term, self.round))

    @property
    def owes(self) -> bool:
        """An answer that is not an acknowledgement waits for this disk, or for who is further down."""
        return self.wedged_mark is not None or self.part_mark is not None or self.round > self.round_answered

    def through(self) -> int:
        """Everything before this is on this disk and on those further down."""
        feeds, synced = self.relay.feeds, self.ledger.synced
        if self.foreign or self.ledger.state_from is None or self.part_mark is not None:
            return -1  # it begins anew, and that is not on disk yet
        for feed in feeds.values():
            synced = min(synced, feed.through)
        return synced

    def _answer_part(self) -> None:
        assert self.part_of is not None
        parts = len(self.ledger.parts) if self.ledger.collection is not None else self.part_of.total
        self._send(PartKept(self.relay.wedge.term, self.part_of, parts))
        self.part_mark = self.part_of = None

    def _all_confirmed(self) -> bool:
        return all(feed.confirmed >= self.round for feed in self.relay.feeds.values())

    def _send(self, message: Wedged | Acknowledge | Confirmed | PartKept | Estranged) -> None:
        self.effects.append(Send(self.upstream, message))

    def remind(self) -> None:
        """What was said may not have come."""
        self.demanded = True

    def remind_if_complaining(self) -> None:
        if self.complaint == self.ledger.end:
            self.demanded = True
