"""What must be true in every state.

*Settled* is what anybody was told is stored, and what any reader was shown.

- Nobody does what must not be: no assertion fails, and no receipt names another place than the change has.
- What is settled is on disk, persisted, on every full member of the last government that has opened: on all who may
  be appointed. One log holds all of it, so no two participants ever showed different things.
- No change is settled twice, and none of which every submitter was told that it is certainly not stored.
- A linearizable read reaches everything that had been answered for before it was asked.
"""

from .system import State, System


class Checker:
    def __init__(self, system: System) -> None:
        self._system = system
        self._doubled: dict[int, str] = {}

    def fault_in(self, state: State) -> str:
        """What is wrong; empty if nothing is."""
        system = self._system
        catalogue = system.catalogue
        stances, number = system.unpacked(state)
        holders = [catalogue.stances[stance] for stance in stances]
        settled = refused = 0
        for holder in holders:
            settled |= holder.settled
            refused |= holder.refused
            if holder.fault:
                return holder.fault
        for place in system.full[number]:
            lost = settled & ~catalogue.durable[holders[place].participant]
            if lost:
                return f"{system.names[place]} lacks {self._named(lost)}, and may be appointed"
        doubled = self._doubled.get(settled)
        if doubled is None:
            doubled = self._doubled[settled] = self._twice(settled)
        if doubled:
            return doubled
        control = system.controls[number]
        if refused and settled:
            fault = self._stored_after_all(settled, control.submitted, refused)
            if fault:
                return fault
        if control.reader >= 0 and (reached := holders[control.reader].read) >= 0:
            for entry in self._entries(control.expected):
                if entry.end > reached:
                    return f"a read reaches {reached}, and {entry} had been answered for"
        return ""

    def _entries(self, bits: int) -> list:
        entries = self._system.catalogue.entries
        return [entries[number] for number in range(bits.bit_length()) if bits >> number & 1]

    def _named(self, bits: int) -> str:
        return ", ".join([str(entry) for entry in self._entries(bits)])

    def _twice(self, settled: int) -> str:
        seen: set[tuple[int, int]] = set()
        for entry in self._entries(settled):
            for change in entry.changes:
                if change in seen and change[0]:
                    return f"series {change[1]} of connection {change[0]} is there twice"
                seen.add(change)
        return ""

    def _stored_after_all(self, settled: int, submitted: int, refused: int) -> str:
        present = {change for entry in self._entries(settled) for change in entry.changes}
        submissions = self._system.world.submissions
        open_still = {
            (each.connection, each.series)
            for number, each in enumerate(submissions)
            if submitted >> number & 1 and not refused >> number & 1
        }
        for number, each in enumerate(submissions):
            change = (each.connection, each.series)
            if refused >> number & 1 and change in present and change not in open_still:
                return f"series {each.series} was refused, and is there"
        return ""
