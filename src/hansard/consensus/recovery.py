"""The majority is lost for good: what the survivors' copies have, and a new cluster that goes on from one of them.

The copy that would win an election among them is taken, all of it: any of its entries may have been committed, so none
is cut off, and what was not committed counts from now on. Nothing here can bring back what only the lost ones had.

The new cluster is the next incarnation of the old one, and its only voter is a new life of the participant in whose
directory it is made. In its roster are still those of the old one, in the lives that they had: none of them is heard
again, so they depart when their leases are over, and whoever is there arrives anew, with an inventory of what its disk
really has, which may be ahead of a log that has lost its last entries.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from .cluster import NO_CLUSTER, ClusterId, NodeId, Peer
from .effect import Write
from .errors import MajorityThere, NothingToRecover, SameNode, SeveralClusters
from .ledger import Ledger
from .machine import Machine
from .recovered import Recovered, State, refounding
from .settings import Settings

_NEVER_COMPACTED: Final = Settings(compact_entries=1 << 62)


class Copy(Struct, frozen=True):
    """One survivor's."""

    place: str
    """Where it lies, for people."""
    node: NodeId
    recovered: Recovered


class Finding(Struct, frozen=True):
    """What a copy has."""

    place: str
    peer: Peer
    cluster: ClusterId
    term: int
    """The last one that it knows of."""
    last_term: int
    """Of its last entry."""
    end: int
    covered: int
    """What is before this index was certainly committed."""
    voters: tuple[Peer, ...]


class Plan(Struct, frozen=True):
    chosen: Finding
    present: tuple[Peer, ...]
    """The voters whose copies are here, by the council in the chosen one."""
    missing: tuple[Peer, ...]
    cluster: ClusterId
    """The new one."""
    founder: Peer
    state: State
    """All that follows from the chosen copy."""

    def writes(self) -> tuple[Write, ...]:
        return refounding(self.cluster, self.founder, self.state)


def find(copy: Copy, machine: Machine) -> Finding:
    """The machine is used to look at the copy, and is left in the state that was kept there."""
    ledger = Ledger(_NEVER_COMPACTED, [], machine, copy.recovered)
    log = ledger.log
    peer = Peer(copy.node, ledger.life)
    return Finding(copy.place, peer, ledger.cluster, ledger.term, log.last_term, log.end, ledger.committed, log.voters)


def plan(copies: Sequence[Copy], founder: Peer, machine: Machine, *, force: bool = False) -> Plan:
    """How the cluster goes on, with `founder`, in a life that it never had, as its only voter; `force` makes a new one
    though the old one has a majority. The machine is left in the new cluster's first state."""
    findings = [find(copy, machine) for copy in copies]
    _check_nodes(findings)
    there = [finding for finding in findings if finding.cluster != NO_CLUSTER]
    if not there:
        raise NothingToRecover
    cluster = max((finding.cluster for finding in there if finding.cluster.id == there[0].cluster.id), key=_incarnation)
    for finding in there:
        if finding.cluster != cluster:
            raise SeveralClusters(finding.place, finding.cluster, cluster)
    chosen = max(there, key=lambda finding: (finding.last_term, finding.end))
    if not chosen.end:
        raise NothingToRecover
    peers = {finding.peer for finding in there}
    present = tuple(voter for voter in chosen.voters if voter in peers)
    missing = tuple(voter for voter in chosen.voters if voter not in peers)
    if len(present) > len(missing) and not force:
        raise MajorityThere(tuple(voter.node for voter in present), len(chosen.voters))
    next_cluster = ClusterId(cluster.id, cluster.incarnation + 1, founder.life)
    state = final_state(copies[findings.index(chosen)].recovered, machine)
    return Plan(chosen, present, missing, next_cluster, founder, state)


def _incarnation(cluster: ClusterId) -> int:
    return cluster.incarnation


def _check_nodes(findings: Sequence[Finding]) -> None:
    places: dict[NodeId, str] = {}
    for finding in findings:
        node = finding.peer.node
        if node in places:
            raise SameNode(node, finding.place, places[node])
        places[node] = finding.place


def final_state(recovered: Recovered, machine: Machine) -> State:
    """What follows from all of a copy, as if its last entry were committed."""
    ledger = Ledger(_NEVER_COMPACTED, [], machine, recovered)
    log = ledger.log
    ledger.commit(log.end)
    return State(log.end, log.last_term, log.voters, ledger.roster.image(), machine.image())


def unknowns(plan: Plan) -> list[str]:
    """What nobody can know from the copies that are here, in sentences."""
    chosen = plan.chosen
    lost = ", ".join(voter.node for voter in plan.missing)
    found: list[str] = []
    if plan.missing:
        found.append(
            f"Whether there were entries from {chosen.end} on that only {lost} had. If so, they are lost, though "
            "somebody may have been told that they are in the log, and though they may have been acted on."
        )
    if chosen.covered < chosen.end:
        found.append(
            f"Whether entries {chosen.covered} to {chosen.end - 1} were ever committed. All of them count from now on."
        )
    if plan.missing:
        found.append(
            f"Whether {lost} will come back. As they are they belong to the old cluster: nobody of the new one listens "
            "to them, and they stop when they hear of it; but as long as they do not, and are enough, they go on by "
            "themselves. Do not start them again."
        )
    return found
