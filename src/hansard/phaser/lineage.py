"""Which term wrote which part of a log: enough to find where two logs part ways without comparing them.

Within a term there is one leader and one sequence, and a member takes only what follows what it has. So if two
logs have an entry of the same term at the same offset, they are alike up to there (Raft's log matching, section 5.3 of
its paper), and they are alike exactly as far as the last run of a term that both have.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from .government import NO_TERM, Term

RUNS_MAX: Final = 1000
"""Runs that are remembered, so that they fit into a note. A copy that has none of them in common begins anew."""


class Run(Struct, frozen=True, array_like=True, gc=False):
    """Entries of one term, from an offset on."""

    term: Term
    start: int


class Lineage:
    """The runs of one log. Invariant: terms and starts rise, and every run has an entry: it starts before the end."""

    __slots__ = ("end", "runs", "start")

    def __init__(self, start: int = 0, end: int = 0, runs: Sequence[Run] = ()) -> None:
        self.start = start
        """The first offset that the log still has."""
        self.end = end
        """The offset of the next entry."""
        self.runs = [run for run in runs if run.start < end]

    @property
    def last_term(self) -> Term:
        return self.runs[-1].term if self.runs else NO_TERM

    def append(self, term: Term, end: int) -> bool:
        """An entry was added; says whether it began a run."""
        assert end > self.end
        begun = not self.runs or self.runs[-1].term != term
        if begun:
            assert term > self.last_term
            self.runs.append(Run(term, self.end))
            del self.runs[:-RUNS_MAX]
        self.end = end
        return begun

    def cut(self, end: int) -> None:
        assert self.start <= end <= self.end
        while self.runs and self.runs[-1].start >= end:
            self.runs.pop()
        self.end = end

    def reset(self, start: int, term: Term) -> None:
        """The log begins anew at an offset, after an entry of this term (if it is known) that it does not have."""
        self.start = self.end = start
        self.runs = [Run(term, start - 1)] if start and term != NO_TERM else []

    def trim(self, start: int) -> None:
        """What is before an offset is kept no longer; the run of the entry before it is, so that logs still match."""
        assert self.start <= start <= self.end
        self.start = start
        while len(self.runs) > 1 and self.runs[1].start < start:
            self.runs.pop(0)

    def term_before(self, offset: int) -> Term:
        """Of the entry that an entry at this offset follows."""
        return next((run.term for run in reversed(self.runs) if run.start < offset), NO_TERM)

    def copy(self) -> "Lineage":
        return Lineage(self.start, self.end, self.runs)


def common_end(mine: Lineage, theirs: Lineage) -> int | None:
    """How far two logs are alike; None where nothing shows that they are alike anywhere."""
    ends = _ends(theirs)
    for term, end in reversed(_ends(mine).items()):
        if term in ends:
            alike = min(end, ends[term])
            return alike if alike >= max(mine.start, theirs.start) else None
    return 0 if _whole(mine) and _whole(theirs) else None


def _whole(lineage: Lineage) -> bool:
    """Whether it goes back to the first entry that there ever was."""
    return lineage.start == 0 and (not lineage.runs or lineage.runs[0].start == 0)


def _ends(lineage: Lineage) -> dict[Term, int]:
    starts = [*[run.start for run in lineage.runs], lineage.end]
    return {run.term: end for run, end in zip(lineage.runs, starts[1:], strict=True)}
