"""Participants are told to stop, one or all of them: each hands over what it leads, leaves if it should, and is started
again after a while. One that does not come to an end is killed."""

from random import Random
from typing import TYPE_CHECKING, Final, cast

from hansard.participant.event import Retire
from sim.atomic.participant import Participant as LogParticipant
from sim.atomic.plan import Fault

from .node import Node

if TYPE_CHECKING:
    from .nemesis import Nemesis

RETIREMENTS: Final = ("retire", "retire all")
LOOK_US: Final = 5_000
BOUND_US: Final = 2_000_000


class Retirement:
    def __init__(self, nemesis: "Nemesis") -> None:
        self.nemesis = nemesis
        self.world = nemesis.cluster

    def begin(self, fault: Fault, random: Random) -> bool:
        nodes = [node for node in self.world.living if node.core is not None and node.core.here.member is not None]
        if fault.kind == "retire":
            nodes = random.sample(nodes, min(1, len(nodes)))
        for node in nodes:
            node.happen(Retire())
            self._wait(node, node.process, self.world.clock.now_us + BOUND_US, fault.length_us)
        return bool(nodes)

    def _wait(self, node: Node, process: int, until_us: int, length_us: int) -> None:
        if node.core is None or node.process != process:
            if node.process == process and node.left:
                self._count("left")
                self._start_later(node, length_us)
            return  # or something else has struck it
        if node.retired is not None and not node.leaving:
            if node.retired.leave:
                node.leave()
            else:
                self._count("stopped as a member")
                self._stop(node, length_us)
                return
        if self.world.clock.now_us >= until_us:
            self._count("killed")
            self._stop(node, length_us)
            return
        self.world.clock.after(LOOK_US, lambda: self._wait(node, process, until_us, length_us))

    def _stop(self, node: Node, length_us: int) -> None:
        node.crash()
        self._start_later(node, length_us)

    def _start_later(self, node: Node, delay_us: int) -> None:
        """Also when all else has healed meanwhile: who is told to stop stops, whatever happens."""
        process = node.process

        def start() -> None:
            if node.core is None and node.process == process:
                node.start()

        self.nemesis.trouble([cast("LogParticipant", node)], delay_us)
        self.world.clock.after(delay_us, start)

    def _count(self, what: str) -> None:
        self.world.coverage.counts[f"told to stop: {what}"] += 1
