"""This participant's copy: its log, what follows from it, what it has promised, and what is under way to its disk.

    committed <= log.end      applied to roster and machine as soon as it is known to be committed
    synced    <= log.end      on this disk

Crash cases: writes are done in order, so what is found is some moment between two of them. A state that was kept and a
log that was not reset yet do not fit together: the state counts, and the log only where it goes on from there.
"""

from collections import deque

from crc32c import crc32c

from .cluster import NO_CLUSTER, ClusterId, Peer
from .content import Entry, Fact
from .effect import Applied, Cut, Discard, Effect, Keep, Note, Persist, Put, Reset, Restored, Trim, Write
from .log import Log
from .machine import Machine
from .message import Collection, Part
from .recovered import STATE, NoteContent, Recovered, State, decode_note, decode_state, encode, part_name
from .roster import Roster
from .settings import Settings
from .snapshot import Snapshot, snapshot


class Ticket:
    """What will be on disk when it is persisted."""

    __slots__ = ("end", "number")

    def __init__(self, number: int, end: int) -> None:
        self.number = number
        self.end = end


class Ledger:
    def __init__(
        self,
        settings: Settings,
        effects: list[Effect],
        machine: Machine,
        recovered: Recovered,
        rules_max: int | None = None,
    ) -> None:
        """`rules_max` is what the machine knows; None, if rules do not matter to it."""
        self.settings = settings
        self._rules_max = rules_max
        self.effects = effects
        self.machine = machine
        self.writes: list[Write] = []
        self.noted = False
        """The note has changed in this turn."""
        self.ticket = 0
        self.note_ticket = 0
        """With which the last note will be on disk."""
        self.persisted_ticket = 0
        self.tickets: deque[Ticket] = deque()
        note = decode_note(recovered.note)
        self.cluster: ClusterId = note.cluster
        self.life = note.life
        self.session = note.session
        self.term = note.term
        self.vote: Peer | None = note.vote
        content = recovered.documents.get(STATE, b"")
        state = decode_state(content)
        self.roster = Roster(state.roster)
        self.rules_wanted = self.roster.rules
        """That have come into force. If they are newer than is known here, nothing goes on: the machine would compute
        something else than everybody's."""
        if not self.outdated:
            machine.restore(state.image)
        self.committed = state.end
        self.snapshot: Snapshot | None = (
            snapshot(state.end, state.term, content, settings.part_bytes) if content else None
        )
        """The state that is kept, for those who need it."""
        self.log = self._recovered_log(state, recovered)
        self.synced = self.log.end
        self.term = max(self.term, self.log.last_term)
        self.collection: Collection | None = None
        self.parts: list[bytes] = []
        self._recover_parts(note, recovered)
        self.facts: list[tuple[int, Entry, Fact | None]] = []
        """Applied in this turn."""

    def _recovered_log(self, state: State, recovered: Recovered) -> Log:
        log = Log(state.end, state.term, state.voters)
        skipped = state.end - recovered.start
        assert skipped >= 0, "nothing is trimmed before the state that covers it is on disk"
        entries = recovered.entries
        fits = skipped == 0 or (skipped <= len(entries) and entries[skipped - 1].term == state.term)
        if fits:
            log.append(entries[skipped:])
        elif entries or recovered.start != state.end:
            self.writes.append(Reset(state.end))
        return log

    def _recover_parts(self, note: NoteContent, recovered: Recovered) -> None:
        collection = note.collection
        names = [name for name in recovered.documents if name.startswith("part-")]
        if collection is not None and collection.end > self.committed:
            self.collection = collection
            while (name := part_name(collection, len(self.parts))) in recovered.documents:
                self.parts.append(recovered.documents[name])
                names.remove(name)
        self.writes += [Discard(name) for name in sorted(names)]

    @property
    def outdated(self) -> bool:
        return self._rules_max is not None and self.rules_wanted > self._rules_max

    def released(self, peer: Peer) -> bool:
        """It has departed, and its vote is not needed any more either."""
        return self.roster.gone(peer) and not self.log.may_vote(peer, self.committed)

    def usurps(self, peer: Peer) -> bool:
        """It has the name of somebody else: it does not get the other's letters."""
        if self.roster.here(peer) or peer in self.log.voters:
            return False
        return peer.node in self.roster.participants or any(voter.node == peer.node for voter in self.log.voters)

    # What is promised.

    def promise(self, term: int, vote: Peer | None = None) -> None:
        """Nothing of an earlier term counts any more; one vote is given in each."""
        assert term > self.term or (term == self.term and self.vote in (None, vote))
        self.term, self.vote = term, vote
        self.noted = True

    def live(self, life: int) -> None:
        self.life, self.noted = life, True

    def join(self, cluster: ClusterId) -> None:
        assert self.cluster == NO_CLUSTER
        self.cluster, self.noted = cluster, True

    def begin_session(self) -> None:
        self.session += 1
        self.noted = True

    # Writing.

    def append(self, entries: tuple[Entry, ...]) -> None:
        self.writes.append(Put(self.log.end, entries))
        self.log.append(entries)

    def cut(self, end: int) -> None:
        assert end >= self.committed, "what is committed stays"
        self.writes.append(Cut(end))
        self.log.cut(end)
        self.synced = min(self.synced, end)
        for ticket in self.tickets:
            ticket.end = min(ticket.end, end)

    def flush(self) -> None:
        """At the end of a turn: all that was written in it, at once, the note first: it says what the rest is of."""
        if self.noted:
            self.noted = False
            self.writes.insert(0, Note(encode(self._note())))
            self.note_ticket = self.ticket + 1
        if self.writes:
            self.ticket += 1
            self.tickets.append(Ticket(self.ticket, self.log.end))
            self.effects.append(Persist(self.ticket, tuple(self.writes)))
            self.writes = []

    def _note(self) -> NoteContent:
        return NoteContent(self.cluster, self.life, self.session, self.term, self.vote, self.collection)

    def persisted(self, number: int) -> None:
        assert self.tickets and number <= self.tickets[-1].number
        while self.tickets and self.tickets[0].number <= number:
            ticket = self.tickets.popleft()
            self.synced, self.persisted_ticket = ticket.end, ticket.number

    @property
    def mark(self) -> int:
        """The ticket with which all that was written so far will be on disk."""
        return self.ticket + 1 if self.writes or self.noted else self.ticket

    @property
    def promised_ticket(self) -> int:
        """The ticket with which all that was promised so far will be on disk."""
        return self.ticket + 1 if self.noted else self.note_ticket

    # Committing.

    def commit(self, end: int) -> None:
        """Everything before this index is committed."""
        assert end <= self.log.end
        while self.committed < end and not self.outdated:
            index = self.committed
            entry = self.log.entry(index)
            fact = self.roster.apply(entry.content)
            self.rules_wanted = self.roster.rules
            if fact is not None and not self.outdated:
                self.machine.apply(index, fact)
            self.committed = index + 1
            self.effects.append(Applied(index, entry, fact))
            self.facts.append((index, entry, fact))
            # At the same indexes everywhere, so that a transfer goes on whoever leads.
            if self.committed % self.settings.compact_entries == 0 and not self.outdated:
                self._compact()

    def _compact(self) -> None:
        term = self.log.term_before(self.committed)
        assert term is not None
        voters = self.log.voters_before(self.committed)
        state = State(self.committed, term, voters, self.roster.image(), self.machine.image())
        content = encode(state)
        self.snapshot = snapshot(state.end, state.term, content, self.settings.part_bytes)
        self.writes.append(Keep(STATE, content))
        start = max(self.committed - self.settings.keep_entries, self.log.start)
        if start > self.log.start:
            self.log.trim(start)
            self.writes.append(Trim(start))

    # Getting the state from another copy.

    def collect(self, part: Part) -> bool:
        """A part of a state came that is beyond what is committed here. Says whether it is complete now."""
        collection = part.collection
        assert collection.end > self.committed
        if collection != self.collection:
            self._discard_parts()
            self.collection, self.noted = collection, True
        if part.number == len(self.parts):
            self.parts.append(part.content)
            self.writes.append(Keep(part_name(collection, part.number), part.content))
        if len(self.parts) < collection.total:
            return False
        content = b"".join(self.parts)
        if whole := crc32c(content) == collection.crc:  # or else it is begun again from the first part
            self._install(content)
        self._discard_parts()
        return whole

    def _discard_parts(self) -> None:
        if self.collection is not None:
            self.writes += [Discard(part_name(self.collection, number)) for number in range(len(self.parts))]
            self.noted = True
        self.collection, self.parts = None, []

    def _install(self, content: bytes) -> None:
        state = decode_state(content)
        if self.log.term_before(state.end) == state.term:  # all of it is here already, and it is committed
            self.commit(state.end)
            return
        self.rules_wanted = state.roster.rules
        if self.outdated:
            return
        self.writes += [Keep(STATE, content), Reset(state.end)]
        self.log = Log(state.end, state.term, state.voters)
        self.synced = min(self.synced, self.committed)  # until the state is on disk
        for ticket in self.tickets:
            ticket.end = min(ticket.end, self.committed)
        self.roster = Roster(state.roster)
        self.machine.restore(state.image)
        self.committed = state.end
        self.snapshot = snapshot(state.end, state.term, content, self.settings.part_bytes)
        self.effects.append(Restored(state.end))
