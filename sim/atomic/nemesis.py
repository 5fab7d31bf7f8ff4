"""Does to a world what the plan has in store for it, and undoes it after a while."""

from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING, Final

from .participant import Participant
from .plan import Fault
from .upheaval import Upheaval

if TYPE_CHECKING:
    from .world import World

SLOW_US: Final = (20_000, 100_000, 400_000)
SLOWNESS: Final = (10, 50)


class Nemesis:
    def __init__(self, world: "World") -> None:
        self.world = world
        self.upheaval = Upheaval(self)
        self.took_effect = 0

    def schedule(self, faults: tuple[Fault, ...]) -> None:
        for fault in faults:
            self.world.clock.after(fault.at_us, lambda fault=fault: self._strike(fault))  # type: ignore[misc]

    def _strike(self, fault: Fault) -> None:
        random = Random(fault.draw)
        happened = self._does(fault, random)
        self.took_effect += happened
        self.world.fault(fault, happened=happened)

    def later(self, delay_us: int, action: Callable[[], object]) -> None:
        """Undo something; unless everything was healed meanwhile."""
        healings = self.world.healings

        def undo() -> None:
            if self.world.healings == healings:
                action()

        self.world.clock.after(delay_us, undo)

    def _does(self, fault: Fault, random: Random) -> bool:
        world, length = self.world, fault.length_us
        shuffled = random.sample(world.participants, len(world.participants))
        here, leader = shuffled[0], world.leader
        match fault.kind:
            case "crash":
                return self.crash([here], length)
            case "crash leader":
                return self.crash([leader], length)
            case "crash several":
                return self.crash(shuffled[: random.randint(1, len(shuffled))], length)
            case "crash majority":
                return self._crash_majority(length, random)
            case "power cut":
                return self.crash(shuffled, length // 4)
            case "pause":
                return self.pause(here, length)
            case "pause leader":
                return self.pause(leader, length)
            case "slow disk":
                return self._slow_disk(here, length, random)
            case "stall disk":
                return self._stall(here, length)
            case "stall leader":
                return self._stall(leader, length)
            case "burst":
                return self._burst(length, random)
            case kind if kind in _WAYS:
                return self._disturb_ways(kind, shuffled, leader, length, random)
            case _:
                return self.upheaval.does(fault, random, shuffled, leader)

    def _disturb_ways(
        self, kind: str, shuffled: Sequence[Participant], leader: Participant | None, length: int, random: Random
    ) -> bool:
        here, others = shuffled[0], shuffled[1:]
        led = [one for one in shuffled if one is not leader]
        if not others or (kind in _LEADERS and leader is None):
            return False
        match kind:
            case "cut":
                return self.cut([here], [others[0]], length)
            case "cut one way":
                return self.cut([here], [others[0]], length, both=False)
            case "isolate":
                return self.cut([here], others, length)
            case "isolate leader" if leader is not None:
                return self.cut([leader], led, length)
            case "mute leader" if leader is not None:
                return self.cut([leader], led, length, both=False)
            case "deafen leader" if leader is not None:
                return self.cut(led, [leader], length, both=False)
            case "partition":
                place = random.randint(1, len(others))
                return self.cut(shuffled[:place], shuffled[place:], length)
            case "minority leader" if leader is not None:
                place = random.randint(0, (len(shuffled) - 1) // 2)
                return self.cut([leader, *led[:place]], led[place:], length)
            case "reset":
                self.world.network.reset(here.name, others[0].name)
                return True
            case _:
                return self._slow_link(here, others[0], length, random)

    # Processes.

    def crash(self, victims: Sequence[Participant | None], length_us: int) -> bool:
        """At the same moment; they come back one by one."""
        struck = [victim for victim in victims if victim is not None and victim.consensus is not None]
        for number, victim in enumerate(struck):
            victim.crash()
            self.start_later(victim, length_us + number * (length_us // 4))
        return bool(struck)

    def start_later(self, participant: Participant, delay_us: int) -> None:
        process = participant.process
        self.trouble([participant], delay_us)

        def start() -> None:
            if participant.process == process and participant.consensus is None:
                participant.start()

        self.later(delay_us, start)

    def _crash_majority(self, length_us: int, random: Random) -> bool:
        leader = self.world.leader
        if leader is None or leader.consensus is None:
            return False
        voters = [self.world.by_name[voter.node] for voter in leader.consensus.voters]
        return self.crash(random.sample(voters, len(voters) // 2 + 1), length_us)

    def pause(self, victim: Participant | None, length_us: int) -> bool:
        if victim is None or victim.paused or victim.consensus is None:
            return False
        victim.paused = True
        self.trouble([victim], length_us)
        self.later(length_us, victim.resume)
        return True

    def trouble(self, participants: Sequence[Participant], length_us: int) -> None:
        """Until then these are hard to hear, and nobody can be blamed for not hearing them."""
        for participant in participants:
            until_us = self.world.clock.now_us + length_us
            participant.troubled_until_us = max(participant.troubled_until_us, until_us)

    # Disks.

    def _stall(self, victim: Participant | None, length_us: int) -> bool:
        if victim is None or victim.consensus is None or victim.stalled:
            return False
        victim.stalled = True
        self.trouble([victim], length_us)
        self.later(length_us, lambda: setattr(victim, "stalled", False))
        return True

    def _slow_disk(self, victim: Participant, length_us: int, random: Random) -> bool:
        if victim.consensus is None or victim.slowness > 1:
            return False
        victim.slowness = random.choice(SLOWNESS)
        self.trouble([victim], length_us + 2 * self.world.plan.sync_us * victim.slowness)
        self.later(length_us, lambda: setattr(victim, "slowness", 1))
        return True

    # Ways.

    def cut(
        self, some: Sequence[Participant], others: Sequence[Participant], length_us: int, *, both: bool = True
    ) -> bool:
        network = self.world.network
        links = [(one.name, other.name) for one in some for other in others]
        if both:
            links += [(there, here) for here, there in links]
        for link in links:
            network.cut(*link)

        def mend() -> None:
            for link in links:
                network.mend(*link)

        self.trouble([*some, *others], length_us)
        self.later(length_us, mend)
        return bool(links)

    def _slow_link(self, here: Participant, there: Participant, length_us: int, random: Random) -> bool:
        link, network = (here.name, there.name), self.world.network
        network.slow[link] = slow_us = random.choice(SLOW_US)
        self.trouble([here, there], length_us + slow_us)
        self.later(length_us, lambda: network.slow.pop(link, None))
        return True

    def _burst(self, length_us: int, random: Random) -> bool:
        """For a while much is lost, and much comes twice."""
        conditions, plan = self.world.network.conditions, self.world.plan
        conditions.loss, conditions.double = random.choice((0.2, 0.5)), 0.2

        def over() -> None:
            conditions.loss, conditions.double = plan.loss, plan.double

        self.trouble(self.world.participants, min(length_us, 1_000_000))
        self.later(min(length_us, 1_000_000), over)
        return True


_LEADERS: Final = ("isolate leader", "mute leader", "deafen leader", "minority leader")
_WAYS: Final = ("cut", "cut one way", "isolate", "partition", "reset", "slow link", *_LEADERS)
