"""Does to a cluster what the plan has in store for it, and undoes it after a while: what the nemesis of the atomic log
does to its participants, and what concerns buckets besides."""

from random import Random
from typing import TYPE_CHECKING, cast

from hansard.consensus.event import Leave as LogLeave
from hansard.consensus.event import Raise, Transfer
from hansard.participant.event import Leave
from sim.atomic import nemesis as atomic
from sim.atomic import upheaval
from sim.atomic.participant import Participant as LogParticipant
from sim.atomic.plan import Fault

from .ambush import AMBUSHES, Ambush
from .interruption import INTERRUPTIONS, Interruption
from .node import Node
from .reboot import REBOOTS, Reboot
from .reserve import keeps_data, spares
from .retirement import RETIREMENTS, Retirement
from .wishes import Wishes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hansard.distributor.bucket import Bucket as Record
    from sim.atomic.world import World as LogWorld

    from .world import World


def disguised(nodes: "Sequence[Node]") -> list[LogParticipant]:
    """As participants of the atomic log's world."""
    return [cast("LogParticipant", node) for node in nodes]


class Nemesis(atomic.Nemesis):
    def __init__(self, world: "World") -> None:
        super().__init__(cast("LogWorld", world))
        self.cluster = world
        self.upheaval = self.cluster_upheaval = Upheaval(self)
        self._ambush = Ambush(self)
        self._interruption = Interruption(self)
        self._reboot = Reboot(self)
        self._retirement = Retirement(self)
        self.wishes = Wishes(world)

    def _does(self, fault: Fault, random: Random) -> bool:
        world, length = self.cluster, fault.length_us
        nodes = random.sample(world.living, len(world.living))
        match fault.kind:
            case "absence":
                return self.absent(nodes[:1], random)
            case "two absences":
                return self.absent(nodes[:2], random)
            case "absence during absence":
                struck = self.absent(nodes[:1], random)
                lease_us = world.plan.settings.consensus.lease_us
                self.later(int(random.uniform(0.5, 1.5) * lease_us), lambda: self.absent(nodes[1:2], random))
                return struck
            case "wipe":
                return self.cluster_upheaval.wipe_one(nodes, length)
            case "replace":
                return self.cluster_upheaval.replace_one(nodes, length, random)
            case "trim":
                trim = Node.retain if world.holders else Node.trim
                return sum([trim(node) for node in world.nodes]) > 0
            case kind if kind in AMBUSHES:
                return self._ambush.wait(fault, random)
            case "rename":
                return self._reconnect(random)
            case kind if kind in INTERRUPTIONS:
                return self._interruption.wait(fault, random)
            case kind if kind in REBOOTS:
                return self._reboot.all_at_once(fault, random)
            case kind if kind in RETIREMENTS:
                return self._retirement.begin(fault, random)
            case "double" | "drain" | "undrain" | "move bucket" | "release" | "pause moves" | "configure":
                return self.wishes.give(fault.kind, random)
            case _:
                return super()._does(fault, random)

    def committed(self, before: "Sequence[Record]", after: "Sequence[Record]") -> None:
        """The table has changed."""
        self._interruption.look(before, after)

    def absent(self, nodes: "Sequence[Node]", random: Random) -> bool:
        """For longer than their leases: crashed, isolated or asleep."""
        world = self.cluster
        log = world.plan.settings.consensus
        struck = False
        for node in nodes:
            length_us = int((log.lease_us + 2 * log.election_us) * random.uniform(1.0, 2.0))
            (victim,) = disguised([node])
            match random.choice(("crash", "crash", "isolate", "pause")):
                case "crash":
                    struck |= self.crash([victim], length_us)
                case "isolate":
                    others = [other for other in world.nodes if other is not node]
                    struck |= self.cut([victim], disguised(others), length_us)
                case _:
                    struck |= self.pause(victim, length_us)
        return struck

    def _reconnect(self, random: Random) -> bool:
        """Clients with a name ask for their numbers again."""
        named = [client for client in self.cluster.clients if client.name and client.connection]
        for client in named:
            client.go_elsewhere()
            client.connect()
        return bool(named)


class Upheaval(upheaval.Upheaval):
    def __init__(self, nemesis: Nemesis) -> None:
        super().__init__(nemesis)
        self.cluster = nemesis.cluster

    def _tell(self, participant: LogParticipant, event: Raise | Transfer | LogLeave) -> bool:
        assert isinstance(event, LogLeave)
        node = cast("Node", participant)
        node.happen(Leave(event.node))
        return node.core is not None

    def wipe_one(self, nodes: "Sequence[Node]", length_us: int) -> bool:
        """Somebody's disk is lost, where the cluster can do without it; it comes back with an empty one."""
        for victim in nodes:
            if spares(self.cluster, [victim.name]):
                victim.wipe()
                self.cluster.start_later(victim, length_us)
                return True
        return False

    def replace_one(self, nodes: "Sequence[Node]", length_us: int, random: Random) -> bool:
        """Somebody is gone for good, and another one comes, with an empty disk and a name of its own."""
        world = self.cluster
        for victim in nodes:
            if len(world.nodes) < 20 and len(nodes) > 1 and spares(world, [victim.name]):
                victim.wipe()
                victim.down_for_good = True
                successor = world.add_node(1.0, random.randint(-100_000, 100_000), victim.zone)
                world.start_later(successor, length_us)
                return True
        return False

    def leave(self, node: Node, length_us: int) -> bool:
        (participant,) = disguised([node])
        return self._leave(participant, length_us)

    def _leave(self, participant: LogParticipant, length_us: int) -> bool:
        return keeps_data(self.cluster, [participant.name]) and super()._leave(participant, length_us)
