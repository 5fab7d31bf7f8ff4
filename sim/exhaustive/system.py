"""All states that a world can get into, one step at a time.

A state is a stance for each participant and a *control*: what the atomic log has, and which choices are left. From it
anything may happen next that could: any message ever sent is heard by whom it was sent to, a disk finishes its next
write, the atomic log takes a report or gets the next appointment, a participant learns of one, a client submits or
reads, somebody crashes and comes back.

Two reductions, both sound because a message once sent stays and nobody has to be given it. Where hearing a message
makes a participant say something and changes nothing else, it has said it already: every state without those words has
a twin with them that can do all that it can, and more. And words of which nothing can come are forgotten (letter.py).
"""

from collections.abc import Iterator
from typing import NamedTuple

from hansard.phaser.effect import Achievement
from hansard.phaser.event import Accepted, Appointed, Read, Submit
from hansard.phaser.leader import Phase
from hansard.phaser.message import Wedge

from .catalogue import Catalogue, report_bit
from .world import World

STANCE_BITS = 24
CONTROL_BITS = 20
_STANCE_MASK = (1 << STANCE_BITS) - 1
_CONTROL_MASK = (1 << CONTROL_BITS) - 1
FAR_US = 1 << 60
PATIENCE = 12
"""Steps after which settling is taken to go round in circles."""

Stances = tuple[int, ...]
State = int
"""The stances' numbers and the control's, in one number."""


class Asked(NamedTuple):
    """A linearizable read."""

    place: int
    """Of whom it was asked."""
    expected: int
    """Bits of the entries that had been settled before that."""


class Control(NamedTuple):
    appointed: int = 1
    """How many governments have been."""
    reports: int = 0
    """Those that the atomic log has accepted."""
    submitted: int = 0
    crashes: int = 0
    reads: tuple[Asked, ...] = ()


class Meeting(NamedTuple):
    """Two participants that hear each other."""

    left: int
    right: int
    """With all said that changes nothing else, and without what is of no use."""
    lefts: tuple[int, ...]
    """What the left one may become by hearing something."""
    rights: tuple[int, ...]


class System:
    def __init__(self, world: World) -> None:
        self.world = world
        self.catalogue = Catalogue(world)
        self.names = world.participants
        self.controls: list[Control] = []
        self._controls: dict[Control, int] = {}
        self.full: list[tuple[int, ...]] = []
        """By control, the participants that have everything: those who may be appointed."""
        self.last_opened: list[tuple[int, bool]] = []
        """By control, the epoch of the last government that has opened, and whether it has expanded since."""
        self._appointing: list[int] = []
        """By control, the one after the next appointment; -1 if there is none."""
        self._meetings: dict[int, Meeting] = {}
        self._at_length: dict[Stances, list[int]] = {}
        self._choices: dict[int, tuple[tuple[int, int], ...]] = {}
        self._pairs = [(left, right) for right in range(len(self.names)) for left in range(right)]
        self._submits = [Submit(number, each.batch(), FAR_US) for number, each in enumerate(world.submissions)]

    # Numbers.

    def packed(self, stances: Stances | list[int], control: int) -> State:
        state = 0
        for stance in stances:
            state = state << STANCE_BITS | stance
        return state << CONTROL_BITS | control

    def unpacked(self, state: State) -> tuple[Stances, int]:
        shift = CONTROL_BITS + STANCE_BITS * len(self.names)
        stances = []
        for _ in self.names:
            shift -= STANCE_BITS
            stances.append(state >> shift & _STANCE_MASK)
        return tuple(stances), state & _CONTROL_MASK

    def control_of(self, control: Control) -> int:
        number = self._controls.get(control)
        if number is None:
            number = self._controls[control] = len(self.controls)
            assert number <= _CONTROL_MASK
            self.controls.append(control)
            self._appointing.append(-1)
            full = self._full(control)
            self.full.append(tuple([self.names.index(name) for name in full]))
            self.last_opened.append(self._last_opened(control))
            later = self.world.governments[control.appointed :]
            if later and set(later[0].members) <= set(full):
                self._appointing[number] = self.control_of(control._replace(appointed=control.appointed + 1))
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

    def _last_opened(self, control: Control) -> tuple[int, bool]:
        epochs = [government.epoch for government in self.world.governments[: control.appointed]]
        opened = [epoch for epoch in epochs if control.reports & report_bit(Achievement.OPENED, epoch)]
        epoch = opened[-1] if opened else 0
        return epoch, bool(control.reports & report_bit(Achievement.EXPANDED, epoch))

    # Steps.

    def successors(self, state: State) -> list[State]:
        stances, control = self.unpacked(state)
        found: list[State] = []
        appointed = self._appointing[control]
        if appointed >= 0:
            found.append(self.packed(stances, appointed))
        meetings, choices, settled = self._meetings, self._choices, self.settled
        for left, right in self._pairs:
            key = stances[left] << STANCE_BITS | stances[right]
            _, _, lefts, rights = meetings.get(key) or self._meet(stances[left], stances[right])
            found.extend([settled(stances, left, after, control) for after in lefts])
            found.extend([settled(stances, right, after, control) for after in rights])
        for place, stance in enumerate(stances):
            own = choices.get(stance << CONTROL_BITS | control)
            for after, control_after in self._choose(place, stance, control) if own is None else own:
                found.append(settled(stances, place, after, control_after))
        if len(self.controls[control].reads) < self.world.reads_max:
            for place, stance in enumerate(stances):
                after, control_after = self.asked(stances, place, control)
                if after != stance:
                    found.append(settled(stances, place, after, control_after))
        return found

    def settled(self, stances: Stances, place: int, stance: int, control: int) -> State:
        """The state after a step of one participant from a settled state."""
        changed = list(stances)
        changed[place] = stance
        meetings = self._meetings
        places = [place]
        patience = PATIENCE
        while places:
            place = places.pop()
            patience -= 1
            if not patience:
                return self.packed(self._settled_at_length(changed), control)
            for other in range(len(changed)):
                if other == place:
                    continue
                left, right = (place, other) if place < other else (other, place)
                here, there = changed[left], changed[right]
                meeting = meetings.get(here << STANCE_BITS | there) or self._meet(here, there)
                if meeting.left != here:
                    changed[left] = meeting.left
                    places.append(left)
                if meeting.right != there:
                    changed[right] = meeting.right
                    places.append(right)
        return self.packed(changed, control)

    def _settled_at_length(self, stances: list[int]) -> list[int]:
        """What two of them say may be of no use to a third one, and be said again as soon as it is forgotten. So first
        all is said, and then all forgotten."""
        key = tuple(stances)
        found = self._at_length.get(key)
        if found is not None:
            return found
        catalogue, now = self.catalogue, list(key)
        places = range(len(now))
        before: list[int] = []
        while now != before:
            before = now.copy()
            for hearer, speaker in [(hearer, speaker) for hearer in places for speaker in places if hearer != speaker]:
                now[hearer] = self._hear(now[hearer], now[speaker])[0]
        for speaker, hearer in [(speaker, hearer) for speaker in places for hearer in places if hearer != speaker]:
            now[speaker] = catalogue.without_dead(now[speaker], now[hearer])
        self._at_length[key] = now
        return now

    def _meet(self, left: int, right: int) -> Meeting:
        catalogue = self.catalogue
        before, now = (0, 0), (left, right)
        lefts: tuple[int, ...] = ()
        rights: tuple[int, ...] = ()
        while now != before:
            before = now
            here, lefts = self._hear(before[0], before[1])
            there, rights = self._hear(before[1], before[0])
            now = catalogue.without_dead(here, there), catalogue.without_dead(there, here)
        meeting = self._meetings[left << STANCE_BITS | right] = Meeting(*now, lefts, rights)
        return meeting

    def _hear(self, hearer: int, speaker: int) -> tuple[int, tuple[int, ...]]:
        """What becomes of one who hears any of what another one has ever said: first the stance with everything said
        that changes nothing else, then all others."""
        catalogue = self.catalogue
        stance = catalogue.stances[hearer]
        name = catalogue.participants[stance.participant].name
        letters = catalogue.stances[speaker].outbox & catalogue.addressed[name] & ~catalogue.inert[stance.participant]
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
        return said, tuple(found)

    def _only_said(self, before: int, after: int) -> bool:
        old, new = self.catalogue.stances[before], self.catalogue.stances[after]
        return new.participant == old.participant and new._replace(outbox=old.outbox, reports=old.reports) == old

    def _choose(self, place: int, stance: int, number: int) -> tuple[tuple[int, int], ...]:
        """What one participant can come to by itself: the stance and the control afterwards."""
        found = dict.fromkeys([(after, control) for _, after, control in self.choices(place, stance, number)])
        found.pop((stance, number), None)
        result = self._choices[stance << CONTROL_BITS | number] = tuple(found)
        return result

    def choices(self, place: int, stance: int, number: int) -> Iterator[tuple[str, int, int]]:
        """The same, each with what it is."""
        world, catalogue, control = self.world, self.catalogue, self.controls[number]
        name, participant = self.names[place], catalogue.participant_in(stance)
        if participant.drive.waiting:
            yield "finishes a write to its disk", catalogue.after(stance, "disk", participant.next_ticket()), number
        for which in range(len(participant.fetches)):
            for now in (False, True):
                key = ("fetched", which, now)
                after = catalogue.after(stance, key, participant.answer(which, now=now))
                yield f"has read from its disk, {'now' if now else 'when it was asked for'}", after, number
        for government in world.governments[: control.appointed]:
            appointed = catalogue.after(stance, ("appointed", government.epoch), Appointed(government))
            yield f"learns of the government of epoch {government.epoch}", appointed, number
            if government.leader == name:
                yield from self._reported(stance, number, government.epoch)
        if control.crashes < world.crashes_max and name in world.crashing:
            crashed = self.control_of(control._replace(crashes=control.crashes + 1))
            unsynced = len(participant.drive.unsynced)
            for survivors in range(unsynced + 1):
                what = f"crashes, keeps {survivors} of {unsynced} unsynced writes, and starts again"
                yield what, catalogue.crashed(stance, survivors), crashed
        yield from self._submitted(stance, number)

    def _reported(self, stance: int, number: int, epoch: int) -> Iterator[tuple[str, int, int]]:
        control = self.controls[number]
        newest = self.world.governments[control.appointed - 1].epoch
        for achievement in Achievement:
            bit = report_bit(achievement, epoch)
            if control.reports & bit:
                after = self.catalogue.after(stance, (achievement.value, epoch), Accepted(achievement, epoch))
                yield f"learns that epoch {epoch} counts as {achievement.value}", after, number
            elif epoch == newest and self.catalogue.stances[stance].reports & bit:
                accepted = self.control_of(control._replace(reports=control.reports | bit))
                yield f"has its report accepted: epoch {epoch} {achievement.value}", stance, accepted

    def _submitted(self, stance: int, number: int) -> Iterator[tuple[str, int, int]]:
        world, catalogue, control = self.world, self.catalogue, self.controls[number]
        leading = catalogue.participant_in(stance).phaser.leading
        open_here = leading is not None and leading.phase is Phase.OPEN
        if control.submitted.bit_count() == world.submissions_max or not (world.early or open_here):
            return
        for which, submission in enumerate(world.submissions):
            first = world.submissions.index(submission)
            if control.submitted >> which & 1 or not (which == first or control.submitted >> first & 1):
                continue
            after = catalogue.after(stance, ("submit", which), self._submits[which])
            if catalogue.stances[after]._replace(refused=0) == catalogue.stances[stance]._replace(refused=0):
                continue  # sent away at once, as if it had not come
            submitted = self.control_of(control._replace(submitted=control.submitted | 1 << which))
            yield f"gets {submission}", after, submitted

    def asked(self, stances: Stances, place: int, number: int) -> tuple[int, int]:
        """One participant is asked to read. If it leads nobody, it is as if it had not been."""
        catalogue, control = self.catalogue, self.controls[number]
        which = len(control.reads)
        after = catalogue.after(stances[place], ("read", which), Read(which, FAR_US))
        if after == stances[place]:
            return after, number
        expected = Asked(place, self.answered_for(stances))
        return after, self.control_of(control._replace(reads=(*control.reads, expected)))

    def answered_for(self, stances: Stances) -> int:
        """Bits of the entries that anybody has answered for or shown."""
        bits = 0
        for stance in stances:
            bits |= self.catalogue.stances[stance].settled
        return bits

    # The beginning.

    def start(self) -> State:
        drives = self.world.drives()
        stances = tuple([self.catalogue.first_stance(name, drives[name]) for name in self.names])
        state = self.settled(stances, 0, stances[0], self.control_of(Control()))
        return self._at_rest(state) if self.world.opened else state

    def _at_rest(self, state: State) -> State:
        """The state in which nothing is left to happen of itself among the members of the first government, with all
        words forgotten but the Wedges, which whoever restarts has to hear again, and those to its newcomers."""
        seen = {state: None}
        while True:
            step = next((step for step in self._of_itself(state) if step not in seen), None)
            if step is None:
                break
            state = step
            seen[state] = None
        catalogue, newcomers = self.catalogue, self.world.governments[0].newcomers
        kept = 0
        for number, letter in enumerate(catalogue.letters):
            kept |= (isinstance(letter.message, Wedge) or letter.to in newcomers) << number
        numbers, control = self.unpacked(state)
        stances = [catalogue.stances[number] for number in numbers]
        quiet = [stance._replace(outbox=stance.outbox & kept, reports=0) for stance in stances]
        numbers = tuple([catalogue.stance_of(stance) for stance in quiet])
        return self.settled(numbers, 0, numbers[0], control)

    def _of_itself(self, state: State) -> Iterator[State]:
        """What can happen without an edict, a client, a crash or a newcomer."""
        stances, number = self.unpacked(state)
        before = self.controls[number]
        newcomers = [self.names.index(name) for name in self.world.governments[0].newcomers]
        for after in self.successors(state):
            stances_after, number_after = self.unpacked(after)
            control = self.controls[number_after]
            if any(stances[place] != stances_after[place] for place in newcomers):
                continue
            if control == before._replace(reports=control.reports):
                yield after
