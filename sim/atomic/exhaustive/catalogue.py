"""Numbers for everything that occurs: messages and participants. And what each event makes of a participant.

A world has very many states, but they are made of few parts: what happens to a participant depends on nothing but
itself and the event. So each step is run once on the real core and then looked up.

Everybody has the same name in its own eyes, the first one; so it does not matter who of several somebody is. Who speaks
to whom, and about whom, is in the names of the one whose participant, or message, it is.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from hansard.consensus.cluster import NodeId, Peer
from hansard.consensus.event import Received
from hansard.consensus.message import Append, Envelope, Message, PreVote

from .claims import check_commit_points, check_joined, check_repeated
from .described import IGNORED, LEAN_IGNORED, Describer
from .drive import Drive, Platter
from .lean import dead, forgets_nothing, only_knows_more, plain, standing, unsigned
from .participant import Learned, Participant, Turn, Word
from .renaming import Renaming
from .world import CLUSTER, LIFE, World

Words = tuple[int, ...]
"""Bits of messages, by the name of who they are for."""

Step = Callable[[Participant], tuple[Participant, Learned]]


class Letter(NamedTuple):
    sender: NodeId
    to: NodeId
    message: Message


class Crash(NamedTuple):
    """A restart at some moment of a step, and what was said until then."""

    participant: int
    words: Words


class Peril(NamedTuple):
    """A moment at which one may crash: what the disk has then, what vote was said, and all that was."""

    drive: Drive
    voted: tuple[int, NodeId]
    words: Words


class Move(NamedTuple):
    """What a step makes of a participant, and what is said in it that was not said before."""

    participant: int
    words: Words
    crashes: tuple[Crash, ...] = ()
    """What may become of it instead."""
    eager: bool = False
    """It only knows more afterwards."""


class Catalogue:
    def __init__(self, world: World, turns: Sequence[tuple[int, ...]]) -> None:
        self.world = world
        self.names = world.voters
        self.silence: Words = (0,) * len(self.names)
        self.letters: list[Letter] = []
        self._letters: dict[Letter, int] = {}
        self._describer = Describer(IGNORED if world.exact else LEAN_IGNORED)
        self.participants: list[Participant] = []
        self._participants: dict[Hashable, int] = {}
        self._standing: list[Words] = []
        """By participant, what it says all the time."""
        self._dead: list[tuple[int, int]] = []
        """By participant, how many messages were looked at, and the bits of those that are of no use to it."""
        self._heard: list[dict[int, Move]] = []
        """By participant, what each message makes of it."""
        self._moves: dict[tuple[int, Hashable], Move] = {}
        self._crashes: dict[int, tuple[Crash, ...]] = {}
        self._restarts: dict[Hashable, tuple[int, Words]] = {}
        self.faults: dict[int, str] = {}
        """By participant, what it did that must not be."""
        self.happened: Counter[str] = Counter()
        """How many different steps did what, and how many crashes lost what."""
        self.turns = turns
        """The ways to change names: which one each becomes. The first changes nothing."""
        self._renamings = [
            Renaming({self.names[old]: self.names[new] for old, new in enumerate(turn)}) for turn in turns
        ]
        self._renamed: dict[tuple[int, int], int] = {}
        self._renamed_letters: list[list[int]] = [[] for _ in turns]

    # Numbers.

    def letter_of(self, sender: NodeId, to: NodeId, message: Message) -> int:
        if not self.world.exact and unsigned(message):
            sender = next(name for name in self.names if name != to)
        letter = Letter(sender, to, message)
        number = self._letters.get(letter)
        if number is None:
            number = self._letters[letter] = len(self.letters)
            self.letters.append(letter)
        return number

    def pre_vote(self, term: int) -> int:
        return self.letter_of(self.names[1], self.names[0], PreVote(term, granted=True))

    def participant_of(self, participant: Participant) -> int:
        key = self._describer.content(participant)
        number = self._participants.get(key)
        if number is None:
            number = self._participants[key] = self._added(participant)
        return number

    def _added(self, participant: Participant) -> int:
        self.participants.append(participant)
        said = [] if self.world.exact else standing(participant.core)
        self._standing.append(self._words_of(said))
        self._dead.append((0, 0))
        self._heard.append({})
        return len(self.participants) - 1

    def _words_of(self, said: Iterable[Word]) -> Words:
        words = [0] * len(self.names)
        for to, message in said:
            if to in self.names:
                words[self.names.index(to)] |= 1 << self.letter_of(self.names[0], to, message)
        return tuple(words)

    def dead(self, number: int) -> int:
        """Bits of the messages that are of no use to a participant any more."""
        known, mask = self._dead[number]
        if known < len(self.letters):
            participant = self.participants[number]
            for place in range(known, len(self.letters)):
                sender, to, message = self.letters[place]
                if to == self.names[0] and not self.world.exact and dead(participant, sender, message):
                    mask |= 1 << place
            self._dead[number] = len(self.letters), mask
        return mask

    # Other names.

    def renamed(self, number: int, turn: int) -> int:
        if not turn or number in self.faults:
            return number
        found = self._renamed.get((number, turn))
        if found is None:
            found = self.participant_of(self._renamings[turn].renamed(self.participants[number]))
            self._renamed[number, turn] = found
        return found

    def renamed_letters(self, bits: int, turn: int) -> int:
        if not turn:
            return bits
        known, renaming = self._renamed_letters[turn], self._renamings[turn]
        while len(known) < bits.bit_length():
            sender, to, message = self.letters[len(known)]
            letter = self.letter_of(renaming.renamed(sender), renaming.renamed(to), renaming.renamed(message))
            known.append(1 << letter)
        found = 0
        for number in numbers_in(bits):
            found |= known[number]
        return found

    # Steps.

    def begun(self) -> int:
        participant = Participant.started(self.names[0], self.world.drive(), slow=self.world.slow)
        participant, _ = participant.taking([])
        while participant.drive.waiting:
            participant, _ = participant.persisted()
        return self.participant_of(participant)

    def heard(self, number: int, letter: int) -> Move:
        move = self._heard[number].get(letter)
        if move is None:
            event = _received(self.letters[letter])
            move = self._run(number, lambda participant: participant.taking([event]))
            if self.world.tried and move.participant not in self.faults:
                move = self._tried(number, self.letters[letter]) or move
            self._heard[number][letter] = move
        return move

    def joined(self, number: int, one: int, other: int) -> Move:
        """Nothing, unless two letters in one are something else than one after the other."""
        sender, messages = self.letters[one].sender, (self.letters[one].message, self.letters[other].message)
        posted, content = partial(_posted, sender), self._describer.content

        def step(participant: Participant) -> tuple[Participant, Learned]:
            first, second = messages
            assert isinstance(first, Append) and isinstance(second, Append)
            check_joined(participant, first, second, posted, content)
            return participant.taking([])

        move = self._move(number, ("joined", one, other), step)
        return move if move.participant in self.faults else Move(number, self.silence)

    def heard_beside_leader(self, number: int, letter: int) -> Move:
        """The same while a leader is heard."""
        event = _received(self.letters[letter])
        key = ("beside", letter)
        return self._move(number, key, lambda participant: participant.taking([event], hears_leader=True))

    def impatient(self, number: int) -> Move:
        return self._move(number, "impatient", Participant.losing_patience)

    def repeated(self, number: int) -> Move:
        return self._move(number, "repeated", Participant.repeating)

    def persisted(self, number: int) -> Move:
        return self._move(number, "persisted", Participant.persisted)

    def crashes_at(self, number: int) -> tuple[Crash, ...]:
        """What a crash between two steps makes of it."""
        found = self._crashes.get(number)
        if found is None:
            at = self.participants[number]
            found = self._crashes[number] = self._crashed(number, number, [Peril(at.drive, at.voted, self.silence)])
        return found

    def _move(self, number: int, key: Hashable, step: Step) -> Move:
        move = self._moves.get((number, key))
        if move is None:
            move = self._moves[number, key] = self._run(number, step)
        return move

    def _run(self, number: int, step: Step) -> Move:
        before = self.participants[number]
        try:
            after, learned = step(before)
        except Exception as error:  # whatever it is, a core must not fail here
            return Move(self._faulty(before, error), self.silence)
        self.happened.update(dict.fromkeys(learned.noted, 1))
        words, perils = self.silence, []
        for turn in learned.turns:
            words = both(words, self._said(turn))
            perils.append(Peril(turn.drive, turn.voted, self._news(number, words)))
        words = perils.pop().words
        found = self.participant_of(after)
        eager = not self.world.exact and only_knows_more(before, after)
        return Move(found, words, self._crashed(number, found, perils), eager)

    def _tried(self, number: int, letter: Letter) -> Move | None:
        """If what lean.py claims of this letter is wrong, the fault."""
        before, append = self.participants[number], letter.message
        if not isinstance(append, Append):
            return None
        posted, content = partial(_posted, letter.sender), self._describer.content
        try:
            check_commit_points(before, append, posted, content)
            check_repeated(before, append, posted, content)
        except Exception as error:  # whatever it is, as above
            return Move(self._faulty(before, error), self.silence)
        return None

    def _crashed(self, before: int, after: int, perils: Sequence[Peril]) -> tuple[Crash, ...]:
        """What can become of one at some of the moments of a step: whatever was under way to its disk, and was said."""
        found: dict[Crash, None] = {}
        for drive, voted, words in perils if self.world.crashes_max else ():
            for survivors in range(len(drive.unsynced) + 1):
                left = drive.crashed(survivors).platter
                restarted, said = self._restarted(before, left, voted)
                calm = [after] if any(words) else [before, after]
                if not any(self._covers(other, restarted) for other in calm):
                    found[Crash(restarted, both(words, self._news(before, said)))] = None
                    self.happened.update(_lost(self.participants[before], drive.seen, left))
        return tuple(found)

    def _restarted(self, number: int, left: Platter, voted: tuple[int, NodeId]) -> tuple[int, Words]:
        """What becomes of it depends on what the disk has left and others were told, and nothing else."""
        found = self._restarts.get((left, voted))
        if found is None:
            before = self.participants[number]
            try:
                after, learned = before.restarted(left, voted)
            except Exception as error:  # nor must one fail to start
                found = self._faulty(before, error), self.silence
            else:
                found = self.participant_of(after), self._said(learned.turns[-1])
            self._restarts[left, voted] = found
        return found

    def _covers(self, number: int, restarted: int) -> bool:
        """Whether a restart makes no difference."""
        if self.world.exact or number in self.faults or restarted in self.faults:
            return False
        return forgets_nothing(self.participants[number], self.participants[restarted])

    def _faulty(self, before: Participant, error: Exception) -> int:
        number = self._added(before)
        self.faults[number] = _described(error)
        return number

    def _said(self, turn: Turn) -> Words:
        if self.world.exact:
            return self._words_of(turn.words)
        return self._words_of([*plain(turn.core, turn.words), *standing(turn.core)])

    def _news(self, number: int, words: Words) -> Words:
        return tuple([new & ~old for new, old in zip(words, self._standing[number], strict=True)])


def both(one: Words, other: Words) -> Words:
    return tuple([left | right for left, right in zip(one, other, strict=True)])


def numbers_in(bits: int) -> list[int]:
    found = []
    while bits:
        bit = bits & -bits
        bits ^= bit
        found.append(bit.bit_length() - 1)
    return found


def _received(letter: Letter) -> Received:
    return _posted(letter.sender, letter.message)


def _posted(sender: NodeId, message: Message) -> Received:
    return Received(Envelope(CLUSTER, Peer(sender, LIFE), sender, LIFE, message))


def _lost(before: Participant, seen: Platter, left: Platter) -> list[str]:
    """What was on its way to the disk and did not get there, or got there without being answered for."""
    found = ["crashed"]
    if left.end < seen.end:
        found.append("a crash lost an entry")
    if left.note.term < seen.note.term:
        found.append("a crash lost a promise")
    was, note = before.drive.platter.note, left.note
    if note.vote not in (None, before.core.peer) and (note.term, note.vote) != (was.term, was.vote):
        found.append("a crash kept a vote before it was said")
    return found


def _described(error: Exception) -> str:
    """What went wrong, and in which line."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_code.co_qualname}, line {trace.tb_lineno}" if trace is not None else "nowhere"
    return f"{type(error).__name__} in {place}: {error}"
