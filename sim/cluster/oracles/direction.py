"""A departure in the middle of a move: before the newcomers count the bucket falls back to those who had it, and from
then on forward to those whom the move leads to; in either case less those who have departed, if anybody is left."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hansard.consensus.content import Departed, Entry, Fact
from hansard.distributor.bucket import Bucket as Record
from hansard.distributor.bucket import State

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.cluster.world import World


class BackOrForward(Oracle):
    promise = "back before expanded, forward after it"

    def committed(self, world: "World", index: int, entry: Entry, fact: Fact | None, before: Sequence[Record]) -> None:
        if not isinstance(fact, Departed):
            return
        table = world.table.distributor
        for number, (old, new) in enumerate(zip(before, table.buckets, strict=True)):
            if not old.goal or old.epoch == new.epoch:
                continue
            wanted = old.full if old.state is State.EXPANDING and old.opened == old.epoch else old.members
            living = [member for member in wanted if member in table.slots.present]
            if living and sorted(new.members) != sorted(living):
                raise self.broken(f"bucket {number} was {old} and is {new}, where {living} are left")
