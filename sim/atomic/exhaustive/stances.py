"""A *stance* is a participant and the messages that it may hear: all that were ever sent to it, apart from those of
which nothing can come.

Where a participant comes to is always a stance at rest: what only makes it speak, and what only makes it know more, it
has heard. And it has the names of the others in one of the ways that they can be mixed up, the same one always.
"""

from collections.abc import Sequence
from typing import NamedTuple

from .catalogue import Catalogue, Words, both

STANCE_BITS = 24
SPEECH_BITS = 24


class Stance(NamedTuple):
    participant: int
    inbox: int
    """Bits of the messages."""


class Landing(NamedTuple):
    """Where a step leads one participant."""

    stance: int
    turn: int
    """How it changes the names of others on the way."""
    words: tuple[tuple[int, int], ...]
    """The new names of others, and the numbers of what is said to each, in the new names."""


class Stances:
    def __init__(self, catalogue: Catalogue, turns: Sequence[int]) -> None:
        self.catalogue = catalogue
        self._turns = turns
        """Ways to change the names of others."""
        self.stances: list[Stance] = []
        self._stances: dict[Stance, int] = {}
        self._proper: list[tuple[int, int]] = []
        """By stance, the same one with names as they should be, and how to get there."""
        self.alike: list[tuple[int, ...]] = []
        """By stance, the changes of names that change nothing."""
        self._speeches: list[int] = [0]
        """Bits of messages."""
        self._speech_numbers: dict[int, int] = {0: 0}
        self._translated: dict[int, int] = {}
        self._at_rest: dict[Stance, tuple[int, int, Words]] = {}
        self.deliveries: dict[int, Landing] = {}
        """By stance and speech, what becomes of who hears it."""

    # Numbers.

    def stance_of(self, stance: Stance) -> int:
        number = self._stances.get(stance)
        if number is None:
            number = self._stances[stance] = len(self.stances)
            assert number >> STANCE_BITS == 0
            self.stances.append(stance)
            self._proper.append((-1, 0))
            self.alike.append(())
        return number

    def proper(self, stance: Stance) -> tuple[int, int]:
        number = self.stance_of(stance)
        found = self._proper[number]
        if found[0] < 0:
            renamed = [(self._renamed(stance, turn), turn) for turn in self._turns]
            found = self._proper[number] = min(renamed)
            self.alike[number] = tuple([turn for other, turn in renamed if other == number and turn])
            if found[0] != number:
                self.proper(self.stances[found[0]])
        return found

    def _renamed(self, stance: Stance, turn: int) -> int:
        catalogue = self.catalogue
        participant = catalogue.renamed(stance.participant, turn)
        return self.stance_of(Stance(participant, catalogue.renamed_letters(stance.inbox, turn)))

    def _speech_of(self, words: int) -> int:
        number = self._speech_numbers.get(words)
        if number is None:
            number = self._speech_numbers[words] = len(self._speeches)
            assert number >> SPEECH_BITS == 0
            self._speeches.append(words)
        return number

    def translated(self, speech: int, turn: int) -> int:
        """The same speech in other names."""
        key = speech << 8 | turn
        found = self._translated.get(key)
        if found is None:
            found = self._translated[key] = self._speech_of(
                self.catalogue.renamed_letters(self._speeches[speech], turn)
            )
        return found

    # Coming to rest.

    def landing(self, participant: int, words: Words, inbox: int) -> Landing:
        """After a step of one that may hear these messages."""
        if participant in self.catalogue.faults:
            return Landing(self.stance_of(Stance(participant, 0)), 0, ())
        stance = Stance(participant, inbox)
        found = self._at_rest.get(stance)
        if found is None:
            found = self._at_rest[stance] = self._rested(stance, inbox)
        number, turn, said = found
        return Landing(number, turn, self._worded(both(words, said), turn))

    def deliver(self, number: int, speech: int) -> Landing:
        catalogue = self.catalogue
        participant, inbox = self.stances[number]
        found = Landing(number, 0, ())
        if participant not in catalogue.faults:
            fresh = self._speeches[speech] & ~inbox & ~catalogue.dead(participant)
            if fresh:
                stance, turn, said = self._rested(Stance(participant, inbox | fresh), fresh)
                found = Landing(stance, turn, self._worded(said, turn))
        self.deliveries[number << SPEECH_BITS | speech] = found
        return found

    def _rested(self, stance: Stance, fresh: int) -> tuple[int, int, Words]:
        """At rest: the stance, how it changes names, and what it says in the old names. Only what is fresh was not
        heard yet, as long as nothing changes."""
        catalogue = self.catalogue
        participant, inbox = stance
        said = catalogue.silence
        inbox &= ~catalogue.dead(participant)
        letters = inbox & fresh
        while letters:
            bit = letters & -letters
            letters ^= bit
            move = catalogue.heard(participant, bit.bit_length() - 1)
            if move.participant == participant:
                if move.words != catalogue.silence:
                    said = both(said, move.words)
            elif move.eager:
                said = both(said, move.words)
                participant = move.participant
                letters = inbox = inbox & ~catalogue.dead(participant)
        return *self.proper(Stance(participant, inbox)), said

    def _worded(self, said: Words, turn: int) -> tuple[tuple[int, int], ...]:
        names, letters = self.catalogue.turns[turn], self.catalogue.renamed_letters
        return tuple([(names[name], self._speech_of(letters(bits, turn))) for name, bits in enumerate(said) if bits])
