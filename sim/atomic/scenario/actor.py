"""One participant of a scenario: the real core, its disk, and what has become of it."""

from collections import Counter
from dataclasses import dataclass, field

from hansard.consensus.cluster import NodeId, Peer
from hansard.consensus.consensus import Consensus
from hansard.consensus.content import Proposal
from hansard.consensus.event import Event
from hansard.consensus.role import Role
from hansard.consensus.settings import Settings

from . import wording
from .drive import Drive
from .register import Register


@dataclass(slots=True)
class Actor:
    name: str
    """In the scenario, and to the others unless it has taken somebody else's."""
    number: int
    """In the order in which they came."""
    settings: Settings
    address: str
    node: NodeId = ""
    zone: str = ""
    seeds: tuple[str, ...] = ()
    """Addresses."""
    rules_max: int = 1
    jitter: float = 0.0
    """How much longer than the shortest time it waits for a leader, as a fraction of that."""
    core: Consensus = field(init=False)
    machine: Register = field(init=False)
    drive: Drive = field(default_factory=Drive)
    process: int = 0
    """Which one since the scenario began: nothing that an earlier one waited for comes to a later one."""
    lives: int = 0
    alive: bool = False
    paused: bool = False
    inbox: list[Event] = field(default_factory=list)
    """What happens while it is paused."""
    said: list[str] = field(default_factory=list)
    """What it said loudly since the scenario began."""
    promise_told: tuple[int, Peer | None] = (0, None)
    """Term and vote on disk, as the trace said last."""
    told_end: int = 0
    """How far the trace has told of what it has applied."""
    lost: int = 0
    """Entries that it had and has cut off since the scenario began."""

    def draw_life(self) -> int:
        self.lives += 1
        return self.lives * wording.LIVES + self.number

    def start(self, now_us: int) -> None:
        assert not self.alive, f"{self.name} is there already"
        self.alive, self.paused, self.inbox = True, False, []
        self.process += 1
        self.machine = Register()
        self.core = Consensus(
            self.node,
            self.address,
            self.settings,
            self.machine,
            self.drive.recovered(),
            jitter=lambda: self.jitter,
            draw_life=self.draw_life,
            now_us=now_us,
            seeds=self.seeds,
            zone=self.zone,
            rules_max=self.rules_max,
        )

    @property
    def leads(self) -> bool:
        return self.alive and self.core.role is Role.LEADER

    def part(self) -> str:
        """What it is at the moment, in the words of a trace."""
        if not self.alive:
            return "down"
        match self.core.role:
            case Role.LEADER:
                return f"leads term {self.core.term}"
            case Role.CANDIDATE:
                return f"wants to be elected, term {self.core.term}"
            case Role.FOLLOWER:
                return f"follows {self.core.leader or 'nobody'} in term {self.core.term}"

    def state(self) -> str:
        """All of it in a line."""
        name = wording.peer(self.core.peer) if self.alive else self.name
        if not self.alive:
            image = self.drive.synced
            return f"{name}  down: on disk term {self.drive.note.term}, log {image.start} to {image.end}"
        core = self.core
        log = f"log {core.log.start} to {core.log.end}, committed {core.committed}, voters {wording.peers(core.voters)}"
        return f"{name}  {self.part()}: {log}"

    def facts(self) -> list[str]:
        """Every phrase that an `expect` line may say of it now."""
        if not self.alive:
            return ["down", f"ends {self.drive.synced.end}", f"term {self.drive.note.term}"]
        core = self.core
        phrases = [f"term {core.term}", f"life {core.peer.life // wording.LIVES}", f"rules {core.roster.rules}"]
        phrases.append(f"voted for {wording.peer(core.vote) if core.vote is not None else 'nobody'}")
        if core.role is Role.LEADER:
            phrases += ["leads", f"leads term {core.term}"]
        elif core.role is Role.FOLLOWER:
            phrases += ["follows", f"follows {core.leader or 'nobody'}"]
        else:
            phrases.append("wants to be elected")
        phrases += [f"begins {core.log.start}", f"ends {core.log.end}", f"synced {core.synced}"]
        phrases += [f"committed {core.committed}", f"voters {wording.peers(core.voters)}"]
        for node, participant in core.roster.participants.items():
            phrases += [f"knows {node}", f"knows {node} as {participant.incarnation}"]
            phrases.append(f"knows {node} at {participant.address}")
        if self.lost:
            phrases += ["cut", f"cut {self.lost}"]
        return [*phrases, *self.said, *self.machine.events, *self._holdings()]

    def _holdings(self) -> list[str]:
        applied = Counter(self.machine.proposed)
        contents = [entry.content for entry in self.core.log.entries]
        held = Counter([content.content.decode() for content in contents if isinstance(content, Proposal)])
        phrases = []
        for verb, counter in (("applied", applied), ("holds", held)):
            for word, times in counter.items():
                phrases += [f"{verb} {word}", f"{verb} {word} x{times}"]
        return phrases
