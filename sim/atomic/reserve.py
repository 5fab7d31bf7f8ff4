"""What the cluster can do without: nobody may take so much that a majority of the voters is lost for good.

A voter counts as lost when its disk is (another life is on it now), when it stays down for good, and when its
departure is in any log, because it gives up its life when it hears of that. It is lost until its removal is committed.
Councils that are in any log and not committed yet may be the ones that count later, so all of them must have their
majority; and until a leader misses those who are lost and do not vote, it may make voters of them.
"""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from hansard.consensus.cluster import Peer
from hansard.consensus.content import Council, Depart, Entry
from hansard.consensus.effect import Put
from hansard.consensus.recovered import STATE, decode_state

if TYPE_CHECKING:
    from .participant import Participant
    from .world import World


def spares(world: "World", names: Collection[str]) -> bool:
    """Whether a majority of every council that may count is there without these."""
    lost = _lost(world)
    gone = {*names, *[peer.node for peer in world.lives.here_now if peer in lost]}

    def has_majority(council: tuple[Peer, ...]) -> bool:
        whole = [voter for voter in council if voter not in lost and voter.node not in gone]
        others = gone - {voter.node for voter in council}
        return 2 * len(whole) > len(council) + len(others)

    return all(has_majority(council) for council in councils(world))


def is_whole(world: "World") -> bool:
    """Whether all who vote are there to stay."""
    lost = _lost(world)
    return not any(voter in lost for council in councils(world) for voter in council)


def _lost(world: "World") -> set[Peer]:
    """All voters that are lost, or will be."""
    lost = {entry.content.peer for entry in _all_entries(world) if isinstance(entry.content, Depart)}
    lost |= {one.peer for one in world.participants if one.leaving or one.down_for_good}
    lives = {Peer(one.name, one.vault.note.life) for one in world.participants}
    lives &= {one.peer for one in world.participants}
    known = {*world.lives.here_now, *[voter for council in councils(world) for voter in council]}
    return lost | {peer for peer in known if peer not in lives}


def councils(world: "World") -> set[tuple[Peer, ...]]:
    """The latest that is committed, and all that may be later ones."""
    committed = world.sequence.entries
    latest = max([index for index, entry in enumerate(committed) if isinstance(entry.content, Council)], default=0)
    found: set[tuple[Peer, ...]] = set()
    for participant in world.participants:
        for index, entry in _entries(participant):
            if index >= latest and isinstance(entry.content, Council):
                found.add(entry.content.voters)
        state = decode_state(participant.vault.synced.documents.get(STATE, b""))
        if state.end > latest:
            found.add(state.voters)
    if committed:
        content = committed[latest].content
        assert isinstance(content, Council)
        found.add(content.voters)
    return found


def _all_entries(world: "World") -> Iterator[Entry]:
    yield from world.sequence.entries
    for participant in world.participants:
        for _, entry in _entries(participant):
            yield entry


def _entries(participant: "Participant") -> Iterator[tuple[int, Entry]]:
    """In its memory, on its disk, and under way there: a crash may bring back what memory has cut already."""
    image = participant.vault.synced
    yield from enumerate(image.entries, image.start)
    for _, writes in participant.vault.pending:
        for write in writes:
            if isinstance(write, Put):
                yield from enumerate(write.entries, write.start)
    if participant.consensus is not None:
        yield from enumerate(participant.consensus.log.entries, participant.consensus.log.start)
