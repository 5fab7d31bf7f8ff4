"""The network between participants: delays, losses, doubles, cuts in one direction or both, resets, slow links.

Each message takes its own time, so messages overtake each other unless the links are kept in order. A loss is silent; a
reset loses what is under way in both directions, and both ends are told when the connection is there again.
"""

from collections.abc import Callable
from random import Random
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct

from hansard.phaser.government import NodeId
from hansard.phaser.message import Message

from .clock import Clock


class Conditions(Struct):
    """How the network is now; the nemesis changes it."""

    delay_us: int = 200
    jitter_us: int = 300
    loss: float = 0.0
    double: float = 0.0
    ordered: bool = True


class Letter(NamedTuple):
    """A message from one participant to another, by their names; a name is of one incarnation, at one place."""

    sender: NodeId
    to: NodeId
    message: Message


Said = TypeVar("Said")
"""What goes over the network; it does not look into it."""


class Network(Generic[Said]):
    def __init__(
        self,
        clock: Clock,
        random: Random,
        deliver: Callable[[str, Said], None],
        connected: Callable[[str, str], None],
    ) -> None:
        self.clock = clock
        self.random = random
        self.conditions = Conditions()
        self._deliver = deliver
        self._connected = connected
        self.cuts: dict[tuple[str, str], int] = {}
        """How many faults cut this direction at the moment."""
        self.slow: dict[tuple[str, str], int] = {}
        self._connection: dict[tuple[str, str], int] = {}
        self._last: dict[tuple[str, str], int] = {}

    def send(self, sender: str, to: str, letter: Said) -> None:
        """Between places; a message that is sent into a cut is lost."""
        link, conditions, random = (sender, to), self.conditions, self.random
        if self.cuts.get(link) or random.random() < conditions.loss:
            return
        copies = 2 if random.random() < conditions.double else 1
        connection = self._connection.get(_pair(sender, to), 0)
        for _ in range(copies):
            delay = conditions.delay_us + int(random.random() * conditions.jitter_us)
            if link in self.slow:
                delay += self.slow[link]
            due = self.clock.now_us + delay
            if conditions.ordered:
                due = max(due, self._last.get(link, 0))
                self._last[link] = due
            self.clock.after(due - self.clock.now_us, lambda: self._arrive(sender, to, letter, connection))

    def _arrive(self, sender: str, to: str, letter: Said, connection: int) -> None:
        if not self.cuts.get((sender, to)) and self._connection.get(_pair(sender, to), 0) == connection:
            self._deliver(to, letter)

    def cut(self, sender: str, to: str) -> None:
        self.cuts[sender, to] = self.cuts.get((sender, to), 0) + 1

    def mend(self, sender: str, to: str) -> None:
        self.cuts[sender, to] -= 1

    def reset(self, one: str, other: str) -> None:
        """The connection between two places breaks and is made anew."""
        pair = _pair(one, other)
        self._connection[pair] = self._connection.get(pair, 0) + 1
        for here, there in (pair, pair[::-1]):
            self._last.pop((here, there), None)
            self.clock.after(self.conditions.delay_us, lambda h=here, t=there: self._connected(h, t))  # type: ignore[misc]

    def heal(self) -> None:
        self.cuts.clear()
        self.slow.clear()
        self.conditions = Conditions()


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)
