"""Operators: each order has an id, and is given again, at another node, until somebody answers."""

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from hansard.distributor.command import Order, Wish
from hansard.distributor.orders import Standing, Status
from hansard.participant.effect import AnswerCommand
from hansard.participant.event import Command

if TYPE_CHECKING:
    from .node import Node
    from .world import World

PATIENCE_US: Final = 1_500_000


class Given(Struct):
    order: Order
    tries: int = 0
    status: Status | None = None
    """What was answered first."""


class Operator:
    def __init__(self, world: "World") -> None:
        self.world = world
        self.given: dict[str, Given] = {}
        self._asked: dict[int, str] = {}

    @property
    def waiting(self) -> list[str]:
        return [id for id, given in self.given.items() if given.status is None]

    def order(self, wish: Wish) -> str:
        id = f"order-{len(self.given)}"
        self.given[id] = Given(Order(id, wish))
        self._give(id)
        return id

    def _give(self, id: str) -> None:
        given, world = self.given[id], self.world
        if given.status is not None:
            return
        given.tries += 1
        world.clock.after(PATIENCE_US, lambda: self._give(id))
        node = world.random.choice(world.nodes)
        # Some give it twice at once: it counts once.
        for one in (node, world.random.choice(world.nodes)) if world.random.random() < 0.2 else (node,):
            number = world.next_number()
            self._asked[number] = id
            one.happen(Command(number, given.order))

    def answered(self, node: "Node", answer: AnswerCommand) -> None:
        given = self.given[self._asked.pop(answer.id)]
        if answer.status is None:
            return  # it came to nothing, and is given again
        if answer.status.wish != given.order.wish:
            raise AssertionError(f"{given.order} was answered with {answer.status}")
        given.status = given.status or answer.status
        self.world.coverage.counts[f"order {answer.status.standing}"] += 1

    def standing(self, id: str) -> Standing | None:
        """By the furthest table."""
        status = self.world.table.distributor.orders.get(id)
        return status.standing if status is not None else None
