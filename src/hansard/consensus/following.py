"""Following a leader in its term: its log becomes ours, and it hears what is on our disk.

Invariant: all before `matched` is as the leader has it. What is committed is, whoever leads.
"""

from .cluster import Peer
from .ledger import Ledger
from .message import Append, Appended, Part, PartKept


class Following:
    def __init__(self, leader: Peer, ledger: Ledger) -> None:
        self.leader = leader
        self.ledger = ledger
        self.matched = ledger.committed
        self.round = 0
        self._due = False
        """It has asked, and gets an answer in this turn."""
        self._missing: tuple[int, int] | None = None
        self._through_said = 0

    def append(self, message: Append) -> None:
        ledger, log = self.ledger, self.ledger.log
        self.round = max(self.round, message.round)
        start, entries, previous = message.start, message.entries, message.previous_term
        if start < log.start:  # the rest of it is committed here, and forgotten
            skipped = min(log.start - start, len(entries))
            start, entries, previous = start + skipped, entries[skipped:], log.start_term
            if start < log.start:
                self._due = True
                return
        if log.term_before(start) != previous:
            self._complain(start, message.previous_term)
            return
        for place, entry in enumerate(entries):
            index = start + place
            if index == log.end or log.entry(index).term != entry.term:
                if index < log.end:
                    ledger.cut(index)
                ledger.append(entries[place:])
                break
        else:
            self._due = True
        self.matched = max(self.matched, start + len(entries))
        ledger.commit(max(min(message.committed, self.matched), ledger.committed))

    def _complain(self, start: int, previous_term: int) -> None:
        """Says from where on it may fit: not where our entry is of a later term than any that the leader has there."""
        log = self.ledger.log
        end = min(start, log.end)
        while end > self.ledger.committed and (log.term_before(end) or 0) > previous_term:
            end -= 1
        self._missing = (end, log.term_before(end) or 0)

    def part(self, message: Part) -> PartKept | None:
        """A part of a state. None where there is no use for it: the leader hears how far we are."""
        self.round = max(self.round, message.round)
        ledger, collection = self.ledger, message.collection
        if collection.end <= ledger.committed:
            self._due = True
            return None
        whole = ledger.collect(message)
        if whole:
            self.matched = max(self.matched, ledger.committed)
        parts = collection.total if whole else len(ledger.parts)
        return PartKept(ledger.term, self.round, collection, parts)

    def answer(self) -> Appended | None:
        """At the end of a turn: to what was asked, and when more is on disk than was said."""
        ledger = self.ledger
        through = min(self.matched, ledger.synced)
        if not self._due and self._missing is None and through <= self._through_said:
            return None
        end, end_term = self._missing or (ledger.log.end, ledger.log.last_term)
        answer = Appended(ledger.term, self.round, through, end, end_term, self._missing is not None)
        self._through_said = max(through, self._through_said)
        self._due, self._missing = False, None
        return answer
