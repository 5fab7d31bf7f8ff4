"""One client's changes never pass each other: not in a key, and not in a connection."""

from typing import TYPE_CHECKING

from hansard.batch import Flag

from .oracle import Oracle
from .sequence import OneSequence

if TYPE_CHECKING:
    from sim.world.world import World


class Order(Oracle):
    promise = "in the order submitted"

    def __init__(self, sequence: OneSequence) -> None:
        self.sequence = sequence

    def finish(self, world: "World") -> None:
        serials: dict[bytes, int] = {}
        series: dict[int, int] = {}
        clients = {b"%d" % client.number for client in world.clients}
        for batch in self.sequence.batches:
            for change in batch.changes() if not batch.header.flags & Flag.INTERNAL else ():
                assert change.value is not None
                client, _, serial = change.value.partition(b":")
                if client not in clients:
                    continue
                if int(serial) <= serials.get(client, 0):
                    raise self.broken(f"{change.value!r} comes after {serials[client]}, in {batch}")
                if change.series <= series.get(change.connection, -1):
                    raise self.broken(f"series {change.series} of connection {change.connection} in {batch}")
                serials[client], series[change.connection] = int(serial), change.series
