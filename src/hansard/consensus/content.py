"""What is proposed to the atomic log, and what becomes of it.

*Contents* are what entries hold. Each is safe to be in the log any number of times: what counts once is known by its
proposer's session and number, the rest by what it says. *Facts* are what follows from the contents, in the order of the
log, each exactly once: they are what a state machine on top is told.
"""

from enum import StrEnum

from msgspec import Struct

from .cluster import NodeId, Peer


class Begin(Struct, frozen=True, array_like=True, tag=1, gc=False):
    """A leader's first entry: with it everything before is committed."""


class Council(Struct, frozen=True, array_like=True, tag=2, gc=False):
    """Who votes, from here on in every log that has this entry, committed or not. One more or one less than before."""

    voters: tuple[Peer, ...]


class Arrive(Struct, frozen=True, array_like=True, tag=3, gc=False):
    """A participant is there: for the first time, in another life, in another process, or under another address."""

    peer: Peer
    address: str
    session: int
    """Of its process; each has the next one, and ends the one before."""
    origin: int
    """The life in which this process began: with the session it says which process it is, through all its lives."""
    after: int = 0
    """The last incarnation of this node, which has departed, as far as it knows: an arrival that comes so late that
    others have come and gone since is void."""
    zone: str = ""
    rules_max: int = 1
    """The newest rules that it knows."""
    inventory: bytes = b""
    """What it brings along; nothing here looks into it."""


class Why(StrEnum):
    """Of a departure. Nothing but what people are told follows from it."""

    SILENT = "silent"
    """It was not heard of for longer than its lease."""
    LEFT = "left"
    """It wanted to go."""
    GIVEN_UP = "given up"
    """By somebody else, who was told to."""
    DAMAGED = "damaged"
    """It wanted to come again as another member: what this one had is not on its disk any more."""


class Depart(Struct, frozen=True, array_like=True, tag=4, gc=False):
    peer: Peer
    why: Why = Why.SILENT


class Upgrade(Struct, frozen=True, array_like=True, tag=5, gc=False):
    """From here on the state machine follows these rules. Void unless everybody knows them."""

    rules: int


class Proposal(Struct, frozen=True, array_like=True, tag=6, gc=False):
    """Counted once: the numbers of a session begin at 1 and have no gaps, and only the session that arrived last
    counts."""

    proposer: Peer
    session: int
    number: int
    content: bytes


Content = Begin | Council | Arrive | Depart | Upgrade | Proposal


class Entry(Struct, frozen=True, array_like=True, gc=False):
    term: int
    content: Content


# Facts.


class Arrived(Struct, frozen=True, array_like=True, tag=1, gc=False):
    node: NodeId
    incarnation: int
    address: str
    zone: str
    inventory: bytes


class Moved(Struct, frozen=True, array_like=True, tag=2, gc=False):
    """The same incarnation, under another address or in another zone."""

    node: NodeId
    incarnation: int
    address: str
    zone: str


class Departed(Struct, frozen=True, array_like=True, tag=3, gc=False):
    node: NodeId
    incarnation: int


class Upgraded(Struct, frozen=True, array_like=True, tag=4, gc=False):
    rules: int


class Proposed(Struct, frozen=True, array_like=True, tag=5, gc=False):
    node: NodeId
    incarnation: int
    content: bytes


Fact = Arrived | Moved | Departed | Upgraded | Proposed
