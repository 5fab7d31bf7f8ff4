"""What happened in a run, and how often: a run in which nothing happened has tested nothing."""

from collections import Counter
from typing import TYPE_CHECKING, Final

from hansard.consensus.cluster import Peer
from hansard.consensus.content import (
    Arrived,
    Council,
    Departed,
    Entry,
    Fact,
    Moved,
    Proposal,
    Proposed,
    Upgraded,
)
from hansard.consensus.effect import Cut, Departing, Effect, Outdated, Persist, Refused, Restored, Send
from hansard.consensus.message import Abdicate, Ask, Collection, Gone, Offer, PartKept, PreVote, Vote

if TYPE_CHECKING:
    from .participant import Participant

REQUIRED: Final = (
    "election",
    "split vote",
    "pre-vote refused",
    "vote refused",
    "snapshot installed",
    "snapshot resumed",
    "entries cut",
    "voter added",
    "voter removed",
    "leader removed itself",
    "departed by lease",
    "departed by wish",
    "departed leader",
    "arrived again",
    "moved",
    "transferred",
    "read answered",
    "read at a stale leader",
    "majority lost",
    "majority regained",
    "life given up",
    "told to be gone",
    "founder gone",
    "proposal settled elsewhere",
    "proposal repeated",
    "writes lost",
    "rules raised",
    "stray refused",
    "left down for good",
    "left for good",
    "burst of arrivals",
)
"""Each batch of 500 seeds must have seen all of these."""
TELLING: Final = frozenset((PreVote, Vote, Ask, Abdicate, Gone, Offer, PartKept))
"""The messages that are looked at."""


class Coverage:
    def __init__(self, founder: str) -> None:
        self.counts: Counter[str] = Counter()
        self.collecting: dict[str, tuple[Collection, int, int, int]] = {}
        """Who has got a part of a state, how many, in which process, from the leader of which term."""
        self._founder = founder
        self._candidates: dict[int, set[str]] = {}
        self._led: dict[int, str] = {}
        self._heirs: set[tuple[str, int]] = set()
        self._voters: tuple[Peer, ...] = ()
        self._majority_lost = False

    def said(self, participant: "Participant", send: Send) -> None:
        counts, name = self.counts, participant.name
        match send.envelope.message:
            case PreVote(granted=False):
                counts["pre-vote refused"] += 1
            case Vote(granted=False):
                counts["vote refused"] += 1
            case Ask(term=term):
                self._candidates.setdefault(term, set()).add(name)
            case Abdicate(term=term):
                self._heirs.add((send.to, term + 1))
            case Gone():
                counts["told to be gone"] += 1
            case Offer(passed=True):
                counts["offer passed on"] += 1
            case PartKept(term=term, collection=collection, parts=parts):
                self._kept(participant, collection, parts, term)
            case _:
                pass

    def _kept(self, participant: "Participant", collection: Collection, parts: int, term: int) -> None:
        """A transfer was resumed if another process, or another leader, has added to the parts that were there."""
        name = participant.name
        known, before, process, led = self.collecting.get(name, (None, 0, 0, 0))
        if known == collection and (process, led) != (participant.process, term) and parts > before > 0:
            self.counts["snapshot resumed"] += 1
        if parts < collection.total:
            self.collecting[name] = (collection, parts, participant.process, term)
        else:
            self.collecting.pop(name, None)

    def did(self, effect: Effect) -> None:
        counts = self.counts
        match effect:
            case Persist(writes=writes):
                counts["entries cut"] += sum([isinstance(write, Cut) for write in writes])
            case Restored():
                counts["snapshot installed"] += 1
            case Departing():
                counts["life given up"] += 1
            case Outdated():
                counts["outdated"] += 1
            case Refused():
                counts["arrival refused"] += 1
            case _:
                pass

    def elected(self, participant: "Participant", term: int) -> None:
        self.counts["election"] += 1
        self._led[term] = participant.name
        if (participant.name, term) in self._heirs:
            self.counts["transferred"] += 1
        if self._majority_lost:
            self._majority_lost = False
            self.counts["majority regained"] += 1

    def crashed(self, lost: int, living: set[Peer]) -> None:
        self.counts["crash"] += 1
        self.counts["writes lost"] += lost > 0
        if not self._majority_lost and 2 * len(living.intersection(self._voters)) <= len(self._voters):
            self._majority_lost = bool(self._voters)
            self.counts["majority lost"] += self._majority_lost

    def committed(self, entry: Entry, fact: Fact | None, wished: set[str]) -> None:
        counts = self.counts
        match fact:
            case Arrived(incarnation=incarnation):
                counts["arrived" if incarnation == 1 else "arrived again"] += 1
            case Moved():
                counts["moved"] += 1
            case Departed(node=node):
                counts["departed by wish" if node in wished else "departed by lease"] += 1
                counts["departed leader"] += self._led.get(max(self._led, default=0)) == node
                counts["founder gone"] += node == self._founder
            case Upgraded():
                counts["rules raised"] += 1
            case Proposed():
                counts["proposed"] += 1
            case None if isinstance(entry.content, Proposal):
                counts["proposal repeated"] += 1
            case _:
                pass
        if isinstance(entry.content, Council):
            self._council(entry.term, entry.content.voters)

    def _council(self, term: int, voters: tuple[Peer, ...]) -> None:
        if self._voters:
            self.counts["voter added" if len(voters) > len(self._voters) else "voter removed"] += 1
            leader = self._led.get(term)
            before, after = [{voter.node for voter in council} for council in (self._voters, voters)]
            self.counts["leader removed itself"] += leader in before - after
        self._voters = voters

    def finish(self) -> None:
        """A vote was split if there were several candidates, and nobody led in that term."""
        split = [term for term, names in self._candidates.items() if len(names) > 1 and term not in self._led]
        self.counts["split vote"] += len(split)
