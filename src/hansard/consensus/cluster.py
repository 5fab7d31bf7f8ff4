"""Whose message it is: the cluster, and a participant in one of its lives.

A *life* is a random number that a participant draws when it begins with an empty disk, and again after it was declared
departed. Whoever has forgotten what it voted for, or what it stored, has another life, and counts for nothing that the
former one has promised. The number of an *incarnation* follows from the log, which counts the lives of a node.
"""

from typing import Final

from msgspec import Struct

NodeId = str
"""A participant's name: the same in all its lives."""


class ClusterId(Struct, frozen=True, array_like=True, gc=False):
    """Made at founding. After the majority was lost, the cluster that goes on has the next incarnation, and whatever
    is left of the one before is another cluster."""

    id: str
    incarnation: int = 1
    mark: int = 0
    """Drawn for every incarnation but the first: two that were made from the same one are two clusters."""


NO_CLUSTER: Final = ClusterId("", 0)
"""Of a participant that has not joined one yet."""


class Peer(Struct, frozen=True, array_like=True, order=True, gc=False):
    node: NodeId
    life: int
