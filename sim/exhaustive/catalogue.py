"""Numbers for everything that occurs: entries, messages, participants, stances. And what each event makes of a stance.

A world has very many states, but they are made of few parts: what happens to a participant depends on nothing but
itself and the event. So each step is run once on the real phaser and then looked up, and a state of the world is a
handful of numbers.

A *stance* is a participant together with what it has ever said to others. What it has said is never lost and may be
heard at any time, any number of times, or never; so the stances of all are all that there is, apart from the ledger of
the atomic log and the choices that are left.
"""

from enum import Enum, auto
from typing import Any, NamedTuple, assert_never

from hansard.batch import Batch
from hansard.phaser import Phaser
from hansard.phaser.effect import Answer
from hansard.phaser.event import Event, Received
from hansard.phaser.government import NodeId, epoch_of
from hansard.phaser.message import (
    Acknowledge, Append, Commit, Confirm, Confirmed, Estranged, Message, Part, PartKept, Refuse, Wedge, Wedged)
from hansard.phaser.outcome import NotLeader, ReadFrom, Refusal, Repeated, Stored, Unknown

from .drive import Drive, Platter
from .participant import Learned, Participant, started
from .lean import futile, plain
from .snapshot import IGNORED, LEAN_IGNORED, Describer
from .world import World


class Entry(NamedTuple):
    """A batch at its place in a log."""

    base: int
    end: int
    term: int
    changes: tuple[tuple[int, int], ...]
    """Connection and series of each."""


class Letter(NamedTuple):
    sender: NodeId
    to: NodeId
    message: Message


class Fate(Enum):
    """What can come of delivering a message, now or later."""

    LIVE = auto()
    REFUSED = auto()
    """Nothing but a refusal."""
    DEAD = auto()


def fate(phaser: Phaser, letter: Letter) -> Fate:
    """A promise that is on disk is never taken back, whatever crashes; what it rules out is ruled out for good."""
    message, promised = letter.message, phaser.ledger.promised_synced
    match message:
        case Append() | Commit() | Confirm() | Part() | Wedge():
            return Fate.REFUSED if message.term < promised else Fate.LIVE
        case Refuse():
            return Fate.DEAD if message.newer <= promised else Fate.LIVE
        case Acknowledge() | Wedged() | Confirmed() | PartKept():
            return Fate.DEAD if message.term < promised else Fate.LIVE
        case Estranged():
            return Fate.LIVE
        case _:
            assert_never(message)


class Stance(NamedTuple):
    participant: int
    outbox: int = 0
    """Bits of the messages ever sent."""
    reports: int = 0
    """Bits of the reports ever made: see `report_bit`."""
    settled: int = 0
    """Bits of the entries that this participant has answered for or shown to readers."""
    refused: int = 0
    """Bits of the submissions that it has answered as certainly not stored."""
    read: int = -1
    """How far the log reached from which it let the read be answered."""
    fault: str = ""
    """What it did that must not be."""


class Move(NamedTuple):
    """What a step adds to a stance."""

    participant: int
    outbox: int = 0
    reports: int = 0
    settled: int = 0
    refused: int = 0
    read: int = -1
    fault: str = ""


def report_bit(achievement: str, epoch: int) -> int:
    return 1 << (2 * epoch + (achievement == "expanded"))


class Catalogue:
    def __init__(self, world: World) -> None:
        self.world = world
        self.describer = Describer(self.entry_of, LEAN_IGNORED if world.lean else IGNORED)
        self.entries: list[Entry] = []
        self._entries: dict[bytes, int] = {}
        self.letters: list[Letter] = []
        self._letters: dict[Any, int] = {}
        self.addressed = dict.fromkeys(world.participants, 0)
        """Bits of all messages to each participant."""
        self.participants: list[Participant] = []
        self._participants: dict[Any, int] = {}
        self.durable: list[int] = []
        """By participant, the bits of the entries on its disk."""
        self.stances: list[Stance] = [Stance(-1)]
        self._stances: dict[Stance, int] = {}
        self._moves: dict[tuple[int, Any], Move] = {}
        self.sometimes: dict[str, int] = {}
        """How many different steps did what."""

    # Numbers.

    def entry_of(self, batch: Batch) -> int:
        key = batch.to_bytes()
        number = self._entries.get(key)
        if number is None:
            number = self._entries[key] = len(self.entries)
            header = batch.header
            changes = tuple(zip(batch.connections.tolist(), batch.series.tolist(), strict=True))
            self.entries.append(Entry(header.base_offset, header.end_offset, header.epoch, changes))
        return number

    def entry_bits(self, batches: tuple[Batch, ...]) -> int:
        return sum([1 << self.entry_of(batch) for batch in batches])

    def letter_of(self, sender: NodeId, to: NodeId, message: Message) -> int:
        key = (sender, to, self.describer.content(message))
        number = self._letters.get(key)
        if number is None:
            number = self._letters[key] = len(self.letters)
            self.letters.append(Letter(sender, to, message))
            self.addressed[to] |= 1 << number
        return number

    def participant_of(self, participant: Participant) -> int:
        drive, describer = participant.drive, self.describer
        key = (
            participant.name,
            describer.content(participant.phaser),
            describer.content(drive),
        )
        number = self._participants.get(key)
        if number is None:
            number = self._participants[key] = len(self.participants)
            self.participants.append(participant)
            self.durable.append(self.entry_bits(drive.platter.batches))
        return number

    def stance_of(self, stance: Stance) -> int:
        number = self._stances.get(stance)
        if number is None:
            number = self._stances[stance] = len(self.stances)
            self.stances.append(stance)
        return number

    def first_stance(self, name: NodeId) -> int:
        return self.stance_of(Stance(self.participant_of(started(name, Drive()))))

    # Steps.

    def heard(self, stance: int, letter: int) -> int:
        """The stance after a message was delivered."""
        return self._after(stance, letter, None)

    def after(self, stance: int, key: Any, event: Event) -> int:
        """The stance after another event, which is known by its key."""
        return self._after(stance, key, event)

    def _after(self, number: int, key: Any, event: Event | None) -> int:
        stance = self.stances[number]
        move = self._moves.get((stance.participant, key))
        if move is None:
            if event is None:
                letter = self.letters[key]
                event = Received(letter.sender, letter.message)
                phaser = self.participants[stance.participant].phaser
                if self.world.lean and futile(phaser, letter.sender, letter.message):
                    event = None
            move = Move(stance.participant) if event is None else self._run(stance.participant, event)
            self._moves[stance.participant, key] = move
        return self._moved(number, stance, move)

    def crashed(self, number: int, survivors: int) -> int:
        stance = self.stances[number]
        key = ("crash", survivors)
        move = self._moves.get((stance.participant, key))
        if move is None:
            before = self.participants[stance.participant]
            try:
                after = before.crashed(survivors)
                after.check()
                move = Move(self.participant_of(after))
            except Exception as error:
                move = Move(stance.participant, fault=_described(error))
            self._moves[stance.participant, key] = move
            self._happened("crashed")
        return self._moved(number, stance, move)

    def _moved(self, number: int, stance: Stance, move: Move) -> int:
        after = Stance(
            move.participant,
            stance.outbox | move.outbox,
            stance.reports | move.reports,
            stance.settled | move.settled,
            stance.refused | move.refused,
            max(stance.read, move.read),
            move.fault or stance.fault,
        )
        return number if after == stance else self.stance_of(after)

    def _run(self, number: int, event: Event) -> Move:
        before = self.participants[number]
        try:
            after, learned = before.taking(event)
        except Exception as error:
            return Move(number, fault=_described(error))
        self._notice(before, after, learned)
        fault = ""
        settled = 0
        seen = after.drive.seen
        for answer in learned.answers:
            bits, lie = self._answered(answer, seen)
            settled |= bits
            fault = fault or lie
        if learned.committed is not None:
            settled |= self.entry_bits(
                tuple([batch for batch in seen.batches if batch.header.end_offset <= learned.committed])
            )
        outbox = 0
        for send in learned.sent:
            for message in plain(send.message) if self.world.lean else (send.message,):
                outbox |= 1 << self.letter_of(before.name, send.to, message)
        return Move(
            self.participant_of(after),
            outbox,
            sum([report_bit(report.achievement, report.epoch) for report in learned.reports]),
            settled,
            sum([1 << answer.id for answer in learned.answers if isinstance(answer.outcome, Refusal)]),
            max([read.outcome.committed for read in learned.reads if isinstance(read.outcome, ReadFrom)], default=-1),
            fault,
        )

    def _answered(self, answer: Answer, seen: Platter) -> tuple[int, str]:
        """The entry that an answer vouches for, and what is wrong with it."""
        outcome = answer.outcome
        if not isinstance(outcome, Stored | Repeated):
            return 0, ""
        submission = self.world.submissions[answer.id]
        change = (submission.connection, submission.series)
        for batch in seen.batches:
            entry = self.entries[self.entry_of(batch)]
            if change in entry.changes:
                place = entry.base + entry.changes.index(change)
                if outcome.receipt is not None and outcome.receipt.offset != place:
                    return 0, f"the receipt says {outcome.receipt.offset}, and it lies at {place}"
                return 1 << self.entry_of(batch), ""
        return 0, "acknowledged, and not in the log of who did it"

    def without_dead(self, speaker: int, hearer: int) -> int:
        """The stance of one who has said something, without the messages of which nothing can come for this hearer."""
        stance = self.stances[speaker]
        to = self.participants[self.stances[hearer].participant]
        letters = remaining = stance.outbox & self.addressed[to.name]
        refusing = False
        while letters:
            bit = letters & -letters
            letters ^= bit
            match fate(to.phaser, self.letters[bit.bit_length() - 1]):
                case Fate.DEAD:
                    remaining ^= bit
                case Fate.REFUSED:
                    remaining ^= bit if refusing else 0
                    refusing = True
                case Fate.LIVE:
                    pass
        outbox = stance.outbox & ~self.addressed[to.name] | remaining
        return speaker if outbox == stance.outbox else self.stance_of(stance._replace(outbox=outbox))

    # What happened.

    def _happened(self, what: str) -> None:
        self.sometimes[what] = self.sometimes.get(what, 0) + 1

    def _notice(self, before: Participant, after: Participant, learned: Learned) -> None:
        epoch = epoch_of(after.phaser.term)
        for answer in learned.answers:
            match answer.outcome:
                case Stored():
                    self._happened(f"stored in epoch {epoch}")
                case Repeated():
                    self._happened("repeated")
                case Unknown():
                    self._happened("unknown")
                case NotLeader():
                    self._happened("sent away")
                case _:
                    pass
        if any(isinstance(read.outcome, ReadFrom) for read in learned.reads):
            self._happened(f"read in epoch {epoch}")
        for report in learned.reports:
            self._happened(f"reported {report.achievement} in epoch {report.epoch}")
        if learned.unrolled:
            self._happened("unrolled")
        if before.phaser.leading is not None and after.phaser.leading is None:
            self._happened("deposed")


def _described(error: Exception) -> str:
    """What went wrong, and in which line."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_code.co_qualname}, line {trace.tb_lineno}" if trace is not None else "nowhere"
    return f"{type(error).__name__} in {place}: {error}"
