"""What participants say to each other.

They may be lost, doubled, delayed and reordered; each is safe at any time. Whose they are is known by the connection
that they come by.
"""

from typing import Annotated, Final

from msgspec import Meta, Struct

from hansard.batch import Batch
from hansard.consensus.message import Envelope
from hansard.distributor.settings import BUCKETS_MAX
from hansard.phaser import message as phaser
from hansard.phaser.event import Continues, Question
from hansard.phaser.government import NodeId
from hansard.phaser.outcome import Outcome, ReadOutcome

SUBMITTED: Final = -1

Bucket = Annotated[int, Meta(ge=0, lt=BUCKETS_MAX)]
Level = Annotated[int, Meta(ge=0, le=BUCKETS_MAX)]
"""Whoever decodes a message looks at these: what is said of a bucket that cannot be is no message."""


class Process(Struct, frozen=True, array_like=True, gc=False):
    """Of a node: the life in which it began, and its number in that life. What was asked by one that has ended is not
    answered to the next."""

    life: int
    session: int


class Atomic(Struct, frozen=True, array_like=True, tag=1, gc=False):
    """Of the atomic log."""

    envelope: Envelope


class Bucketed(Struct, frozen=True, array_like=True, tag=2, gc=False):
    """From phaser to phaser."""

    bucket: Bucket
    sender: NodeId
    to: NodeId
    """What is meant for another incarnation is not for this one."""
    message: phaser.Message
    level: Level
    """Of the sender's copy: what it says after a split is not understood before it."""


class Hop(Struct, frozen=True, array_like=True, tag=3, gc=False):
    """A submission on its way to the bucket's leader. Of a doubled one the second is ignored, by a receiver that has
    not restarted in between: the connections see to that, because none of them outlives its process."""

    origin: str
    """The node that took it from its client, and is told what becomes of it."""
    process: Process
    """Of the origin."""
    number: int
    """The process's, of this attempt: never used again."""
    hops: int
    version: int
    """Of the sender's table. Whoever has an older one waits until it has this one."""
    bucket: Bucket
    batch: Batch
    wait_us: int
    """How long an answer is of use."""
    buckets: Level
    continues: Continues | None
    follows: int = SUBMITTED
    """It is imported, behind a batch that ends there; or else a client submits it."""


class HopAnswer(Struct, frozen=True, array_like=True, tag=4, gc=False):
    process: Process
    number: int
    version: int
    outcome: Outcome


class ReadHop(Struct, frozen=True, array_like=True, tag=5, gc=False):
    """A linearizable read on its way to the bucket's leader."""

    process: Process
    number: int
    bucket: Bucket
    wait_us: int
    question: Question | None = None


class ReadHopAnswer(Struct, frozen=True, array_like=True, tag=6, gc=False):
    process: Process
    number: int
    outcome: ReadOutcome


class ClockAsk(Struct, frozen=True, array_like=True, tag=7, gc=False):
    """What time is it?"""

    asked_us: int
    """By the asker's own steady clock, to be sent back."""


class ClockTold(Struct, frozen=True, array_like=True, tag=8, gc=False):
    asked_us: int
    wall_us: int
    """By the clock on this wall."""
    cluster_us: int
    """The median of the voters' clocks, if this one leads them and knows it; 0 otherwise."""


class MendAsk(Struct, frozen=True, array_like=True, tag=9, gc=False):
    """My copy of a bucket is damaged: what do you have of these offsets?"""

    bucket: int
    number: int
    """The asker's, to be sent back."""
    first: int
    end: int


class MendTold(Struct, frozen=True, array_like=True, tag=10, gc=False):
    """The batches that I have from `first` on, as they are stored; none where I cannot help. Whoever asked looks at
    them itself: these are right if they are of the terms that its own log has there."""

    bucket: int
    number: int
    first: int
    batches: list[Batch]


class Hindered(Struct, frozen=True, array_like=True, tag=11, gc=False):
    """My disk takes nothing for now, for this reason; empty: it does again."""

    reason: str


Message = (
    Atomic | Bucketed | Hop | HopAnswer | ReadHop | ReadHopAnswer | ClockAsk | ClockTold | MendAsk | MendTold | Hindered
)
