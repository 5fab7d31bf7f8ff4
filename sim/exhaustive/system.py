"""All states that a world can get into, one step at a time.

A state is a stance for each participant and a *control*: what the atomic log has, and which choices are left. From it
anything may happen next that could: any message ever sent is heard by whom it was sent to, a disk finishes its next
write, a fetch is answered, the atomic log takes a report or gets the next appointment, a participant learns of one, a
client submits or reads, somebody crashes and comes back.

One reduction, which is sound because a message once sent stays and nobody has to be given it: where hearing a message
makes a participant say something and changes nothing else, it has said it already. Every state without those words has
a twin with them that can do all that it can, and more.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from hansard.batch import build
from hansard.phaser.effect import Achievement
from hansard.phaser.event import Accepted, Appointed, Event, Read, Submit
from hansard.phaser.leader import Phase

from .catalogue import Catalogue, report_bit
from .world import World

STANCE_BITS = 24
CONTROL_BITS = 20
_STANCE_MASK = (1 << STANCE_BITS) - 1
_CONTROL_MASK = (1 << CONTROL_BITS) - 1
FAR_US = 1 << 60

Stances = tuple[int, ...]
State = int
"""The stances' numbers and the control's, in one number."""


class Control(NamedTuple):
    appointed: int = 1
    """How many governments have been."""
    reports: int = 0
    """Those that the atomic log has accepted."""
    submitted: int = 0
    crashes: int = 0
    reader: int = -1
    """Who was asked to read."""
    expected: int = 0
    """Bits of the entries that had been answered for before that."""


class System:
    def __init__(self, world: World) -> None:
        self.world = world
        self.catalogue = Catalogue(world)
        self.names = world.participants
        self.controls: list[Control] = []
        self._controls: dict[Control, int] = {}
        self.full: list[tuple[int, ...]] = []
        """By control, the participants that have everything: those who may be appointed."""
        self._heard: dict[int, tuple[int, tuple[int, ...], int]] = {}
        self._own: dict[int, tuple[tuple[int, int], ...]] = {}
        self._submits = [
            Submit(
                number,
                build([b"k"], [b"v"], connection=each.connection, first_series=each.series, previous_series=each.previous),
                FAR_US,
            )
            for number, each in enumerate(world.submissions)
        ]

    # Packing.

    def packed(self, stances: Stances, control: int) -> State:
        state = 0
        for stance in stances:
            state = state << STANCE_BITS | stance
        return state << CONTROL_BITS | control

    def unpacked(self, state: State) -> tuple[Stances, int]:
        control = state & _CONTROL_MASK
        state >>= CONTROL_BITS
        stances = []
        for _ in self.names:
            stances.append(state & _STANCE_MASK)
            state >>= STANCE_BITS
        return tuple(reversed(stances)), control

    def control_of(self, control: Control) -> int:
        number = self._controls.get(control)
        if number is None:
            number = self._controls[control] = len(self.controls)
            assert number <= _CONTROL_MASK
            self.controls.append(control)
            self.full.append(tuple([self.names.index(name) for name in self._full(control)]))
        return number

    def _full(self, control: Control) -> tuple[str, ...]:
        """The members of the last government that has opened, with its newcomers if they were reported as members.
        Before the first has opened there is nothing to have."""
        full = self.world.governments[0].members
        for government in self.world.governments[: control.appointed]:
            if control.reports & report_bit(Achievement.OPENED, government.epoch):
                full = government.members
            if control.reports & report_bit(Achievement.EXPANDED, government.epoch):
                full = (*government.members, *government.newcomers)
        return full

    # Steps.

    def successors(self, state: State) -> Iterator[State]:
        stances, control = self.unpacked(state)
        appointed = self._appoint(control)
        if appointed >= 0:
            yield self.packed(stances, appointed)
        heard, own = self._heard, self._own
        for place, stance in enumerate(stances):
            for other in stances:
                if other != stance:
                    key = stance << STANCE_BITS | other
                    for after in (heard.get(key) or self._hear(place, stance, other))[1]:
                        yield self._settled(stances, place, after, control)
            key = stance << CONTROL_BITS | control
            choices = own.get(key)
            for after, control_after in self._choose(place, stance, control) if choices is None else choices:
                yield self._settled(stances, place, after, control_after)
        if self.world.read and self.controls[control].reader < 0:
            yield from self._ask(stances, control)

    def _settled(self, stances: Stances, place: int, stance: int, control: int) -> State:
        """The state after a step of one participant, with all said that costs nothing to say, and without the words
        that are of no use any more."""
        changed = list(stances)
        changed[place] = stance
        heard = self._heard
        before: list[int] = []
        while changed != before:
            before = changed.copy()
            for mine, hearer in enumerate(before):
                for theirs, speaker in enumerate(before):
                    if mine != theirs:
                        key = hearer << STANCE_BITS | speaker
                        said, _, kept = heard.get(key) or self._hear(mine, hearer, speaker)
                        if said != hearer:
                            changed[mine] = said
                        if kept != speaker:
                            changed[theirs] = kept
                if changed != before:
                    break
        return self.packed(tuple(changed), control)

    def _hear(self, place: int, hearer: int, speaker: int) -> tuple[int, tuple[int, ...], int]:
        """What becomes of one who hears any of what another one has ever said: the hearer with everything said that
        changes nothing else, all other stances that it may take, and the speaker without what is of no use."""
        catalogue = self.catalogue
        letters = catalogue.stances[speaker].outbox & catalogue.addressed[self.names[place]]
        said, found = hearer, dict[int, None]()
        while letters:
            bit = letters & -letters
            letters ^= bit
            after = catalogue.heard(said, bit.bit_length() - 1)
            if after == said:
                continue
            if self._only_said(said, after):
                said = after
            else:
                found[after] = None
        said = catalogue.without_dead(said, speaker)
        kept = catalogue.without_dead(speaker, hearer)
        result = (said, tuple(found) if said == hearer else (), kept)
        self._heard[hearer << STANCE_BITS | speaker] = result
        return result

    def _only_said(self, before: int, after: int) -> bool:
        old, new = self.catalogue.stances[before], self.catalogue.stances[after]
        return new._replace(outbox=old.outbox, reports=old.reports) == old

    def _appoint(self, number: int) -> int:
        control, governments = self.controls[number], self.world.governments
        if control.appointed == len(governments):
            return -1
        full = self._full(control)
        if not set(governments[control.appointed].members) <= set(full):
            return -1
        return self.control_of(control._replace(appointed=control.appointed + 1))

    def _choose(self, place: int, stance: int, number: int) -> tuple[tuple[int, int], ...]:
        """What one participant can come to by itself: the stance and the control afterwards."""
        found = dict.fromkeys([(after, control) for _, after, control in self.choices(place, stance, number)])
        found.pop((stance, number), None)
        result = self._own[stance << CONTROL_BITS | number] = tuple(found)
        return result

    def choices(self, place: int, stance: int, number: int) -> Iterator[tuple[str, int, int]]:
        """The same, each with what it is."""
        world, catalogue, control = self.world, self.catalogue, self.controls[number]
        name = self.names[place]
        participant = catalogue.participants[catalogue.stances[stance].participant]
        if participant.drive.waiting:
            yield "disk", catalogue.after(stance, "disk", participant.next_ticket()), number
        for government in world.governments[: control.appointed]:
            appointed = catalogue.after(stance, ("appointed", government.epoch), Appointed(government))
            yield f"learns of epoch {government.epoch}", appointed, number
            if government.leader == name:
                yield from self._reported(stance, number, government.epoch)
        if control.crashes < world.crashes_max and name in world.crashing:
            crashed = self.control_of(control._replace(crashes=control.crashes + 1))
            for survivors in range(len(participant.drive.unsynced) + 1):
                yield f"crashes, {survivors} writes survive", catalogue.crashed(stance, survivors), crashed
        yield from self._submitted(stance, number)

    def _reported(self, stance: int, number: int, epoch: int) -> Iterator[tuple[str, int, int]]:
        control = self.controls[number]
        newest = self.world.governments[control.appointed - 1].epoch
        for achievement in Achievement:
            bit = report_bit(achievement, epoch)
            if control.reports & bit:
                event: Event = Accepted(achievement, epoch)
                after = self.catalogue.after(stance, (achievement.value, epoch), event)
                yield f"learns that epoch {epoch} is {achievement.value}", after, number
            elif epoch == newest and self.catalogue.stances[stance].reports & bit:
                accepted = self.control_of(control._replace(reports=control.reports | bit))
                yield f"is noted in the atomic log: epoch {epoch} {achievement.value}", stance, accepted

    def _submitted(self, stance: int, number: int) -> Iterator[tuple[str, int, int]]:
        world, catalogue, control = self.world, self.catalogue, self.controls[number]
        leading = catalogue.participants[catalogue.stances[stance].participant].phaser.leading
        open_here = leading is not None and leading.phase is Phase.OPEN
        if control.submitted.bit_count() == world.submissions_max or not (world.early or open_here):
            return
        for which, submit in enumerate(self._submits):
            if not control.submitted >> which & 1:
                after = catalogue.after(stance, ("submit", which), submit)
                if catalogue.stances[after].participant == catalogue.stances[stance].participant:
                    continue  # sent away at once, as if it had not come
                submitted = self.control_of(control._replace(submitted=control.submitted | 1 << which))
                yield f"gets {world.submissions[which]}", after, submitted

    def _ask(self, stances: Stances, number: int) -> Iterator[State]:
        for place, stance in enumerate(stances):
            after, control = self.asked(stances, place, number)
            if after != stance:
                yield self._settled(stances, place, after, control)

    def asked(self, stances: Stances, place: int, number: int) -> tuple[int, int]:
        settled = self.settled_entries(stances)
        control = self.controls[number]._replace(reader=place, expected=settled)
        return self.catalogue.after(stances[place], "read", Read(0, FAR_US)), self.control_of(control)

    def settled_entries(self, stances: Stances) -> int:
        settled = 0
        for stance in stances:
            settled |= self.catalogue.stances[stance].settled
        return settled

    def start(self) -> State:
        stances = tuple([self.catalogue.first_stance(name) for name in self.names])
        state = self._settled(stances, 0, stances[0], self.control_of(Control()))
        return self._at_rest(state) if self.world.opened else state

    def _at_rest(self, state: State) -> State:
        """The state in which nothing is left to happen of itself, with all words forgotten."""
        seen = {state: None}
        while True:
            steps = [step for step in self._of_itself(state) if step not in seen]
            if not steps:
                break
            state = steps[0]
            seen[state] = None
        stances, control = self.unpacked(state)
        silent = [self.catalogue.stances[stance]._replace(outbox=0, reports=0) for stance in stances]
        return self.packed(tuple([self.catalogue.stance_of(stance) for stance in silent]), control)

    def _of_itself(self, state: State) -> Iterator[State]:
        """What can happen without an edict, a client or a crash."""
        before = self.controls[state & _CONTROL_MASK]
        for after in self.successors(state):
            control = self.controls[after & _CONTROL_MASK]
            if control == before._replace(reports=control.reports):
                yield after
