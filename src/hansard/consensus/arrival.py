"""Getting into the log: what this participant is, whom it asks to be let in, and what it is told about that."""

from typing import Final

from .cluster import NodeId, Peer
from .content import Arrive
from .message import Directions
from .roster import Roster

INVENTORY_BYTES_MAX: Final = 1 << 20


class Arrival:
    def __init__(self, address: str, zone: str, rules_max: int, inventory: bytes, peer: Peer, session: int) -> None:
        self._address = address
        self._zone = zone
        self._rules_max = rules_max
        self.bring(inventory)
        self._session = session
        self._origin = peer.life
        self.hint: NodeId = ""
        """Who leads, as somebody says."""
        self.hint_address = ""
        """And where that one is. It is tried beside what we know ourselves, and does not replace it."""
        self.after = 0
        """The last incarnation of this node that has departed, as somebody says."""
        self._refusal = ""

    def bring(self, inventory: bytes) -> None:
        """What is said of what we have, from now on."""
        if len(inventory) > INVENTORY_BYTES_MAX:
            raise ValueError(f"an inventory of {len(inventory)} bytes; {INVENTORY_BYTES_MAX} is the most")
        self._inventory = inventory

    def content(self, peer: Peer, roster: Roster) -> Arrive:
        after = max(self.after, roster.last_incarnation(peer.node))
        process = (self._session, self._origin)
        return Arrive(peer, self._address, *process, after, self._zone, self._rules_max, self._inventory)

    def done(self, peer: Peer, roster: Roster) -> bool:
        known = roster.participants.get(peer.node)
        return known is not None and (known.peer, known.session) == (peer, self._session)

    def directed(self, me: NodeId, directions: Directions) -> str:
        """Somebody says who leads, or why we cannot come in: that is returned if it is news."""
        if directions.leader != me:
            self.hint = directions.leader
            self.hint_address = dict(directions.contacts).get(directions.leader, "")
        self.after = max(self.after, directions.former)
        news = directions.refusal if directions.refusal != self._refusal else ""
        self._refusal = directions.refusal or self._refusal
        return news
