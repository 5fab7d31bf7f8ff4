"""Who should vote: the next single step towards it.

A pure rule that the leader applies after every change that has committed. Each step differs by one voter, so any
majority before it and any after it have somebody in common. The steps come in the order that keeps the cluster
available: who has departed answers nobody and only makes the majority larger, so it goes before anybody is added.
"""

from collections import Counter
from collections.abc import Collection, Mapping

from .cluster import NodeId, Peer
from .roster import Participant

Zone = tuple[str, NodeId]
"""An unknown one is taken for a zone of its own: it has the node's name."""


def size_wanted(participants: int) -> int:
    """Three survive the loss of one, five of two; four would be no better than three, and answer more slowly. Of two
    both vote, so that every decision is on both disks; nothing is decided while one of them is away."""
    return min(participants, 3) if participants < 5 else 5


def next_council(
    voters: tuple[Peer, ...], participants: Mapping[NodeId, Participant], caught_up: Collection[Peer], me: Peer
) -> tuple[Peer, ...] | None:
    """The voters after the next change of one, or None if they are as they should be (or nobody can be added yet).

    `participants` are in the order of their arrival; `caught_up` are those, departed or not, who are heard and are
    close to the log's end; `me` is the leader, who asks. Repeated with everybody caught up it comes to an end: every
    swap takes one from a zone and puts it where there are at least two less, so the sum of the squares of the zones'
    voters falls with each.

    Of several that have departed, those who still answer go last: their answers may be needed to remove the others. For
    the same reason the leader itself is the very last.
    """
    assert len(set(voters)) == len(voters) > 0, voters
    newcomer = _newcomer(voters, participants, caught_up)
    departed = [voter for voter in voters if not _here(voter, participants)]
    if departed:
        if len(voters) == 1:  # a council is never empty
            return _with(voters, newcomer)
        return _without(voters, min(departed, key=lambda voter: (voter == me, voter in caught_up)))
    wanted = size_wanted(len(participants))
    if len(voters) > wanted:
        return _without(voters, _superfluous(voters, participants, caught_up, me))
    if len(voters) < wanted or _spreads(newcomer, voters, participants):
        return _with(voters, newcomer)
    return None


def _newcomer(
    voters: tuple[Peer, ...], participants: Mapping[NodeId, Participant], caught_up: Collection[Peer]
) -> Participant | None:
    """Who would be added: from the zone with the fewest voters, the first that arrived there."""
    crowds = _crowds(voters, participants)
    able = [one for one in participants.values() if one.peer in caught_up and one.peer not in voters]
    return min(able, key=lambda one: crowds[_zone(one)], default=None)


def _superfluous(
    voters: tuple[Peer, ...], participants: Mapping[NodeId, Participant], caught_up: Collection[Peer], me: Peer
) -> Peer:
    """Who is taken away where there are too many: in the most crowded zones one that is behind or does not answer, or
    else the last that arrived. Never the leader: a zone that is more crowded than others has somebody else in it, and
    where none is, all of them are to choose from."""
    crowds = _crowds(voters, participants)
    most = max(crowds.values())
    crowded = [one.peer for one in participants.values() if one.peer in voters and crowds[_zone(one)] == most]
    return min([peer for peer in reversed(crowded) if peer != me], key=lambda peer: peer in caught_up)


def _spreads(
    newcomer: Participant | None, voters: tuple[Peer, ...], participants: Mapping[NodeId, Participant]
) -> bool:
    """Whether it would help to have it instead of one from the most crowded zone, which is taken away next."""
    crowds = _crowds(voters, participants)
    return newcomer is not None and crowds[_zone(newcomer)] + 2 <= max(crowds.values())


def _crowds(voters: tuple[Peer, ...], participants: Mapping[NodeId, Participant]) -> Counter[Zone]:
    """The number of voters in each zone; who has departed is nowhere."""
    return Counter(_zone(participants[voter.node]) for voter in voters if _here(voter, participants))


def _zone(participant: Participant) -> Zone:
    return (participant.zone, "") if participant.zone else ("", participant.peer.node)


def _here(peer: Peer, participants: Mapping[NodeId, Participant]) -> bool:
    participant = participants.get(peer.node)
    return participant is not None and participant.peer == peer


def _with(voters: tuple[Peer, ...], newcomer: Participant | None) -> tuple[Peer, ...] | None:
    return (*voters, newcomer.peer) if newcomer is not None else None


def _without(voters: tuple[Peer, ...], voter: Peer) -> tuple[Peer, ...]:
    return tuple(other for other in voters if other != voter)
