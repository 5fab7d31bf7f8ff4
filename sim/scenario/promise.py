"""What every scenario checks without saying so: the phaser's promise, at the moment of each answer and at the end."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hansard.phaser.effect import Achievement, Answer, AnswerRead, Report
from hansard.phaser.government import epoch_of, line
from hansard.phaser.message import Acknowledge, Confirmed, Message, PartKept, Wedge, Wedged
from hansard.phaser.outcome import ReadFrom, Repeated, Stored
from hansard.phaser.recovered import decode_note

from . import wording
from .actor import Actor
from .drive import Copy

if TYPE_CHECKING:
    from .stage import Stage


@dataclass(slots=True)
class Promises:
    acknowledged: dict[int, str] = field(default_factory=dict)
    """Every change that some client was told is stored, by its offset."""
    acknowledged_end: int = 0

    def answered(self, stage: "Stage", actor: Actor, answer: Answer) -> None:
        """Acknowledged means: on the disk of every member, under a government that the atomic log has as opened."""
        outcome = answer.outcome
        if not isinstance(outcome, Stored | Repeated) or outcome.receipt is None:
            return
        repeated = outcome.repeated if isinstance(outcome, Stored) else 0
        changes = stage.submitted[answer.id][repeated:]
        places = dict(enumerate(changes, start=outcome.receipt.offset))
        leading = actor.phaser.leading
        assert leading is not None, f"{actor.name} acknowledges {answer.id} and does not lead"
        opened = Report(Achievement.OPENED, epoch_of(leading.term))
        assert opened in stage.edicts.accepted, f"{actor.name} acknowledges {answer.id} before its epoch is open"
        counted = leading.expanded and min(places) >= leading.expansion_end
        for name in line(leading.government, expanded=counted):
            missing = missing_from(stage.actors[name].drive.synced, places)
            assert not missing, f"{actor.name} acknowledges {answer.id}, and {missing} is not on the disk of {name}"
        self.acknowledged |= places
        self.acknowledged_end = max(self.acknowledged_end, *[offset + 1 for offset in places])

    def sent(self, actor: Actor, message: Message) -> None:
        """Whoever says that it follows a term, or leads it, has promised so on disk; what it acknowledges is there."""
        copy, term = actor.drive.synced, message.term
        leads = isinstance(message, Wedge) and actor.phaser.leading is not None
        if leads or isinstance(message, Wedged | Acknowledge | Confirmed | PartKept):
            assert decode_note(copy.note).promised >= term, (
                f"{actor.name} has not promised {wording.epoch(term)} on disk"
            )
        begins_anew = actor.phaser.ledger.start != copy.start  # whoever sends it a snapshot does not listen to this
        if isinstance(message, Wedged | Acknowledge) and not begins_anew:
            assert message.through <= copy.end, (
                f"{actor.name} acknowledges {message.through}, and has {copy.end} on disk"
            )

    def read(self, stage: "Stage", actor: Actor, answer: AnswerRead) -> None:
        if isinstance(answer.outcome, ReadFrom):
            seen = answer.outcome.committed
            assert seen >= stage.asked[answer.id], f"read {answer.id} misses what was acknowledged before it"

    def at_the_end(self, stage: "Stage") -> None:
        """Whoever leads with an open government has all that was ever acknowledged, and so have its members."""
        newest = stage.edicts.newest
        if newest is None or Report(Achievement.OPENED, newest.epoch) not in stage.edicts.accepted:
            return
        for name in newest.members:
            missing = missing_from(stage.actors[name].drive.synced, self.acknowledged)
            assert not missing, f"{missing} was acknowledged, and is not on the disk of {name}"


def missing_from(copy: Copy, places: dict[int, str]) -> list[str]:
    """Of these changes, those that a disk does not hold at their places; retention may have taken the oldest."""
    held = {
        offset: change
        for batch in copy.batches
        for offset, change in zip(batch.offsets.tolist(), wording.changes(batch), strict=True)
    }
    return [change for offset, change in places.items() if offset >= copy.start and held.get(offset) != change]
