"""A participant whose government comes from its command line: everybody is told the same one, and it never changes.

It stands in for what appoints governments until that is there: the report that the government has opened is accepted
at once, since nobody could have appointed another.
"""

import asyncio
import gc
import logging
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import uvloop
from msgspec import Struct

from hansard.phaser import Phaser, Settings
from hansard.phaser.effect import Achievement, Report
from hansard.phaser.event import Accepted, Appointed
from hansard.phaser.government import Government, NodeId, Shape, epoch_of
from hansard.storage.errors import StorageError

from .disk import open_directory, recovered
from .node import Address, Node

log = logging.getLogger(__name__)

BUCKET: Final = 0
CLUSTER: Final = "skeleton"
YOUNG_OBJECTS: Final = 50_000
"""Python looks for cycles after so many new objects; what a turn makes has none."""

SWITCH_S: Final = 0.0005
"""The journal's thread, back from its sync, gets the interpreter after this long at the latest."""


class Plan(Struct, frozen=True, kw_only=True):
    """One participant of one government."""

    directory: Path
    me: NodeId
    participants: Mapping[NodeId, Address]
    leader: NodeId
    shape: Shape = Shape.STAR
    epoch: int = 1

    @property
    def government(self) -> Government:
        return Government(self.epoch, self.leader, tuple(self.participants), shape=self.shape)


class StaleEpoch(StorageError):
    """The directory has promised to follow a later government than the one on the command line."""

    def __init__(self, given: int, promised: int) -> None:
        super().__init__(given, promised)
        self.given = given
        self.promised = promised

    def __str__(self) -> str:
        return f"epoch {self.given} is over: this directory follows epoch {self.promised}; give --epoch {self.promised}"


def run(plan: Plan) -> None:
    """Until it is told to stop (SIGTERM, SIGINT). Raises what it could not go on after."""
    gc.set_threshold(YOUNG_OBJECTS, 20, 50)
    sys.setswitchinterval(SWITCH_S)
    uvloop.run(_serve(plan))


async def _serve(plan: Plan) -> None:
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()

    def stop() -> None:
        if not over.done():
            over.set_result(None)

    def failed(error: BaseException) -> None:
        if not over.done():
            over.set_exception(error)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    store = open_directory(plan.directory, CLUSTER, plan.me)
    try:
        phaser = Phaser(plan.me, BUCKET, Settings(), recovered(store, BUCKET))
        if epoch_of(phaser.term) > plan.epoch:
            raise StaleEpoch(plan.epoch, epoch_of(phaser.term))

        def reported(bucket: int, report: Report) -> None:
            node.happen(bucket, Accepted(report.achievement, report.epoch))
            if report.achievement is Achievement.OPENED:
                log.info("%s leads bucket %d in epoch %d", plan.me, bucket, report.epoch)
                loop.call_soon(_say_ready)

        node = Node(plan.me, CLUSTER, plan.participants, store, {BUCKET: phaser}, reported, failed)
        try:
            await node.start(plan.participants[plan.me])
            log.info("%s listens on %s:%d", plan.me, *plan.participants[plan.me])
            node.happen(BUCKET, Appointed(plan.government))
            if plan.me != plan.leader:
                _say_ready()
            await over
        finally:
            await node.stop()
    finally:
        store.close()


def _say_ready() -> None:
    """On a line of its own, for whoever started this."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()
