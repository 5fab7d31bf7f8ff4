"""The ways between participants: each direction on its own, whole, cut, or holding back what is under way."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

DELAY_US = 1_000

Way = tuple[str, str]
"""From one participant to another."""

Said = TypeVar("Said")
"""What goes over a way."""


@dataclass(slots=True)
class Links(Generic[Said]):
    cut: set[Way] = field(default_factory=set)
    held: dict[Way, list[Said]] = field(default_factory=dict)
    """Of the ways on which everything waits: what waits there, the oldest first."""
    doubling: set[Way] = field(default_factory=set)
    """Where everything comes twice."""

    def is_whole(self, one: str, other: str) -> bool:
        return (one, other) not in self.cut and (other, one) not in self.cut


def ways(text: str) -> list[Way]:
    """`a>b` is one direction, `a-b` is both."""
    one, sign, other = text[0:1], text[1:2], text[2:]
    if sign == ">":
        return [(one, other)]
    if sign == "-":
        return [(one, other), (other, one)]
    raise ValueError(f"{text} is no way: write a>b or a-b")
