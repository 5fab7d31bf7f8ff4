"""Where nodes are. One may move to a new address, or to one that another has left; and two may change places."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .node import Node
    from .world import World


class Addresses:
    def __init__(self, world: "World") -> None:
        self._world = world
        self._nodes: dict[str, Node] = {}
        self._free: list[str] = []

    def at(self, address: str) -> "Node | None":
        return self._nodes.get(address)

    def add(self, node: "Node") -> None:
        """A seed's address leads to it wherever it is."""
        self._nodes[f"seed-{node.name}"] = node
        self.move(node)

    def move(self, node: "Node", *, reuse: bool = False) -> None:
        self._nodes.pop(node.address, None)
        others = [address for address in self._free if address != node.address]
        if node.address:
            self._free.append(node.address)
        node.address_number += 1
        node.address = f"{node.name}{node.address_number}"
        if reuse and others:
            node.address = self._world.random.choice(others)
            self._free.remove(node.address)
        self._nodes[node.address] = node
        self._introduce()

    def swap(self, one: "Node", other: "Node") -> None:
        one.address, other.address = other.address, one.address
        self._nodes[one.address], self._nodes[other.address] = one, other
        self._introduce()

    def _introduce(self) -> None:
        """Everybody who starts from here on is told where the others are."""
        for node in self._world.nodes:
            node.seeds = tuple([f"seed-{one.name}" for one in self._world.nodes if one is not node])
