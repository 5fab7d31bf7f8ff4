"""A participant in one of its incarnations: what a government is made of."""

from msgspec import Struct

Node = str


class Member(Struct, frozen=True, array_like=True, order=True, gc=False):
    """Who has departed and comes back is another member, with a head start."""

    node: Node
    incarnation: int

    def __str__(self) -> str:
        return f"{self.node}#{self.incarnation}"
