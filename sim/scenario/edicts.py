"""A tiny model of the atomic log: it appoints governments, and accepts reports of the newest one only."""

from dataclasses import dataclass, field

from hansard.phaser.effect import Report
from hansard.phaser.government import Government, NodeId

ACCEPT_US = 3_000


@dataclass(slots=True)
class Edicts:
    newest: Government | None = None
    accepting: bool = True
    accepted: list[Report] = field(default_factory=list)
    waiting: list[tuple[NodeId, int, Report]] = field(default_factory=list)
    """Reports that came while none was accepted: from whom, in which of its lives, and what."""

    def appoint(self, government: Government) -> None:
        assert self.newest is None or government.epoch > self.newest.epoch, "epochs rise"
        self.newest = government

    def accept(self, report: Report) -> bool:
        """Says whether the report is for the newest epoch, and therefore true from now on."""
        if self.newest is None or report.epoch != self.newest.epoch:
            return False
        if report not in self.accepted:
            self.accepted.append(report)
        return True

    def facts(self) -> list[str]:
        newest = [f"newest epoch {self.newest.epoch}"] if self.newest is not None else []
        return [*newest, *[f"{report.achievement} epoch {report.epoch}" for report in self.accepted]]
