"""Each life of a node arrives once and departs once, and the next one after that; nobody gives up a life that has not
departed."""

from typing import TYPE_CHECKING

from hansard.consensus.cluster import Peer
from hansard.consensus.content import Arrive, Arrived, Depart, Departed, Entry, Fact, Moved
from hansard.consensus.effect import Departing, Effect

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.atomic.participant import Participant
    from sim.atomic.world import World


class Lives(Oracle):
    promise = "one life after another"

    def __init__(self) -> None:
        self.here: dict[str, tuple[Peer, int]] = {}
        """Who is there, in which incarnation."""
        self.departed: dict[Peer, None] = {}
        self._incarnations: dict[str, int] = {}

    @property
    def here_now(self) -> list[Peer]:
        return [peer for peer, _ in self.here.values()]

    def committed(self, index: int, entry: Entry, fact: Fact | None) -> None:
        match fact, entry.content:
            case Arrived(node=node, incarnation=incarnation), Arrive(peer=peer):
                expected = self._incarnations.get(node, 0) + 1
                if node in self.here or incarnation != expected or peer in self.departed:
                    raise self.broken(f"{peer} arrives at {index} as incarnation {incarnation}, not {expected}")
                self.here[node], self._incarnations[node] = (peer, incarnation), incarnation
            case Departed(node=node, incarnation=incarnation), Depart(peer=peer):
                if self.here.pop(node, None) != (peer, incarnation):
                    raise self.broken(f"{peer} departs at {index} as incarnation {incarnation}, and is not there")
                self.departed[peer] = None
            case Moved(node=node, incarnation=incarnation), Arrive(peer=peer):
                if self.here.get(node) != (peer, incarnation):
                    raise self.broken(f"{peer} moves at {index} as incarnation {incarnation}, and is not there")
            case _:
                pass

    def did(self, participant: "Participant", effect: Effect) -> None:
        if isinstance(effect, Departing) and Peer(participant.name, effect.life) not in self.departed:
            raise self.broken(f"{participant.name} gives up its life {effect.life}, which has not departed")

    def finish(self, world: "World") -> None:
        living = {participant.name: participant.peer for participant in world.living}
        here = {node: peer for node, (peer, _) in self.here.items()}
        if here != living:
            raise self.broken(f"{here} are there by the log, and {living} are there")
