"""The simulator's trivial atomic log in virtual time, for the suite that every implementation passes."""

from collections.abc import Callable
from itertools import count

from hansard.consensus.atomic import Asked
from hansard.consensus.cluster import NodeId
from hansard.consensus.content import Fact
from hansard.consensus.effect import Effect
from hansard.consensus.event import Tick
from hansard.consensus.facts import Facts
from hansard.consensus.settings import Settings
from sim.atomic.trivial import TrivialDisk, TrivialLog, TrivialMember

STEP_US = 20_000


class Place:
    """Where a participant runs: what it is told to be, and what it keeps over a crash."""

    def __init__(self, address: str, zone: str, rules_max: int, inventory: bytes) -> None:
        self.address = address
        self.zone = zone
        self.rules_max = rules_max
        self.inventory = inventory
        self.disk = TrivialDisk()
        self.member: TrivialMember | None = None
        self.machine = Facts()
        self.effects: list[Effect] = []
        self.connected = True


class Sequenced:
    def __init__(self, settings: Settings) -> None:
        self.log = TrivialLog(settings, Facts())
        self.now_us = 0
        self.places: dict[NodeId, Place] = {}
        self._lives = count(1001)

    def add(
        self,
        node: NodeId,
        *,
        through: NodeId = "",
        address: str = "",
        zone: str = "",
        rules_max: int = 1,
        inventory: bytes = b"",
    ) -> None:
        assert not through or through in self.places
        self.places[node] = Place(address or f"{node}:1", zone, rules_max, inventory)
        self.restart(node)

    def crash(self, node: NodeId) -> None:
        self.places[node].member = None

    def restart(self, node: NodeId, *, address: str = "", rules_max: int = 0) -> None:
        place = self.places[node]
        place.address, place.rules_max = address or place.address, rules_max or place.rules_max
        place.machine, place.effects = Facts(), []
        place.member = TrivialMember(
            node,
            place.address,
            self.log,
            place.machine,
            place.disk,
            draw_life=lambda: next(self._lives),
            zone=place.zone,
            rules_max=place.rules_max,
            inventory=place.inventory,
        )
        place.member.connected = place.connected
        self.happen(node)

    def wipe(self, node: NodeId) -> None:
        self.crash(node)
        self.places[node].disk = TrivialDisk()

    def cut(self, node: NodeId) -> None:
        self._connect(node, connected=False)

    def heal(self, node: NodeId) -> None:
        self._connect(node, connected=True)

    def _connect(self, node: NodeId, *, connected: bool) -> None:
        place = self.places[node]
        place.connected = connected
        if place.member is not None:
            place.member.connected = connected

    def happen(self, node: NodeId, *events: Asked) -> None:
        place = self.places[node]
        assert place.member is not None, f"{node} is down"
        place.effects += place.member.turn(events, self.now_us)

    def run(self, seconds: float) -> None:
        end_us = self.now_us + int(seconds * 1_000_000)
        while self.now_us + STEP_US <= end_us:
            self._step()
        self.now_us = end_us

    def until(self, condition: Callable[[], object], seconds: float = 10) -> None:
        end_us = self.now_us + int(seconds * 1_000_000)
        while not condition():
            assert self.now_us < end_us, f"not within {seconds} s"
            self._step()

    def _step(self) -> None:
        self.now_us += STEP_US
        for node, place in self.places.items():
            if place.member is not None:
                self.happen(node, Tick())

    def effects(self, node: NodeId) -> list[Effect]:
        return self.places[node].effects

    def facts(self, node: NodeId) -> list[tuple[int, Fact]]:
        return self.places[node].machine.told
