"""What participants are asked to do: to propose, and to read."""

from typing import TYPE_CHECKING

from msgspec import Struct

from hansard.consensus.effect import AnswerRead
from hansard.consensus.event import Propose, Read

from .participant import Participant

if TYPE_CHECKING:
    from .world import World


class Asked(Struct, frozen=True):
    """What a process was asked; if it is gone, nobody waits any more."""

    participant: Participant
    process: int
    content: bytes

    @property
    def alive(self) -> bool:
        return self.participant.consensus is not None and self.participant.process == self.process


class Workload:
    def __init__(self, world: "World") -> None:
        self.world = world
        self.producing = True
        self.settled_count = 0
        self._number = 0
        self._proposals: dict[int, Asked] = {}
        self._reads: dict[int, Asked] = {}

    def begin(self) -> None:
        self.world.clock.after(200_000, self._propose)
        self.world.clock.after(300_000, self._read)

    @property
    def waiting_proposals(self) -> list[bytes]:
        return [asked.content for asked in self._proposals.values() if asked.alive]

    @property
    def waiting_reads(self) -> list[int]:
        return [number for number, asked in self._reads.items() if asked.alive]

    def _someone(self) -> Participant | None:
        """Mostly anybody; now and then one who takes itself for the leader."""
        world = self.world
        living = world.living
        leaders = [one for one in living if one.leads]
        chosen = leaders if leaders and world.random.random() < 0.3 else living
        return world.random.choice(chosen) if chosen else None

    def _propose(self) -> None:
        world, random = self.world, self.world.random
        if not self.producing:
            return
        world.clock.after(int(random.expovariate(1) * world.plan.gap_us), self._propose)
        participant = self._someone()
        if participant is None or participant.leaving:
            return
        for _ in range(random.choice((1, 1, 1, 1, 4))):
            if participant.consensus is not None:
                self._propose_one(participant)

    def _propose_one(self, participant: Participant) -> None:
        world = self.world
        self._number += 1
        padding = b"." * int(world.random.random() * world.plan.length)
        content = b"%s:%d:%s" % (participant.name.encode(), self._number, padding)
        self._proposals[self._number] = Asked(participant, participant.process, content)
        for oracle in world.oracles:
            oracle.proposed(participant, content)
        participant.happen(Propose(self._number, content))

    def settled(self, participant: Participant, number: int) -> None:
        asked = self._proposals.pop(number)
        assert (asked.participant, asked.process) == (participant, participant.process)
        self.settled_count += 1
        self.world.coverage.counts["proposal settled elsewhere"] += not participant.leads
        for oracle in self.world.oracles:
            oracle.settled(participant, asked.content)

    def _read(self) -> None:
        world, random = self.world, self.world.random
        if not self.producing:
            return
        world.clock.after(int(random.expovariate(1) * world.plan.read_us), self._read)
        participant = self._someone()
        if participant is None or participant.leaving:
            return
        self._number += 1
        stale = participant.leads and world.leader is not participant
        world.coverage.counts["read at a stale leader"] += stale
        for oracle in world.oracles:
            oracle.read_asked(self._number)
        self._reads[self._number] = Asked(participant, participant.process, b"")
        participant.happen(Read(self._number))

    def read_answered(self, participant: Participant, answer: AnswerRead) -> None:
        asked = self._reads.pop(answer.id)
        assert (asked.participant, asked.process) == (participant, participant.process)
        self.world.coverage.counts["read answered"] += 1
        for oracle in self.world.oracles:
            oracle.read_answered(participant, answer)
