"""Does to a world what the plan has in store for it, and undoes it after a while."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from .participant import Participant
from .plan import Fault

if TYPE_CHECKING:
    from .world import World


class Nemesis:
    def __init__(self, world: "World") -> None:
        self.world = world
        self.took_effect = 0

    def schedule(self, faults: tuple[Fault, ...]) -> None:
        for fault in faults:
            self.world.clock.after(fault.at_us, lambda fault=fault: self._strike(fault))  # type: ignore[misc]

    def _strike(self, fault: Fault) -> None:
        random = Random(fault.draw)
        happened = self._does(fault, random)
        self.took_effect += happened
        self.world.fault(fault, happened=happened)

    def _ambush(self, fault: Fault, random: Random, until_us: int) -> bool:
        """Wait for a newcomer in the middle of a snapshot, for a while."""
        world = self.world
        collecting = [
            participant
            for participant in world.participants
            if participant.phaser is not None and participant.phaser.ledger.parts
        ]
        if collecting or world.clock.now_us >= until_us:
            return self._newcomer(fault.length_us, random)
        self._later(10_000, lambda: self._ambush(fault, random, until_us))
        return True

    def _does(self, fault: Fault, random: Random) -> bool:
        world, length = self.world, fault.length_us
        here, there = random.sample(world.participants, 2)
        match fault.kind:
            case "crash":
                return self._crash(here, length)
            case "crash two":
                first = self._crash(here, length)
                return self._crash(there, length // 2) or first
            case "pause":
                return self._pause(here, length)
            case "cut":
                return self._cut([(here, there), (there, here)], length)
            case "cut one way":
                return self._cut([(here, there)], length)
            case "isolate":
                others = [other for other in world.participants if other is not here]
                return self._cut([*[(here, other) for other in others], *[(other, here) for other in others]], length)
            case "reset":
                world.network.reset(here.place, there.place)
                return True
            case "slow":
                world.network.slow[here.place, there.place] = random.choice((20_000, 300_000))
                self._later(length, lambda: world.network.slow.pop((here.place, there.place), None))
                return True
            case "stall":
                here.stalled = True
                self._later(length, lambda: setattr(here, "stalled", False))
                return here.phaser is not None
            case "burst":
                return self._burst(length, random)
            case _:
                return self._decree(fault, random, here)

    def _decree(self, fault: Fault, random: Random, here: Participant) -> bool:
        """What concerns the edict, and the log's beginning."""
        world, edict = self.world, self.world.edict
        match fault.kind:
            case "depart":
                government = edict.newest
                chosen = random.choice([*government.members, *government.newcomers, government.leader])
                return edict.depart(chosen)
            case "switch":
                edict.switch(random, contract=False)
                return True
            case "switch twice":
                return self._switch_twice(random)
            case "coup":
                self._deaf(world.by_place[edict.newest.leader[0]], fault.length_us)
                edict.switch(random, contract=random.random() < 0.5)
                return True
            case "contract":
                edict.switch(random, contract=True)
                return True
            case "expand":
                return edict.expand(random, random.choice((1, 1, 2)))
            case "trim":
                return sum(participant.trim() for participant in world.participants) > 0
            case "newcomer":
                return self._ambush(fault, random, world.clock.now_us + 5_000_000)
            case "wipe":
                return self._wipe(random)
            case "betray":
                return self._betray(random, world.clock.now_us + 8_000_000)
            case "deaf":
                return self._deaf(here, fault.length_us)
            case "hold":
                world.hold_bucket(paused=True)
                self._later(min(fault.length_us, 1_000_000), lambda: world.hold_bucket(paused=False))
                return True
            case unknown:
                raise AssertionError(unknown)

    def _later(self, delay_us: int, action: Callable[[], object]) -> None:
        """Undo something; unless everything was healed meanwhile."""
        healings = self.world.healings

        def undo() -> None:
            if self.world.healings == healings:
                action()

        self.world.clock.after(delay_us, undo)

    def _crash(self, victim: Participant, length_us: int) -> bool:
        if victim.phaser is None:
            return False
        victim.crash()
        life = victim.life
        self._later(length_us, lambda: victim.start() if victim.life == life and victim.phaser is None else None)
        return True

    def _switch_twice(self, random: Random) -> bool:
        """One of them is to lead alone; and before it has opened, perhaps, the others without it."""
        edict = self.world.edict
        alone = random.choice(edict.living)
        edict.appoint(alone, (alone,))

        def others() -> None:
            members = tuple([node for node in edict.living if node != alone])
            if members:
                edict.appoint(random.choice(members), members)

        self._later(random.randrange(max(80_000, self.world.plan.edict_us)), others)
        return True

    def _newcomer(self, length_us: int, random: Random) -> bool:
        """Disturb an acclimation: the newcomer, the leader, or the way between them."""
        government, world = self.world.edict.newest, self.world
        waiting = [world.by_place[node[0]] for node in government.newcomers if node not in world.edict.full]
        if not waiting:
            return False
        collecting = [one for one in waiting if one.phaser is not None and one.phaser.ledger.collection is not None]
        newcomer, leader = random.choice(collecting or waiting), world.by_place[government.leader[0]]
        match random.choice(("crash", "reset", "leader")):
            case "crash":
                return self._crash(newcomer, min(length_us, 1_000_000))
            case "reset":
                world.network.reset(newcomer.place, leader.place)
                return True
            case _:
                return self._crash(leader, min(length_us, 1_000_000))

    def _wipe(self, random: Random) -> bool:
        """One that is needed for nothing is replaced by one with an empty disk."""
        edict = self.world.edict
        needed = {*edict.full, *edict.newest.members, *edict.newest.newcomers}
        spare = [participant for participant in self.world.participants if participant.name not in needed]
        if not spare:
            return False
        random.choice(spare).replace()
        return True

    def _betray(self, random: Random, until_us: int) -> bool:
        """Wait for an expansion; then its leader restarts, and a newcomer hears nothing of it, and is to lead later."""
        world, edict = self.world, self.world.edict
        newcomers = [node for node in edict.newest.newcomers if node in edict.living]
        if not newcomers:
            if world.clock.now_us < until_us:
                self._later(5_000, lambda: self._betray(random, until_us))
            return world.clock.now_us < until_us
        leader, newcomer = world.by_place[edict.newest.leader[0]], random.choice(newcomers)
        others = [other for other in world.participants if other.place != newcomer[0]]
        place = world.by_place[newcomer[0]]
        self._cut([*[(other, place) for other in others], *[(place, other) for other in others]], 2_500_000)
        self._crash(leader, 20_000)

        def appoint() -> None:
            if newcomer in edict.living:
                edict.appoint(newcomer, edict.living)

        self._later(2_000_000, appoint)
        return True

    def _pause(self, victim: Participant, length_us: int) -> bool:
        if victim.paused or victim.phaser is None:
            return False
        victim.paused = True
        self._later(length_us, victim.resume)
        return True

    def _cut(self, links: list[tuple[Participant, Participant]], length_us: int) -> bool:
        network = self.world.network
        for sender, to in links:
            network.cut(sender.place, to.place)

        def mend() -> None:
            for sender, to in links:
                network.mend(sender.place, to.place)

        self._later(length_us, mend)
        return True

    def _burst(self, length_us: int, random: Random) -> bool:
        conditions = self.world.network.conditions
        conditions.loss, conditions.double = random.choice((0.2, 0.5)), 0.2
        plan = self.world.plan

        def over() -> None:
            conditions.loss, conditions.double = plan.loss, plan.double

        self._later(min(length_us, 1_000_000), over)
        return True

    def _deaf(self, victim: Participant, length_us: int) -> bool:
        """It learns nothing of the edict for a while."""
        if victim.place in self.world.deaf:
            return False
        self.world.deaf.add(victim.place)

        def over() -> None:
            self.world.deaf.discard(victim.place)
            self.world.tell(victim)

        self._later(length_us, over)
        return True
