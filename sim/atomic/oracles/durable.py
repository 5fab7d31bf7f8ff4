"""What is committed is on the disks of a majority of the voters, from the moment that it is."""

from typing import TYPE_CHECKING

from hansard.consensus.cluster import Peer
from hansard.consensus.content import Entry

from .oracle import Oracle
from .sequence import OneSequence

if TYPE_CHECKING:
    from sim.atomic.participant import Participant
    from sim.atomic.world import World


class Durable(Oracle):
    promise = "committed is on the disks of a majority"

    def __init__(self, sequence: OneSequence) -> None:
        self.sequence = sequence

    def advanced(self, participant: "Participant") -> None:
        consensus, world = participant.consensus, participant.world
        assert consensus is not None
        end, log = consensus.committed, consensus.log
        if end <= log.start:
            return  # compacted at once
        entry = log.entries[end - 1 - log.start]
        # Who votes may have changed right after it was committed: then it was by those who voted before.
        councils = (participant.seen.voters, consensus.voters, log.voters_before(end))
        if not any(_stored(world, council, end, entry) for council in councils):
            raise self.broken(f"{participant.name} takes {entry} for committed, which is on too few disks")

    def finish(self, world: "World") -> None:
        for participant in world.living:
            image = participant.vault.synced
            stored, start = image.entries, image.start
            if image.end < self.sequence.end:
                raise self.broken(f"{participant.name}'s disk has {image.end} of {self.sequence.end}")
            if stored[: self.sequence.end - start] != self.sequence.entries[start:]:
                raise self.broken(f"{participant.name}'s disk has something else than what was applied")


def _stored(world: "World", council: tuple[Peer, ...], end: int, entry: Entry) -> bool:
    return 2 * sum(_has(world, voter, end, entry) for voter in council) > len(council)


def _has(world: "World", voter: Peer, end: int, entry: Entry) -> bool:
    """Whether it is on the voter's disk; of a disk that was lost since, nobody can say."""
    participant = world.by_name[voter.node]
    image = participant.vault.synced
    if participant.vault.note.life != voter.life or end <= image.start:
        return True
    if end > image.end:
        return False
    stored = image.entries[end - 1 - image.start]
    return stored is entry or stored == entry
