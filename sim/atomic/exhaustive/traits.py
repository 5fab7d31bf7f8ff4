"""What is looked at of a stance when a state is judged: the same for many stances."""

from typing import NamedTuple

from hansard.consensus.role import Role

from .catalogue import Catalogue
from .history import Tags, tag_of
from .stances import Stances
from .world import BASE


class Trait(NamedTuple):
    term: int
    leads: bool
    asks: bool
    """To be elected, in earnest."""
    log: Tags
    durable: Tags
    """What the disk has for good."""
    committed: Tags
    fault: str = ""


class Traits:
    def __init__(self, catalogue: Catalogue, stances: Stances) -> None:
        self._catalogue = catalogue
        self._stances = stances
        self.traits: list[Trait] = []
        self._numbers: dict[Trait, int] = {}
        self._of_participant: dict[int, int] = {}
        self.reach = Reach(self)

    def of(self, stance: int) -> Trait:
        return self.traits[self.number_of(stance)]

    def number_of(self, stance: int) -> int:
        participant = self._stances.stances[stance].participant
        found = self._of_participant.get(participant)
        if found is None:
            trait = self._trait(participant)
            found = self._numbers.get(trait)
            if found is None:
                found = self._numbers[trait] = len(self.traits)
                self.traits.append(trait)
            self._of_participant[participant] = found
        return found

    def _trait(self, number: int) -> Trait:
        participant = self._catalogue.participants[number]
        core, election = participant.core, participant.core.seat.election
        log = tuple([tag_of(entry) for entry in core.log.entries])
        return Trait(
            core.term,
            core.role is Role.LEADER,
            election is not None and election.earnest,
            log,
            tuple([tag_of(entry) for entry in participant.drive.platter.entries]),
            log[: core.committed - BASE],
            self._catalogue.faults.get(number, ""),
        )


class Reach(dict[int, int]):
    """By stance, how far the log is known to be committed."""

    def __init__(self, traits: Traits) -> None:
        super().__init__()
        self._traits = traits

    def __missing__(self, stance: int) -> int:
        found = self[stance] = len(self._traits.of(stance).committed)
        return found
