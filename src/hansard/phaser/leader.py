"""Leading a term, from the appointment until it is deposed.

    PROMISING   the term is on its way to this disk; before that nobody may hear of it
    USURPING    the members are told to follow it, unroll what this log never had, and get what they lack
    IMPORTING   all of them match; while there is an import it takes that, and it is committed as it comes
    REPORTING   there is none, or no more; the report that the government has opened is on its way into the atomic log
    OPEN        it takes submissions; newcomers are acclimated, and then counted

What this leader had in its log when it was appointed counts as committed once it opens: some client may have learned of
it. Who must acknowledge follows from its log: the expanded government counts from the entry that says so.
"""

from enum import Enum, auto
from typing import Final

from .decree import Decree, as_batch
from .effect import Achievement, Effect, Report
from .feed import Feed
from .government import Government, NodeId, Term, committed_end, downstream
from .ledger import Ledger
from .message import Wedge
from .relay import Relay


class Phase(Enum):
    PROMISING = auto()
    USURPING = auto()
    IMPORTING = auto()
    REPORTING = auto()
    OPEN = auto()


OPEN: Final = Phase.OPEN
"""By this name: it is looked at in every turn, and by the class's name that takes long."""


class Leader:
    __slots__ = (
        "counted",
        "effects",
        "expanded",
        "expansion_end",
        "government",
        "inherited_end",
        "ledger",
        "me",
        "phase",
        "relay",
        "reported_expansion",
        "term",
    )

    def __init__(self, me: NodeId, government: Government, term: Term, ledger: Ledger, effects: list[Effect]) -> None:
        decree = ledger.latest_decree
        self.me = me
        self.government = government
        self.term = term
        self.ledger = ledger
        self.effects = effects
        self.phase = Phase.PROMISING
        self.inherited_end = ledger.end
        """Everything before it was in this log when the term began."""
        self.expanded = decree is not None and decree.expanded and decree.government.epoch == government.epoch
        """The newcomers count."""
        self.counted = downstream(government, me, expanded=self.expanded)
        """Whose acknowledgements, with this disk's own, make an entry committed. In a chain one stands for all."""
        self.expansion_end = ledger.end if self.expanded else 0
        """Where the expanded government's entry ends, or later."""
        self.reported_expansion = False
        self.relay: Relay | None = None

    def advance(self, now_us: int, *, importing: bool = False) -> None:
        """Go on as far as what is known by now allows, up to the report; not that far during an import."""
        ledger = self.ledger
        if self.phase is Phase.PROMISING and ledger.promised_synced == self.term:
            lineage = ledger.lineage
            runs = tuple(lineage.runs)
            wedge = Wedge(self.term, self.government, self.expanded, lineage.start, lineage.end, runs)
            self.relay = Relay(ledger, self.effects, wedge, now_us)
            self.relay.feed_only(self.counted)
            self.phase = Phase.USURPING
        if self.phase is Phase.USURPING and self.common_end() >= self.inherited_end:
            self.phase = Phase.IMPORTING
        if self.phase is Phase.IMPORTING and not importing:
            self.phase = Phase.REPORTING
            self.effects.append(Report(Achievement.OPENED, self.government.epoch))
        if self.phase is Phase.IMPORTING:
            self.commit()

    def commit(self) -> None:
        """What everybody who counts has by now."""
        ledger = self.ledger
        end = self.common_end()
        ledger.commit_known = max(ledger.commit_known, end)
        if ledger.commit_known > ledger.committed:
            ledger.commit()

    def common_end(self) -> int:
        """Where the part of the log ends that everybody who counts has on disk."""
        assert self.relay is not None
        return committed_end(self.ledger.synced, self.relay.through(self.counted))

    def open(self, wall_us: int) -> None:
        """The report was accepted."""
        assert self.phase is Phase.REPORTING and self.relay is not None
        self.phase = Phase.OPEN
        self._decree(wall_us)
        if not self.government.newcomers:
            self.ledger.snapshot = None
        if not self.expanded:
            self.relay.feed_only((*self.counted, *self.government.newcomers))

    def _decree(self, wall_us: int) -> None:
        ledger = self.ledger
        batch = as_batch(Decree(self.term, self.government, self.expanded, ledger.buckets))
        timestamp = max(wall_us, ledger.timestamp)
        ledger.append(batch.stamped(epoch=self.term, base_offset=ledger.end, timestamp=timestamp))

    def expand(self, wall_us: int) -> None:
        """Count the newcomers, if there are any and all of them are close; report it once that is committed."""
        if not self.government.newcomers or self.phase is not Phase.OPEN:
            return
        relay = self.relay
        assert relay is not None
        if not self.expanded and all(self._close(relay.feeds[node]) for node in self.government.newcomers):
            self.expanded = True
            self.counted = downstream(self.government, self.me, expanded=True)
            self._decree(wall_us)
            self.expansion_end = self.ledger.end
            old = relay.wedge
            relay.wedge = Wedge(old.term, old.government, True, old.start, old.end, old.runs)
            relay.feed_only(self.counted)
        if self.expanded and not self.reported_expansion and self.ledger.committed >= self.expansion_end:
            self.reported_expansion = True
            self.ledger.snapshot = None
            self.effects.append(Report(Achievement.EXPANDED, self.government.epoch))

    def _close(self, feed: Feed) -> bool:
        """All that a newcomer lacks is in memory, and it has the committed log: the bucket will hardly wait for it."""
        first = next(iter(self.ledger.tail), self.ledger.end)
        return feed.streaming and feed.through >= min(first, self.ledger.committed)
