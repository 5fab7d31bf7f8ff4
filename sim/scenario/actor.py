"""One participant of a scenario: the real phaser, its disk, and what has become of it."""

from collections import Counter
from dataclasses import dataclass, field

from hansard.phaser import Phaser, Recovered, Settings
from hansard.phaser.decree import decree_in
from hansard.phaser.event import Event
from hansard.phaser.government import Government, NodeId, epoch_of, reign_of

from . import wording
from .drive import Drive

BUCKET = 0


@dataclass(slots=True)
class Actor:
    name: NodeId
    settings: Settings
    phaser: Phaser = field(init=False)
    drive: Drive = field(default_factory=Drive)
    life: int = 1
    """Which one since the scenario began: nothing that an earlier one waited for comes to a later one."""
    alive: bool = True
    paused: bool = False
    inbox: list[Event] = field(default_factory=list)
    """What happens while it is paused."""
    heard: Government | None = None
    """The last edict that reached it; a restart finds it again."""
    unrolled: int = 0
    """Offsets that it has unrolled since the scenario began."""

    def __post_init__(self) -> None:
        self.phaser = Phaser(self.name, BUCKET, self.settings, Recovered())

    def restart(self) -> None:
        assert not self.alive
        self.alive, self.paused, self.inbox = True, False, []
        self.life += 1
        self.phaser = Phaser(self.name, BUCKET, self.settings, self.drive.synced.recovered())

    def part(self) -> str:
        """What it is at the moment, in the words of a trace."""
        phaser = self.phaser
        epoch = wording.epoch(phaser.term)
        if not self.alive:
            return "down"
        if phaser.leading is not None:
            return f"leads {epoch}, {phaser.leading.phase.name.lower()}"
        if phaser.following is not None:
            return f"follows {phaser.following.upstream} in {epoch}"
        return f"wedged for {epoch}" if phaser.term else "without a government"

    def waiting_for(self) -> list[NodeId]:
        """Whose acknowledgement of the end of the log this leader lacks, itself included."""
        leading, ledger = self.phaser.leading, self.phaser.ledger
        if leading is None or leading.relay is None:
            return []
        behind = [node for node in leading.counted if leading.relay.feeds[node].through < ledger.end]
        return [self.name, *behind] if ledger.synced < ledger.end else behind

    def state(self) -> str:
        """All of it in a line."""
        if not self.alive:
            return f"{self.name}  down: on disk {self.drive.synced.start} to {self.drive.synced.end}"
        ledger = self.phaser.ledger
        waiting = f" (waiting for {' '.join(self.waiting_for())})" if self.waiting_for() else ""
        begins = f" begins {ledger.start}" if ledger.start else ""
        log = f"stored {ledger.end} committed {ledger.committed}"
        return f"{self.name}  {self.part()}:{begins} {log}{waiting}"

    def facts(self) -> list[str]:
        """Every phrase that an `expect` line may say of it now."""
        if not self.alive:
            return ["down"]
        phaser = self.phaser
        ledger, term = phaser.ledger, phaser.term
        phrases = [f"epoch {epoch_of(term)}", f"reign {reign_of(term)}"]
        if phaser.leading is not None:
            phrases += [f"leads epoch {epoch_of(term)}", f"{phaser.leading.phase.name.lower()} epoch {epoch_of(term)}"]
            phrases += [f"counts {node}" for node in phaser.leading.counted]
        elif phaser.following is not None:
            phrases += [f"follows {phaser.following.upstream}", f"follows epoch {epoch_of(term)}"]
        else:
            phrases.append("wedged")
        phrases += [f"begins {ledger.start}", f"stored {ledger.end}", f"synced {ledger.synced}"]
        phrases += [f"committed {ledger.committed}", f"backlog {len(phaser.desk.backlog)}"]
        phrases += [f"waiting for {node}" for node in self.waiting_for()]
        if ledger.collection is not None:
            phrases.append(f"parts {len(ledger.parts)} of {ledger.collection.total}")
        if self.unrolled:
            phrases += ["unrolled", f"unrolled {self.unrolled}"]
        return [*phrases, *self._holdings()]

    def _holdings(self) -> list[str]:
        batches = [batch for batch in self.drive.latest.batches if decree_in(batch) is None]
        held = Counter([change for batch in batches for change in wording.changes(batch)])
        return [phrase for change, times in held.items() for phrase in (f"holds {change}", f"holds {change} x{times}")]
