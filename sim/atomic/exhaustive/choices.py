"""What one participant can do next, whatever the others do, and where it leads."""

from collections.abc import Iterable, Iterator
from itertools import permutations
from typing import NamedTuple

from hansard.consensus.message import Ask, PreAsk, PreVote

from .catalogue import Crash, Move, numbers_in
from .claims import joinable
from .lean import proposal_in
from .stances import Landing, Stances
from .world import World, number_of

Cause = int | str
"""The number of a message that is heard, or words for it."""


class Outcomes(NamedTuple):
    """Where something leads, if all goes well, and if there is a crash within it."""

    well: tuple[Landing, ...] = ()
    crashed: tuple[Landing, ...] = ()


class Choices(NamedTuple):
    free: Outcomes
    told: Outcomes
    """For one who has lost its patience, now or before, and is told of a later term."""
    impatient: Outcomes
    """For one who loses its patience."""
    offers: tuple[tuple[int, Outcomes], ...]
    """With the number of the proposal that is taken."""


class Chooser:
    def __init__(self, world: World, stances: Stances) -> None:
        self._world = world
        self._catalogue = stances.catalogue
        self._stances = stances
        self.choices: dict[int, Choices] = {}
        """By stance, as far as it is known."""

    def choices_of(self, stance: int) -> Choices:
        found = self.choices.get(stance)
        if found is None:
            found = self.choices[stance] = self._choices_of(stance)
        return found

    def _choices_of(self, stance: int) -> Choices:
        participant, inbox = self._stances.stances[stance]
        if participant in self._catalogue.faults:
            return Choices(Outcomes(), Outcomes(), Outcomes(), ())
        return Choices(
            self._outcomes(self.free(stance), inbox, self._catalogue.crashes_at(participant)),
            self._outcomes(self.told(stance), inbox),
            self._outcomes(self.impatient(stance), inbox),
            tuple([(number, self._outcomes([(0, move)], inbox)) for number, move in self.offers(stance)]),
        )

    def _outcomes(self, moves: Iterable[tuple[Cause, Move]], inbox: int, crashes: tuple[Crash, ...] = ()) -> Outcomes:
        landing = self._stances.landing
        moves = list(moves)
        crashed = [crash for _, move in moves for crash in move.crashes]
        return Outcomes(
            tuple(dict.fromkeys([landing(move.participant, move.words, inbox) for _, move in moves])),
            tuple(dict.fromkeys([landing(*crash, inbox) for crash in (*crashed, *crashes)])),
        )

    # What can happen to one, with its cause.

    def free(self, stance: int) -> Iterator[tuple[Cause, Move]]:
        """At any time."""
        catalogue, exact = self._catalogue, self._world.exact
        participant, inbox = self._stances.stances[stance]
        me = catalogue.participants[participant]
        moves: list[tuple[Cause, Move]] = []
        for letter in numbers_in(inbox):
            message = catalogue.letters[letter].message
            if proposal_in(message) is None and (exact or not isinstance(message, PreVote)):
                moves.append((letter, catalogue.heard(participant, letter)))
                if exact and isinstance(message, (Ask, PreAsk)):
                    moves.append((letter, catalogue.heard_beside_leader(participant, letter)))
        if self._world.tried:
            moves += self._joined(participant, inbox)
        election = me.core.seat.election
        if not exact and election is not None and not election.earnest:  # and it has voted meanwhile: see lean.py
            granted = catalogue.pre_vote(election.term)
            moves.append((granted, catalogue.heard(participant, granted)))
        if exact and me.core.seat.leading is not None:
            moves.append(("says it again", catalogue.repeated(participant)))
        if me.drive.waiting:
            moves.append(("has persisted something", catalogue.persisted(participant)))
        yield from [(cause, move) for cause, move in moves if move.participant != participant]

    def _joined(self, participant: int, inbox: int) -> Iterator[tuple[Cause, Move]]:
        letters = self._catalogue.letters
        for one, other in permutations(numbers_in(inbox), 2):
            if letters[one].sender == letters[other].sender and joinable(letters[one].message, letters[other].message):
                yield one, self._catalogue.joined(participant, one, other)

    def told(self, stance: int) -> Iterator[tuple[Cause, Move]]:
        if self._world.exact:
            return
        participant, inbox = self._stances.stances[stance]
        for letter in numbers_in(inbox):
            if isinstance(self._catalogue.letters[letter].message, PreVote):
                move = self._catalogue.heard(participant, letter)
                if move.participant != participant:
                    yield letter, move

    def impatient(self, stance: int) -> Iterator[tuple[Cause, Move]]:
        catalogue = self._catalogue
        participant, inbox = self._stances.stances[stance]
        core = catalogue.participants[participant].core
        if core.seat.leading is None and core.term >= self._world.terms_max:
            return
        move = catalogue.impatient(participant)
        if self._world.exact or core.seat.leading is not None or move.participant in catalogue.faults:
            yield "loses its patience", move
            return
        granted = catalogue.pre_vote(core.term + 1)
        letters = [(letter, catalogue.letters[letter].message) for letter in numbers_in(inbox)]
        asked = [letter for letter, message in letters if isinstance(message, Ask) and message.term == core.term]
        for letter in (granted, *asked):
            after = catalogue.heard(move.participant, letter)
            if after.participant != move.participant:
                yield letter, after

    def offers(self, stance: int) -> Iterator[tuple[int, Move]]:
        """What it can take that was proposed, with the number of the proposal."""
        participant, inbox = self._stances.stances[stance]
        for letter in numbers_in(inbox):
            proposal = proposal_in(self._catalogue.letters[letter].message)
            if proposal is not None:
                move = self._catalogue.heard(participant, letter)
                if move.participant != participant:
                    yield number_of(proposal), move
