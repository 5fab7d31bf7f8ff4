"""What must be true in every state.

*Settled* is what anybody was told is stored, and what any reader was shown.

- Nobody does what must not be: no assertion fails, no ledger says of its disk what is not so, and no receipt names
  another place than the change has.
- What is settled is on disk, persisted, on every full member of the last government that has opened: on all who may
  be appointed. One log holds all of it, so no two participants ever showed different things, and none changed its mind.
- Those full members could revive the bucket by what their disks say, and whoever could has what is settled.
- No change is settled twice, and none of which everybody who got it has said that it is certainly not stored.
- A linearizable read reaches everything that had been settled before it was asked.
"""

from hansard.phaser.recovered import Standing
from hansard.phaser.recovered import standing as standing_of

from .catalogue import Entry, Stance
from .system import Control, State, System


class Checker:
    def __init__(self, system: System) -> None:
        self._system = system
        self._doubled: dict[int, str] = {}
        self._standings: dict[int, Standing] = {}
        """By participant, as its disk would say it."""

    def fault_in(self, state: State) -> str:
        """What is wrong; empty if nothing is."""
        system = self._system
        catalogue = system.catalogue
        numbers, control = system.unpacked(state)
        stances = [catalogue.stances[number] for number in numbers]
        settled = refused = 0
        for stance in stances:
            settled |= stance.settled
            refused |= stance.refused
            if stance.fault:
                return stance.fault
        for place, stance in enumerate(stances):
            lost = settled & ~catalogue.durable[stance.participant]
            full = place in system.full[control]
            if lost and full:
                return f"{system.names[place]} may be appointed and lacks {self._named(lost)}"
            if full and not self._could_revive(stance.participant, control):
                return f"{system.names[place]} may be appointed and could not revive the bucket"
            if lost and self._could_revive(stance.participant, control):
                return f"{system.names[place]} could revive the bucket and lacks {self._named(lost)}"
        if not settled:
            return ""
        doubled = self._doubled.get(settled)
        if doubled is None:
            doubled = self._doubled[settled] = self._twice(settled)
        if doubled:
            return doubled
        choices = system.controls[control]
        return (refused and self._stored_after_all(settled, choices.submitted, refused)) or self._missed(
            choices, stances
        )

    def _could_revive(self, participant: int, control: int) -> bool:
        """As the distributor would judge a bucket that has lost everybody."""
        standing = self._standings.get(participant)
        if standing is None:
            found = self._system.catalogue.participants[participant].drive.platter.recovered()
            standing = self._standings[participant] = standing_of(found)
        epoch, expanded = self._system.last_opened[control]
        return standing.suffices(epoch, expanded=expanded)

    def _entries(self, bits: int) -> list[Entry]:
        entries = self._system.catalogue.entries
        return [entries[number] for number in range(bits.bit_length()) if bits >> number & 1]

    def _named(self, bits: int) -> str:
        return " and ".join([f"what lies at {entry.base}..{entry.end - 1}" for entry in self._entries(bits)])

    def _twice(self, settled: int) -> str:
        seen = {(each.connection, each.series) for each in self._system.world.before}
        for entry in self._entries(settled):
            for change in entry.changes:
                if change in seen and change[0]:
                    return f"series {change[1]} of connection {change[0]} is there twice"
                seen.add(change)
        return ""

    def _stored_after_all(self, settled: int, submitted: int, refused: int) -> str:
        present = {change for entry in self._entries(settled) for change in entry.changes}
        submissions = self._system.world.submissions
        possible = {
            (each.connection, each.series)
            for number, each in enumerate(submissions)
            if submitted >> number & 1 and not refused >> number & 1
        }
        for number, each in enumerate(submissions):
            change = (each.connection, each.series)
            if refused >> number & 1 and change in present and change not in possible:
                return f"series {each.series} was refused, and is there"
        return ""

    def _missed(self, control: Control, stances: list[Stance]) -> str:
        for which, asked in enumerate(control.reads):
            for read, reached in stances[asked.place].reads:
                missed = [entry for entry in self._entries(asked.expected) if read == which and entry.end > reached]
                if missed:
                    return f"a read reaches {reached}, and the entry at {missed[0].base} was settled before it"
        return ""
