"""Who takes part, as the log says: the part of the state that consensus itself looks at.

Changed by `apply` alone, entry by entry as they are committed, so it is the same everywhere at the same index. Who
votes is not in it: that changes when an entry is appended, and changes back if the entry is cut off.
"""

from collections.abc import Mapping
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from .cluster import NodeId, Peer
from .content import (
    Arrive,
    Arrived,
    Begin,
    Content,
    Council,
    Depart,
    Departed,
    Fact,
    Moved,
    Proposal,
    Proposed,
    Upgrade,
    Upgraded,
    Why,
)


class Participant(Struct, frozen=True, array_like=True, gc=False):
    peer: Peer
    incarnation: int
    address: str
    zone: str
    rules_max: int
    session: int
    """Of its process, and the life in which that began."""
    origin: int
    number: int = 0
    """Of the last proposal of this process that counted."""


class Former(Struct, frozen=True, array_like=True, gc=False):
    """The last life of a node that has departed, and what counted last of what it proposed."""

    life: int
    incarnation: int
    session: int
    origin: int
    number: int
    why: Why = Why.SILENT


class Image(Struct, frozen=True, array_like=True):
    participants: tuple[Participant, ...] = ()
    formers: tuple[tuple[NodeId, Former], ...] = ()
    rules: int = 1


class Roster:
    def __init__(self, image: Image | None = None) -> None:
        image = image or Image()
        self._participants = {participant.peer.node: participant for participant in image.participants}
        self._formers = dict(image.formers)
        self.rules = image.rules
        self.changes = 0
        """How often somebody came or went, since this object was made."""

    @property
    def participants(self) -> Mapping[NodeId, Participant]:
        """In the order of their arrival."""
        return self._participants

    def counted(self, node: NodeId, session: int, origin: int) -> int:
        """The number of the last proposal of a process that counted, in any of its lives; 0 if none did, or another
        process of this name has come since."""
        known = self._participants.get(node) or self._formers.get(node)
        return known.number if known is not None and (known.session, known.origin) == (session, origin) else 0

    def image(self) -> Image:
        return Image(tuple(self._participants.values()), tuple(self._formers.items()), self.rules)

    def here(self, peer: Peer) -> bool:
        participant = self._participants.get(peer.node)
        return participant is not None and participant.peer == peer

    def gone(self, peer: Peer) -> bool:
        """This life has ended, by the log; not said of one that was never there."""
        participant, former = self._participants.get(peer.node), self._formers.get(peer.node)
        if participant is not None:
            return participant.peer != peer and former is not None and former.life == peer.life
        return former is not None and former.life == peer.life

    def apply(self, content: Content) -> Fact | None:
        """The next entry of the log. None if nothing follows from it, as when it was there before."""
        match content:
            case Begin() | Council():
                return None
            case Arrive():
                return self._arrive(content)
            case Depart():
                return self._depart(content.peer, content.why)
            case Upgrade():
                return self._upgrade(content.rules)
            case Proposal():
                return self._propose(content)
            case _:
                assert_never(content)

    def last_incarnation(self, node: NodeId) -> int:
        """Of those that have departed; 0 if none has."""
        former = self._formers.get(node)
        return former.incarnation if former is not None else 0

    def why_departed(self, node: NodeId, incarnation: int) -> Why | None:
        """None if it has not, or so long ago that another one has departed since."""
        former = self._formers.get(node)
        return former.why if former is not None and former.incarnation == incarnation else None

    def refusal(self, arrive: Arrive) -> str:
        """Why it could not come in as things are; empty if it could, or is there already."""
        known = self._participants.get(arrive.peer.node)
        if arrive.rules_max < self.rules:
            return f"the cluster follows rules {self.rules}, and {arrive.peer.node} knows them up to {arrive.rules_max}"
        if known is not None and known.peer != arrive.peer:
            return f"another {arrive.peer.node} is there, as incarnation {known.incarnation}, and has not departed"
        return ""

    def _arrive(self, arrive: Arrive) -> Fact | None:
        peer = arrive.peer
        known = self._participants.get(peer.node)
        if self.refusal(arrive):
            return None
        if known is not None:
            return self._come_again(known, arrive)
        former = self._formers.get(peer.node)
        if arrive.after != self.last_incarnation(peer.node):  # it was under way when this life ended, or even longer
            return None
        if former is not None and former.life == peer.life:
            return None
        incarnation = arrive.after + 1
        process = (arrive.session, arrive.origin)
        number = self.counted(peer.node, *process)
        arrived = Participant(peer, incarnation, arrive.address, arrive.zone, arrive.rules_max, *process, number)
        self._participants[peer.node] = arrived
        self.changes += 1
        return Arrived(peer.node, incarnation, arrive.address, arrive.zone, arrive.inventory)

    def _come_again(self, known: Participant, arrive: Arrive) -> Fact | None:
        """In another process, perhaps elsewhere. What an earlier process says is void."""
        if arrive.session <= known.session:
            return None
        again = Participant(
            known.peer,
            known.incarnation,
            arrive.address,
            arrive.zone,
            arrive.rules_max,
            arrive.session,
            arrive.origin,
        )
        self._participants[known.peer.node] = again
        if (again.address, again.zone) == (known.address, known.zone):
            return None
        return Moved(known.peer.node, known.incarnation, arrive.address, arrive.zone)

    def _depart(self, peer: Peer, why: Why) -> Fact | None:
        if not self.here(peer):
            return None
        left = self._participants.pop(peer.node)
        self.changes += 1
        self._formers[peer.node] = Former(peer.life, left.incarnation, left.session, left.origin, left.number, why)
        return Departed(peer.node, left.incarnation)

    def may_upgrade(self, rules: int) -> bool:
        """They are newer, and everybody knows them."""
        known = min([participant.rules_max for participant in self._participants.values()], default=0)
        return self.rules < rules <= known

    def _upgrade(self, rules: int) -> Fact | None:
        if not self.may_upgrade(rules):
            return None
        self.rules = rules
        return Upgraded(rules)

    def _propose(self, proposal: Proposal) -> Fact | None:
        if not self.here(proposal.proposer):
            return None
        known = self._participants[proposal.proposer.node]
        if (proposal.session, proposal.number) != (known.session, known.number + 1):
            return None
        self._participants[known.peer.node] = replace(known, number=proposal.number)
        return Proposed(known.peer.node, known.incarnation, proposal.content)
