"""One participant as it stands between two events, and what each event makes of it.

It is the real phaser and a disk. A step copies both, lets the phaser have the event in a turn of its own, carries out
the effects that concern the disk, and returns the rest as what the world learns of it. What is fetched from the disk
is there at once, or in a slow world some time later.

A crash and the restart after it are one step: nobody here can tell a participant that is down from one that nothing
is delivered to.
"""

from collections.abc import Sequence

from msgspec import Struct

from hansard.batch import Batch
from hansard.phaser import Phaser, Settings
from hansard.phaser.effect import Answer, AnswerRead, Committed, Cut, Effect, Fetch, Persist, Report, Reset, Send
from hansard.phaser.event import Event, Fetched, Persisted
from hansard.phaser.government import NodeId, epoch_of
from hansard.phaser.outcome import NotLeader, ReadFrom, Repeated, Stored, Unknown
from hansard.phaser.recovered import decode_note, standing

from .drive import Drive, Platter
from .snapshot import copied

NOW_US = 0
WALL_US = 1
SETTINGS = Settings(part_bytes=32)
"""Snapshots come in several parts; nothing else is ever too large."""


class Learned(Struct):
    """What others learn of a step."""

    sent: list[Send]
    reports: list[Report]
    answers: list[Answer]
    reads: list[AnswerRead]
    noted: list[str]
    """What happened, in the words of a world's `sometimes`."""
    committed: int | None = None


class Participant(Struct):
    name: NodeId
    phaser: Phaser
    drive: Drive
    slow: bool
    fetches: tuple[tuple[Fetch, Platter], ...] = ()
    """What a slow disk has to answer, each with the disk as it was then; one that is asked twice is asked once."""

    @staticmethod
    def started(name: NodeId, drive: Drive, *, slow: bool) -> "Participant":
        """As it begins with this disk."""
        return Participant(name, Phaser(name, 0, SETTINGS, drive.platter.recovered()), drive, slow)

    def taking(self, event: Event) -> tuple["Participant", Learned]:
        """What an event makes of it; this one stays as it was."""
        phaser: Phaser = copied(self.phaser, {})
        drive = self.drive.persisted() if isinstance(event, Persisted) else self.drive
        fetches = self.fetches
        if isinstance(event, Fetched):
            asked = (event.to, event.term, event.offset)
            fetches = tuple([each for each in fetches if (each[0].to, each[0].term, each[0].offset) != asked])
        after = Participant(self.name, phaser, drive, self.slow, fetches)
        learned = Learned([], [], [], [], [])
        events = [event]
        while events:
            for effect in phaser.turn([events.pop()], NOW_US, WALL_US):
                after._carry_out(effect, learned)
                if isinstance(effect, Fetch) and not self.slow:
                    events.append(fetched(effect, after.drive.seen))
        if self.phaser.leading is not None and phaser.leading is None:
            learned.noted.append("deposed")
        _count_tickets_anew(phaser)
        after.check()
        return after, learned

    def _carry_out(self, effect: Effect, learned: Learned) -> None:
        epoch = epoch_of(self.phaser.term)
        match effect:
            case Send():
                learned.sent.append(effect)
            case Persist():
                self.drive = self.drive.persist(effect.writes)
                if any(isinstance(write, Cut) for write in effect.writes):
                    learned.noted.append("unrolled")
                if any(isinstance(write, Reset) for write in effect.writes):
                    learned.noted.append("begun anew")
            case Fetch() if self.slow:
                if all(fetch != effect for fetch, _ in self.fetches):
                    self.fetches = (*self.fetches, (effect, self.drive.seen))
            case Report():
                learned.reports.append(effect)
                learned.noted.append(f"reported {effect.achievement} in epoch {effect.epoch}")
            case Answer():
                learned.answers.append(effect)
                learned.noted.append(_word(effect, epoch))
            case AnswerRead():
                learned.reads.append(effect)
                learned.noted.append(
                    f"read in epoch {epoch}" if isinstance(effect.outcome, ReadFrom) else "read refused"
                )
            case Committed():
                learned.committed = effect.end
            case _:  # backpressure is of no interest here
                pass

    def answer(self, which: int, *, now: bool) -> Fetched:
        """To a fetch, from the disk as it is now, or as it was."""
        fetch, then = self.fetches[which]
        return fetched(fetch, self.drive.seen if now else then)

    def next_ticket(self) -> Persisted:
        return Persisted(self.phaser.ledger.tickets[0].number)

    def crashed(self, survivors: int) -> tuple["Participant", Learned]:
        """Dead and alive again, with so many of the writes that were not persisted."""
        after = Participant.started(self.name, self.drive.crashed(survivors), slow=self.slow)
        return after, Learned([], [], [], [], ["crashed"])

    def check(self) -> None:
        """The ledger speaks the truth about the disk."""
        ledger, seen, platter = self.phaser.ledger, self.drive.seen, self.drive.platter
        lineage = ledger.lineage
        assert (lineage.start, lineage.end) == (seen.start, seen.end), "the ledger knows where its log ends"
        assert decode_note(seen.note).promised == ledger.promised, "what is promised is written down"
        assert decode_note(platter.note).promised >= ledger.promised_synced, "a synced promise is on disk"
        found, sure = standing(platter.recovered()), self.phaser.standing
        assert found.counted >= sure.counted, "it counts by its disk"
        assert max(found.counted, found.expanded) >= sure.expanded, "it counts by its log"
        assert standing(seen.recovered()).counted == ledger.counted, "that it counts is written down"
        synced = [batch for batch in seen.batches if batch.header.end_offset <= ledger.synced]
        assert list(platter.batches[: len(synced)]) == synced, "what is synced is on disk"
        assert ledger.synced == (synced[-1].header.end_offset if synced else seen.start), "synced ends with a batch"
        runs = [(run.term, run.start) for run in lineage.runs if run.start >= seen.start]
        assert runs == _runs(seen.batches)[-len(runs) :] if runs else True, "the lineage is that of the log"
        assert ledger.committed <= ledger.synced or not ledger.stated, "nothing is shown that is not on disk"
        assert len(self.drive.waiting) == len(ledger.tickets), "every ticket is under way"


def fetched(fetch: Fetch, platter: Platter) -> Fetched:
    batches = [batch for batch in platter.batches if batch.header.base_offset >= fetch.offset]
    return Fetched(fetch.to, fetch.term, fetch.offset, platter.start, batches)


def _runs(batches: Sequence[Batch]) -> list[tuple[int, int]]:
    """Where which term begins, by the entries themselves."""
    runs: list[tuple[int, int]] = []
    for batch in batches:
        header = batch.header
        if not runs or runs[-1][0] != header.epoch:
            runs.append((header.epoch, header.base_offset))
    return runs


def _word(answer: Answer, epoch: int) -> str:
    match answer.outcome:
        case Stored():
            return f"stored in epoch {epoch}"
        case Repeated():
            return f"repeated in epoch {epoch}"
        case Unknown():
            return "unknown"
        case NotLeader():
            return "sent away"
        case other:
            return f"refused as {type(other).__name__}"


def _count_tickets_anew(phaser: Phaser) -> None:
    """From the last persisted one: only their distances matter, and a life's number of writes should not."""
    ledger, following = phaser.ledger, phaser.following
    base = ledger.persisted_ticket
    if not base:
        return
    ledger.persisted_ticket = 0
    ledger.ticket -= base
    for ticket in ledger.tickets:
        ticket.number -= base
    if following is not None:
        if following.wedged_mark is not None:
            following.wedged_mark = max(0, following.wedged_mark - base)
        if following.part_mark is not None:
            following.part_mark = max(0, following.part_mark - base)
