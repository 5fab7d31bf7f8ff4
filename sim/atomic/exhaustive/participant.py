"""One participant as it stands between two events, and what each event makes of it.

It is the real core and a disk. A step copies both, lets the core have the event in a turn of its own, carries out the
effects that concern the disk, and returns the rest as what the world learns of it. What is to be written is persisted
at once, unless the disk is slow; but each of the moments in which it was under way is a *peril*: it may end in a crash.

Clocks do not run here. What time can do is a step of its own: somebody loses patience, or says again what it has said.
Before every event the clocks are set to where they forbid the least: nobody has heard its leader lately, so that votes
are granted where they may be, nobody's patience is at an end, nothing is due to be sent again, and no lease ends. So
every order of timeouts and messages is looked at, those that no clocks would lead to as well; that a vote is refused
while a leader is heard is as if it had not been asked for, and exact worlds try it.

A crash and the restart after it are one step: nobody here can tell a participant that is down from one that nothing
is delivered to.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from hansard.consensus.cluster import NodeId, Peer
from hansard.consensus.consensus import Consensus
from hansard.consensus.content import Proposed
from hansard.consensus.effect import Cut, Effect, Persist, Send
from hansard.consensus.event import Event, Persisted, Tick
from hansard.consensus.facts import Facts
from hansard.consensus.invariants import check_state, check_step, moment
from hansard.consensus.message import Ask, Message, PreVote, Vote
from hansard.consensus.role import Role
from hansard.consensus.settings import Settings
from sim.exhaustive.snapshot import copied

from .drive import Drive, Platter
from .world import LIFE

NOW_US = 10_000_000
SETTINGS = Settings()
LONG_AGO_US = NOW_US - SETTINGS.election_us

Word = tuple[NodeId, Message]
"""What is said to somebody."""


class Turn(Struct):
    """What happened in one turn of the core."""

    core: Consensus
    drive: Drive
    words: list[Word]
    voted: tuple[int, NodeId]
    """As of a participant, below."""


class Learned(Struct):
    """What others learn of a step: the turns it took, and what happened, in the words of a world's `sometimes`."""

    turns: list[Turn]
    noted: list[str]


class Participant(Struct):
    name: NodeId
    core: Consensus
    drive: Drive
    slow: bool
    voted: tuple[int, NodeId] = (0, "")
    """The term of the last vote that was said, and for whom; unless the disk has it, or a later term. It is what others
    know, so it stays when memory does not."""

    @staticmethod
    def started(name: NodeId, drive: Drive, *, slow: bool) -> "Participant":
        """As it begins with this disk."""
        core = Consensus(
            name,
            name,
            SETTINGS,
            Facts(),
            drive.platter.recovered(),
            jitter=_no_jitter,
            draw_life=_no_life,
            now_us=NOW_US,
        )
        return Participant(name, core, drive, slow)

    # Steps: each returns another participant, and this one stays as it was.

    def taking(self, events: Sequence[Event], *, hears_leader: bool = False) -> tuple["Participant", Learned]:
        after = self._copy()
        after._set_clocks(heard_us=NOW_US if hears_leader else LONG_AGO_US)
        return self._to(after, events)

    def losing_patience(self) -> tuple["Participant", Learned]:
        """As a leader that does not hear a majority, or a voter that does not hear a leader, for too long."""
        after = self._copy()
        after._set_clocks(patient=False)
        return self._to(after, [Tick()])

    def repeating(self) -> tuple["Participant", Learned]:
        """As a leader that has not said anything for a while, and takes for lost what it has said."""
        after = self._copy()
        after._set_clocks()
        assert after.core.seat.leading is not None
        for progress in after.core.seat.leading.peers.values():
            progress.sent_us = progress.progress_us = 0
        return self._to(after, [Tick()])

    def persisted(self) -> tuple["Participant", Learned]:
        """The first of the writes that are under way are on disk."""
        after = self._copy()
        learned = Learned([], [])
        after._persisted(learned)
        after.check()
        return after, learned

    def restarted(self, platter: Platter, voted: tuple[int, NodeId]) -> tuple["Participant", Learned]:
        """Dead and alive again, with what is left on the disk, and after such a vote."""
        begun = Participant.started(self.name, Drive(platter), slow=self.slow)
        begun.voted = voted
        return begun.taking([])

    # A turn.

    def _copy(self) -> "Participant":
        return Participant(self.name, copied(self.core, {}), self.drive, self.slow, self.voted)

    def _to(self, after: "Participant", events: Iterable[Event]) -> tuple["Participant", Learned]:
        learned = Learned([], [])
        before = moment(self.core)
        after._turn(events, learned)
        while after.drive.waiting and not self.slow:
            if after.core.seat.leading is not None:  # who says more than it has sent
                learned.turns[-1].core = copied(after.core, {})
            after._persisted(learned)
        learned.noted += self._changed(after)
        check_step(before, after.core)
        after.check()
        return after, learned

    def _persisted(self, learned: Learned) -> None:
        self.drive = self.drive.persisted()
        self._turn([Persisted(self.core.ledger.tickets[0].number)], learned)

    def _turn(self, events: Iterable[Event], learned: Learned) -> None:
        words: list[Word] = []
        for effect in self.core.turn(events, NOW_US):
            self._carry_out(effect, words, learned.noted)
        self._count_tickets_anew()
        note = self.drive.platter.note
        if note.term > self.voted[0] or (note.term, note.vote) == (self.voted[0], Peer(self.voted[1], LIFE)):
            self.voted = (0, "")
        learned.turns.append(Turn(self.core, self.drive, words, self.voted))

    def _carry_out(self, effect: Effect, words: list[Word], noted: list[str]) -> None:
        match effect:
            case Send():
                message = effect.envelope.message
                words.append((effect.to, message))
                if isinstance(message, PreVote) and not message.granted:
                    noted.append("a pre-vote was refused")
                if isinstance(message, Ask):
                    self._vote(message.term, self.name)
                if isinstance(message, Vote):
                    if message.granted:
                        self._vote(message.term, effect.to)
                    else:
                        noted.append(self._reason(effect.to))
            case Persist():
                self.drive = self.drive.persist(effect.writes)
                if any(isinstance(write, Cut) for write in effect.writes):
                    noted.append("an entry was cut")
            case _:  # who leads is told by the state, and nobody here waits for anything
                pass

    def _changed(self, after: "Participant") -> list[str]:
        """What became of the part that it had."""
        one, other = self.core, after.core
        led, leads = one.role is Role.LEADER, other.role is Role.LEADER
        if led and not leads:
            return ["deposed" if other.term > one.term else "stepped down"]
        return ["elected"] if leads and not led else []

    def _reason(self, asker: NodeId) -> str:
        """Why a vote was refused."""
        core = self.core
        if core.vote not in (None, Peer(asker, LIFE)):
            return "a vote was refused that another has"
        return "a vote was refused beside a leader" if core.leader else "a vote was refused to a worse log"

    def _vote(self, term: int, asker: NodeId) -> None:
        note = self.drive.platter.note
        written = (note.term, note.vote.node if note.vote is not None else "")
        for before, to in (self.voted, written):
            assert term > before or (term == before and to in ("", asker)), f"two votes in term {term}"
        self.voted = (term, asker)

    # Bookkeeping.

    def _set_clocks(self, *, heard_us: int = LONG_AGO_US, patient: bool = True) -> None:
        core, seat = self.core, self.core.seat
        seat.heard_us = heard_us
        seat.deadline_us = NOW_US + patient
        core._offered_us = core._asked_us = core._arrive_us = NOW_US
        if seat.leading is not None:
            for progress in seat.leading.peers.values():
                progress.heard_us = NOW_US if patient else LONG_AGO_US
                progress.sent_us = progress.progress_us = NOW_US

    def _count_tickets_anew(self) -> None:
        """From the last persisted one: only their distances matter, and a life's number of writes should not."""
        ledger, seat = self.core.ledger, self.core.seat
        base = ledger.persisted_ticket
        if not base:
            return
        ledger.persisted_ticket = 0
        ledger.ticket -= base
        ledger.note_ticket = max(0, ledger.note_ticket - base)
        for ticket in ledger.tickets:
            ticket.number -= base
        self.core._silent_until = max(0, self.core._silent_until - base)
        seat._waiting = [(ticket - base, to, message) for ticket, to, message in seat._waiting]
        if seat.election is not None:
            seat.election._ticket = max(0, seat.election._ticket - base)

    def check(self) -> None:
        """The core is sound in itself, speaks the truth about the disk, and has told its machine everything once."""
        core, seen, platter = self.core, self.drive.seen, self.drive.platter
        check_state(core)
        assert (core.log.start, tuple(core.log.entries)) == (seen.start, seen.entries), "the log is written down"
        synced = core.log.entries[: core.synced - core.log.start]
        assert list(platter.entries[: len(synced)]) == synced, "what is synced is on disk"
        assert len(self.drive.waiting) == len(core.ledger.tickets), "every ticket is under way"
        assert isinstance(core.machine, Facts)
        told = [fact.content for _, fact in core.machine.told if isinstance(fact, Proposed)]
        assert len(set(told)) == len(told), "a proposal is applied once"


def _no_jitter() -> float:
    return 0.0


def _no_life() -> int:
    raise AssertionError("nobody departs here")
