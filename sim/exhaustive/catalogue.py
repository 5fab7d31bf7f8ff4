"""Numbers for everything that occurs: entries, messages, participants, stances. And what each event makes of a stance.

A world has very many states, but they are made of few parts: what happens to a participant depends on nothing but
itself and the event. So each step is run once on the real phaser and then looked up, and a state of the world is a
handful of numbers.

A *stance* is a participant together with what it has ever said to others. What it has said is never lost and may be
heard at any time, any number of times, or never; so the stances of all are all that there is, apart from what the
atomic log has and the choices that are left.
"""

from collections import Counter
from collections.abc import Callable, Hashable
from typing import NamedTuple

from hansard.batch import Batch
from hansard.phaser.effect import Answer
from hansard.phaser.event import Event, Received
from hansard.phaser.government import NodeId
from hansard.phaser.message import Message
from hansard.phaser.outcome import ReadFrom, Refusal, Repeated, Stored

from .drive import Drive, Platter
from .lean import futile, plain, serves_for
from .letter import Fate, Letter, fate
from .participant import Learned, Participant
from .snapshot import IGNORED, LEAN_IGNORED, Content, Describer
from .world import World


class Entry(NamedTuple):
    """A batch at its place in a log."""

    base: int
    end: int
    term: int
    changes: tuple[tuple[int, int], ...]
    """Connection and series of each."""


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
    reads: frozenset[tuple[int, int]] = frozenset()
    """The reads that it let be answered, and how far the log reached from which they are."""
    fault: str = ""
    """What it did that must not be."""


Move = Stance
"""What a step adds to a stance."""


def report_bit(achievement: str, epoch: int) -> int:
    return 1 << (2 * epoch + (achievement == "expanded"))


class Known(NamedTuple):
    """What is known of all messages that there were when it was last looked at, for one participant. Each is a mask."""

    letters: int = 0
    """How many there were."""
    dead: int = 0
    refused: int = 0


class Catalogue:
    def __init__(self, world: World) -> None:
        self.world = world
        self.describer = Describer(self.entry_of, LEAN_IGNORED if world.lean else IGNORED)
        self.entries: list[Entry] = []
        self._entries: dict[bytes, int] = {}
        self.letters: list[Letter] = []
        self._letters: dict[Content, int] = {}
        self._dispensable: list[tuple[int, int]] = []
        """The bit of a message, and of those that are of no use beside it."""
        self.addressed = dict.fromkeys(world.participants, 0)
        """Bits of all messages to each participant."""
        self.participants: list[Participant] = []
        self._participants: dict[Content, int] = {}
        self.durable: list[int] = []
        """By participant, the bits of the entries on its disk."""
        self.inert: list[int] = []
        """By participant, the bits of messages that are known to change nothing about it."""
        self._known: list[Known] = []
        self.stances: list[Stance] = [Stance(-1)]
        self._stances: dict[Stance, int] = {}
        self._moves: dict[tuple[int, Hashable], Move] = {}
        self.happened: Counter[str] = Counter()
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

    def entry_bits(self, platter: Platter, end: int) -> int:
        """Of what a log has before an offset."""
        return sum([1 << self.entry_of(batch) for batch in platter.batches if batch.header.end_offset <= end])

    def letter_of(self, sender: NodeId, to: NodeId, message: Message) -> int:
        key = (sender, to, self.describer.content(message))
        number = self._letters.get(key)
        if number is None:
            number = self._letters[key] = len(self.letters)
            letter = Letter(sender, to, message)
            if self.world.lean:
                self._compare(letter)
            self.letters.append(letter)
            self.addressed[to] |= 1 << number
        return number

    def _compare(self, new: Letter) -> None:
        start, number = len(self.world.before), len(self.letters)
        for other, old in enumerate(self.letters):
            if old[:2] == new[:2]:
                if serves_for(old.message, new.message, start):
                    self._dispensable.append((1 << other, 1 << number))
                elif serves_for(new.message, old.message, start):
                    self._dispensable.append((1 << number, 1 << other))

    def participant_of(self, participant: Participant) -> int:
        describer = self.describer
        key = (
            participant.name,
            describer.content(participant.phaser),
            describer.content(participant.drive),
            describer.content(participant.fetches),
        )
        number = self._participants.get(key)
        if number is None:
            number = self._participants[key] = len(self.participants)
            self.participants.append(participant)
            platter = participant.drive.platter
            self.durable.append(self.entry_bits(platter, platter.end))
            self.inert.append(0)
            self._known.append(Known())
        return number

    def stance_of(self, stance: Stance) -> int:
        number = self._stances.get(stance)
        if number is None:
            number = self._stances[stance] = len(self.stances)
            self.stances.append(stance)
        return number

    def participant_in(self, stance: int) -> Participant:
        return self.participants[self.stances[stance].participant]

    def first_stance(self, name: NodeId, drive: Drive) -> int:
        return self.stance_of(Stance(self.participant_of(Participant.started(name, drive, slow=self.world.slow))))

    # Steps.

    def heard(self, number: int, letter: int) -> int:
        """The stance after a message was delivered."""
        sender, _, message = self.letters[letter]
        participant = self.stances[number].participant
        if self.world.lean and futile(self.participants[participant].phaser, sender, message):
            after = number
        else:
            after = self.after(number, letter, Received(sender, message))
        if after == number and self._moves.get((participant, letter), Stance(participant)) == Stance(participant):
            self.inert[participant] |= 1 << letter
        return after

    def after(self, number: int, key: Hashable, event: Event) -> int:
        """The stance after an event, which is known by its key."""
        return self._after(number, key, lambda participant: participant.taking(event))

    def crashed(self, number: int, survivors: int) -> int:
        return self._after(number, ("crash", survivors), lambda participant: participant.crashed(survivors))

    def _after(self, number: int, key: Hashable, step: Callable[[Participant], tuple[Participant, Learned]]) -> int:
        stance = self.stances[number]
        move = self._moves.get((stance.participant, key))
        if move is None:
            move = self._moves[stance.participant, key] = self._run(stance.participant, step)
        outbox = stance.outbox | move.outbox
        if outbox != stance.outbox:
            for bit, useless in self._dispensable:
                if outbox & bit:
                    outbox &= ~useless
        after = Stance(
            move.participant,
            outbox,
            stance.reports | move.reports,
            stance.settled | move.settled,
            stance.refused | move.refused,
            stance.reads | move.reads,
            move.fault or stance.fault,
        )
        return number if after == stance else self.stance_of(after)

    def _run(self, number: int, step: Callable[[Participant], tuple[Participant, Learned]]) -> Move:
        try:
            after, learned = step(self.participants[number])
        except Exception as error:  # whatever it is, a phaser must not fail here
            return Stance(number, fault=_described(error))
        self.happened.update(dict.fromkeys(learned.noted, 1))
        settled, fault, seen = 0, "", after.drive.seen
        for answer in learned.answers:
            bits, lie = self._answered(answer, seen)
            settled |= bits
            fault = fault or lie
        if learned.committed is not None:
            settled |= self.entry_bits(seen, learned.committed)
        outbox = 0
        for send in learned.sent:
            for message in plain(send.message) if self.world.lean else (send.message,):
                outbox |= 1 << self.letter_of(after.name, send.to, message)
        return Stance(
            self.participant_of(after),
            outbox,
            sum({report_bit(report.achievement, report.epoch) for report in learned.reports}),
            settled,
            sum({1 << answer.id for answer in learned.answers if isinstance(answer.outcome, Refusal)}),
            frozenset(
                [(read.id, read.outcome.committed) for read in learned.reads if isinstance(read.outcome, ReadFrom)]
            ),
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
            number = self.entry_of(batch)
            entry = self.entries[number]
            if change in entry.changes:
                place = entry.base + entry.changes.index(change)
                if outcome.receipt is not None and outcome.receipt.offset != place:
                    return 0, f"the receipt says {outcome.receipt.offset}, and it lies at {place}"
                return 1 << number, ""
        if submission in self.world.before:
            return 0, ""  # from before its log begins
        return 0, "acknowledged, and not in the log of who did it"

    # Forgetting.

    def without_dead(self, speaker: int, hearer: int) -> int:
        """The stance of one who has said something, without the messages of which nothing can come for this hearer."""
        stance, participant = self.stances[speaker], self.stances[hearer].participant
        known = self._known[participant]
        if known.letters < len(self.letters):
            known = self._known[participant] = self._look_at_letters(participant, known)
        refused = stance.outbox & known.refused
        outbox = stance.outbox & ~known.dead & ~known.refused | refused & -refused
        return speaker if outbox == stance.outbox else self.stance_of(stance._replace(outbox=outbox))

    def _look_at_letters(self, participant: int, known: Known) -> Known:
        to = self.participants[participant]
        dead, refused = known.dead, known.refused
        for number in range(known.letters, len(self.letters)):
            letter = self.letters[number]
            if letter.to == to.name:
                what = fate(to.phaser, letter)
                dead |= (what is Fate.DEAD) << number
                refused |= (what is Fate.REFUSED) << number
        return Known(len(self.letters), dead, refused)


def _described(error: Exception) -> str:
    """What went wrong, and in which line."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_code.co_qualname}, line {trace.tb_lineno}" if trace is not None else "nowhere"
    return f"{type(error).__name__} in {place}: {error}"
