"""What happened in a run, and how often: a run in which nothing happened has tested nothing."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from hansard.phaser.effect import Answer, Cut, Effect, Persist, Reset, Send
from hansard.phaser.event import Accepted, Appointed, Connected, Event, Persisted, Received, Submit, Tick
from hansard.phaser.government import epoch_of, reign_of
from hansard.phaser.leader import Phase
from hansard.phaser.message import Part, Refuse, Wedged
from hansard.phaser.outcome import Outcome, Repeated, Stored

from .edict import Edict
from .participant import Participant
from .words import event_words

REQUIRED: Final = (
    "usurpation with a member ahead",
    "usurpation with a member behind",
    "acclimation interrupted",
    "duplicate refused",
    "gap refused",
    "wrap",
    "leader wedged",
    "snapshot resumed",
)
"""Each batch of 500 seeds must have seen all of these."""


class Coverage:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._open_term: dict[str, int] = {}

    def crashed(self, participant: Participant, edict: Edict) -> None:
        self.counts["crash"] += 1
        self._open_term.pop(participant.name, None)
        if participant.name in edict.newest.newcomers and participant.name not in edict.full:
            self.counts["acclimation interrupted"] += 1

    def answered(self, submit: Submit, outcome: Outcome) -> None:
        match outcome:
            case Repeated():
                self.counts["duplicate refused"] += 1
            case Stored():
                self.counts["wrap"] += submit.continues is not None
                self.counts["repeated in part"] += outcome.repeated > 0
            case _:
                pass
        name = type(outcome).__name__
        self.counts["gap refused" if name == "Gap" else f"answer {name}"] += 1

    def before_turn(self, participant: Participant, events: Sequence[Event]) -> None:
        assert participant.phaser is not None
        leading = participant.phaser.leading
        if leading is None or leading.phase is Phase.OPEN:
            return
        for event in events:
            match event:
                case Received(message=Wedged(term=leading.term, end=int(end))) if end < leading.inherited_end:
                    self.counts["usurpation with a member behind"] += 1
                case _:
                    pass

    def after_turn(self, participant: Participant, events: Sequence[Event], effects: Sequence[Effect]) -> None:
        phaser = participant.phaser
        assert phaser is not None
        for effect in effects:
            if isinstance(effect, Persist):
                for write in effect.writes:
                    if isinstance(write, Cut):
                        self.counts["usurpation with a member ahead"] += 1
                    elif isinstance(write, Reset):
                        self.counts["copy begun anew"] += 1
            elif isinstance(effect, Send) and isinstance(effect.message, Part) and effect.message.number:
                self._resumed(events)
        leading = phaser.leading
        was = self._open_term.pop(participant.name, None)
        if leading is not None and leading.phase is Phase.OPEN:
            self._open_term[participant.name] = leading.term
            self.counts["government opened"] += was != leading.term
        elif was is not None:
            refused = any(isinstance(event, Received) and isinstance(event.message, Refuse) for event in events)
            self.counts["leader wedged" if refused or leading is None else "leader reappointed"] += 1

    def _resumed(self, events: Sequence[Event]) -> None:
        """A later part is sent: because the other one restarted, or the connection did, and it goes on where it was?"""
        for event in events:
            if isinstance(event, Connected) or (isinstance(event, Received) and isinstance(event.message, Wedged)):
                self.counts["snapshot resumed"] += 1
                return

    # For people.

    def describe(self, participant: Participant) -> str:
        phaser = participant.phaser
        if phaser is None:
            return f"{participant.name} is down"
        ledger, term = phaser.ledger, phaser.term
        if phaser.leading is not None:
            role = f"leads ({phaser.leading.phase.name.lower()})"
        else:
            role = "follows" if phaser.following is not None else "is wedged"
        reign = f".{reign_of(term)}" if reign_of(term) else ""
        place = f"start {ledger.start} committed {ledger.committed} synced {ledger.synced} end {ledger.end}"
        return f"{participant.name} {role} epoch {epoch_of(term)}{reign}: {place}"

    def lines(self, participant: Participant, events: Iterable[Event], effects: Iterable[Effect]) -> list[str]:
        """What a turn looks like from outside; waiting and ticking left out."""
        found = [
            f"{participant.name} < {event_words(event)}" for event in events if not isinstance(event, Tick | Persisted)
        ]
        found += [
            f"{participant.name} answers {effect.id}: {effect.outcome}"
            for effect in effects
            if isinstance(effect, Answer)
        ]
        if found or any(isinstance(event, Persisted | Appointed | Accepted) for event in events):
            found.append("    " + self.describe(participant))
        return found
