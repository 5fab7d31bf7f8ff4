"""What must be true in every state.

- Nobody does what must not be: no assertion fails, nobody gives two votes in a term, whatever crashes in between,
  nobody says of its disk what is not so, and no machine is told of a proposal twice. (participant.py, invariants.py of
  the core)
- One leader for each term. It is enough to look at those who lead at the same time: whoever wins a term after its
  leader has gone has votes that it could have had before, or somebody has voted twice.
- What is committed agrees, with all and forever: everybody's is a beginning of what was ever committed.
- What is committed is on the disks of a majority, for good.
- What somebody finds to be committed ends with an entry of the term it is found in: an older one may be on a majority
  and still be overwritten (Raft, section 5.4.2), but that takes one term more than most worlds have.
- Leaders have all that was committed in the terms before theirs.
- Logs match: where two have an entry of the same term at the same index, they are the same up to there.
- No log has a proposal twice.
"""

from itertools import combinations

from hansard.consensus.role import majority

from .history import History, Tags
from .system import State, System
from .traits import Trait


class Checker:
    def __init__(self, system: System) -> None:
        self._system = system
        self._known: dict[tuple[object, ...], str] = {}

    def fault_in(self, state: State) -> str:
        """What is wrong; empty if nothing is."""
        system = self._system
        stances, _, control, _ = system.unpacked(state)
        traits = system.traits
        history = system.controls[control].history
        key = (history, *sorted([traits.number_of(stance) for stance in stances]))
        fault = self._known.get(key)
        if fault is None:
            fault = self._known[key] = fault_among([traits.of(stance) for stance in stances], history)
            for what in seen_among([traits.of(stance) for stance in stances], history):
                system.seen[what] += 1
        return fault


def fault_among(traits: list[Trait], history: History) -> str:
    for trait in traits:
        if trait.fault:
            return trait.fault
    known = tuple([committed.tag for committed in history])
    leaders = [trait for trait in traits if trait.leads]
    terms = [leader.term for leader in leaders]
    if len(set(terms)) < len(terms):
        return f"two lead in one term: {terms}"
    for trait in traits:
        if trait.committed != known[: len(trait.committed)]:
            return f"{trait.committed} is committed, and {known} was"
    if history and history[-1].tag.term != history[-1].term:
        return f"{known} was found to be committed in term {history[-1].term}, which has nothing in it"
    copies = [trait for trait in traits if trait.durable[: len(known)] == known]
    if len(copies) < majority(len(traits)):
        return f"{known} is committed, and only {len(copies)} have it on disk"
    for leader in leaders:
        needed = tuple([committed.tag for committed in history if committed.term <= leader.term])
        if leader.log[: len(needed)] != needed:
            return f"who leads term {leader.term} has {leader.log}, and {needed} was committed before"
    for trait in traits:
        proposals = [tag.proposal for tag in trait.log if tag.proposal]
        if len(set(proposals)) < len(proposals):
            return f"a proposal is in a log twice: {trait.log}"
    for one, other in combinations([trait.log for trait in traits] + [trait.durable for trait in traits], 2):
        if not match(one, other):
            return f"{one} and {other} do not match"
    return ""


def match(one: Tags, other: Tags) -> bool:
    shared = [place for place, (left, right) in enumerate(zip(one, other, strict=False)) if left.term == right.term]
    return not shared or one[: shared[-1] + 1] == other[: shared[-1] + 1]


def seen_among(traits: list[Trait], history: History) -> list[str]:
    """What shows that the world is worth looking at."""
    found = []
    leaders = [trait for trait in traits if trait.leads]
    proposals = {committed.tag.proposal for committed in history} - {0}
    if len(leaders) > 1:
        found.append("two leaders at once")
    asking = [trait.term for trait in traits if trait.asks]
    if len(set(asking)) < len(asking):
        found.append("two candidates in one term")
    if any(committed.tag.term < committed.term for committed in history):
        found.append("an old entry was committed by a later one")
    found += [f"proposals committed: {count}" for count in range(1, len(proposals) + 1)]
    for leader in leaders:
        for place, tag in enumerate(leader.log):
            if tag.term >= leader.term:
                continue
            copies = [trait for trait in traits if trait.durable[place : place + 1] == (tag,)]
            if len(copies) >= majority(len(traits)) and place >= len(history):
                found.append("an old entry on a majority was not committed")
    return list(dict.fromkeys(found))
