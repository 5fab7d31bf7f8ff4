"""What can be seen of a participant's part in the atomic log, from outside."""

from .cluster import ClusterId, NodeId, Peer
from .ledger import Ledger
from .log import Log
from .machine import Machine
from .post import Post
from .role import Role
from .roster import Roster
from .seat import Seat


class View:
    ledger: Ledger
    post: Post
    seat: Seat

    @property
    def peer(self) -> Peer:
        return self.seat.peer

    @property
    def role(self) -> Role:
        return self.seat.role

    @property
    def leader(self) -> NodeId:
        return self.seat.leader

    @property
    def cluster(self) -> ClusterId:
        return self.ledger.cluster

    @property
    def term(self) -> int:
        return self.ledger.term

    @property
    def vote(self) -> Peer | None:
        return self.ledger.vote

    @property
    def log(self) -> Log:
        return self.ledger.log

    @property
    def voters(self) -> tuple[Peer, ...]:
        return self.ledger.log.voters

    @property
    def committed(self) -> int:
        return self.ledger.committed

    @property
    def synced(self) -> int:
        return self.ledger.synced

    @property
    def roster(self) -> Roster:
        return self.ledger.roster

    @property
    def machine(self) -> Machine:
        return self.ledger.machine

    def address_of(self, node: NodeId) -> str:
        """Where a node is by the log, or was last heard of if it is not there; empty if that is not known."""
        if node == self.peer.node:
            return self.post.address
        known = self.roster.participants.get(node)
        return known.address if known is not None else self.post.contacts.get(node, "")
