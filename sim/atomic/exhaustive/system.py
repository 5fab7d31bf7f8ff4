"""All states that a world can get into, one step at a time.

A state is a stance and a view for each place, a *control* (how much was proposed, and what was ever committed) and a
toll. From it anything may happen next that could: any message ever sent is heard by whom it was sent to, a leader takes
a proposal, somebody loses patience, a disk finishes its next write, somebody crashes and comes back.

The reductions are told in lean.py; that names do not matter, in views.py; that tolls do, in tolls.py. Besides, where
hearing a message makes a participant say something and changes nothing else, it has said it already: a message once
sent stays, so every state without those words has a twin with them that can do all that it can, and more.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

from .catalogue import Catalogue
from .choices import Chooser, Outcomes
from .history import NOTHING_COMMITTED, History, extended
from .stances import SPEECH_BITS, STANCE_BITS, Landing, Stance, Stances
from .tolls import Tolls
from .traits import Traits
from .views import UNCHANGED, Views
from .world import World

VIEW_BITS = 2
SEAT_BITS = STANCE_BITS + VIEW_BITS
CONTROL_BITS = 16
TOLL_BITS = 10
_SEAT_MASK = (1 << SEAT_BITS) - 1
_VIEW_MASK = (1 << VIEW_BITS) - 1
_CONTROL_MASK = (1 << CONTROL_BITS) - 1
_TOLL_MASK = (1 << TOLL_BITS) - 1

State = int
"""The stances' numbers, the views', the control's and the toll's, in one number."""


class Control(NamedTuple):
    proposals: int = 0
    """How many were made."""
    history: History = NOTHING_COMMITTED


class System:
    def __init__(self, world: World) -> None:
        self.world = world
        self.names = world.voters
        self.views = Views(len(self.names))
        self.catalogue = Catalogue(world, self.views.turns)
        self.stances = Stances(self.catalogue, self.views.own if world.symmetric else [UNCHANGED])
        self.traits = Traits(self.catalogue, self.stances)
        self.chooser = Chooser(world, self.stances)
        self.tolls = Tolls(len(self.names), world.timeouts_max, world.crashes_max)
        assert len(self.tolls.tolls) <= _TOLL_MASK
        self.controls: list[Control] = []
        self._controls: dict[Control, int] = {}
        self._reached: list[int] = []
        """By control, how far the log was committed."""
        self.seen: Counter[str] = Counter()
        """What was seen of states as a whole, and how often."""

    def happened(self) -> Counter[str]:
        return self.catalogue.happened + self.seen

    # Numbers.

    def control_of(self, control: Control) -> int:
        number = self._controls.get(control)
        if number is None:
            number = self._controls[control] = len(self.controls)
            assert number <= _CONTROL_MASK
            self.controls.append(control)
            self._reached.append(len(control.history))
        return number

    def unpacked(self, state: State) -> tuple[list[int], list[int], int, int]:
        """Stances, views, control and toll."""
        stances, views = [], []
        shift = TOLL_BITS + CONTROL_BITS + SEAT_BITS * len(self.names)
        for _ in self.names:
            shift -= SEAT_BITS
            seat = state >> shift & _SEAT_MASK
            stances.append(seat >> VIEW_BITS)
            views.append(seat & _VIEW_MASK)
        return stances, views, state >> TOLL_BITS & _CONTROL_MASK, state & _TOLL_MASK

    def packed(self, stances: Sequence[int], views: Sequence[int], control: int, toll: int) -> State:
        """With the places in the order of their stances: it makes no difference who is where.

        Among equal stances the order with the smallest numbers counts."""
        reach, reached = self.traits.reach, self._reached[control]
        for stance in stances:
            if reach[stance] > reached:
                control = self._committed(stance, control)
                reached = self._reached[control]
        if not self.world.symmetric:
            return self.seated(stances, views, range(len(stances)), control, toll)
        order = sorted(range(len(stances)), key=stances.__getitem__)
        seats, turn = self._seated(stances, views, order)
        toll_after = self.tolls.moved[toll][turn]
        if len(set(stances)) < len(stances):
            ranked = [stances[place] for place in order]
            for other in permutations(range(len(stances))):
                if [stances[place] for place in other] == ranked:
                    others, turn = self._seated(stances, views, other)
                    seats, toll_after = min((seats, toll_after), (others, self.tolls.moved[toll][turn]))
        return (seats << CONTROL_BITS | control) << TOLL_BITS | toll_after

    def _seated(self, stances: Sequence[int], views: Sequence[int], order: Sequence[int]) -> tuple[int, int]:
        """The seats in an order, and the number of the change of places."""
        turn = [0] * len(order)
        for rank, place in enumerate(order):
            turn[place] = rank
        tables, alike = self.views, self.stances.alike
        number = tables.number[tuple(turn)]
        seats = 0
        for rank, place in enumerate(order):
            stance = stances[place]
            view = tables.moved[place][views[place]][number]
            if view and alike[stance]:
                view = min([view, *[tables.turned[rank][view][each] for each in alike[stance]]])
            seats = seats << SEAT_BITS | stance << VIEW_BITS | view
        return seats, number

    def seated(
        self, stances: Sequence[int], views: Sequence[int], order: Sequence[int], control: int, toll: int
    ) -> State:
        """With the places in some order."""
        seats, turn = self._seated(stances, views, order)
        return (seats << CONTROL_BITS | control) << TOLL_BITS | self.tolls.moved[toll][turn]

    def rank(self, state: State) -> int:
        """How high its toll is."""
        return self.tolls.rank[state & _TOLL_MASK]

    def covers(self, state: State) -> list[State]:
        """The same at lower tolls, from which all can happen that can happen from this one."""
        toll = state & _TOLL_MASK
        return [state - toll + less for less in self.tolls.less[toll]]

    def _committed(self, stance: int, number: int) -> int:
        control, trait = self.controls[number], self.traits.of(stance)
        return self.control_of(control._replace(history=extended(control.history, trait.committed, trait.term)))

    # Steps.

    def successors(self, state: State) -> list[State]:
        stances, views, number, toll = self.unpacked(state)
        control, chooser, tolls = self.controls[number], self.chooser, self.tolls
        found: list[State] = []
        for place, stance in enumerate(stances):
            choices = chooser.choices.get(stance) or chooser.choices_of(stance)
            self._follow(choices.free, stances, views, place, number, toll, found)
            impatient = tolls.impatient[toll][place]
            if impatient >= 0:
                self._follow(choices.impatient, stances, views, place, number, impatient, found)
            told = toll if tolls.timeouts(toll, place) else impatient
            if told >= 0:
                self._follow(choices.told, stances, views, place, number, told, found)
            for which, outcomes in choices.offers:
                if which <= control.proposals + 1:
                    made = max(which, control.proposals)
                    after = self.control_of(control._replace(proposals=made))
                    self._follow(outcomes, stances, views, place, after, toll, found)
        return found

    def _follow(
        self,
        outcomes: Outcomes,
        stances: list[int],
        views: list[int],
        place: int,
        control: int,
        toll: int,
        found: list[State],
    ) -> None:
        packed, settled, crashed = self.packed, self.settled, self.tolls.crashed[toll]
        found += [packed(*settled(stances, views, place, landing), control, toll) for landing in outcomes.well]
        if crashed >= 0:
            found += [
                packed(*settled(stances, views, place, landing), control, crashed) for landing in outcomes.crashed
            ]

    def settled(
        self, stances: Sequence[int], views: Sequence[int], place: int, landing: Landing
    ) -> tuple[list[int], list[int]]:
        """Somebody has come to another stance, and all have heard what is said."""
        stances, views = list(stances), list(views)
        local, tables = self.stances, self.views
        stances[place] = landing.stance
        if landing.turn:
            views[place] = tables.turned[place][views[place]][landing.turn]
        queue = [(place, views[place], landing.words)]
        while queue:
            place, view, words = queue.pop()
            for name, speech in words:
                to = tables.views[place][view][name]
                heard = local.translated(speech, tables.between[place][view][to][views[to]])
                found = local.deliveries.get(stances[to] << SPEECH_BITS | heard)
                if found is None:
                    found = local.deliver(stances[to], heard)
                stances[to] = found.stance
                if found.turn:
                    views[to] = tables.turned[to][views[to]][found.turn]
                if found.words:
                    queue.append((to, views[to], found.words))
        return stances, views

    def start(self) -> State:
        catalogue, names = self.catalogue, self.names
        inbox = 0
        for proposer, offer in self.world.offers():
            inbox |= 1 << catalogue.letter_of(proposer, names[0], offer)
        stance, _ = self.stances.proper(Stance(catalogue.begun(), inbox))
        return self.packed([stance for _ in names], [0 for _ in names], self.control_of(Control()), 0)
