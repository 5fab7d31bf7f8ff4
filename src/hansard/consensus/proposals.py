"""What this participant wants in the log, offered again and again until it is there.

Proposals are numbered within this process, so that however often they are offered, to whomever and in whichever life,
they count once and in order.
"""

from collections import deque
from typing import Final

from .cluster import Peer
from .content import Content, Depart, Proposal, Upgrade
from .roster import Roster

OFFER_MAX: Final = 256
"""Contents in one message."""
CONTENT_BYTES_MAX: Final = 256 << 10
"""Of one proposal: decisions are small, and everybody keeps them in memory until they are compacted."""


class Proposals:
    def __init__(self, peer: Peer, session: int) -> None:
        self._peer = peer
        """In whose name they are offered."""
        self._session = session
        self._origin = peer.life
        self._waiting: deque[tuple[int, int, bytes]] = deque()
        """Number, id and content of what is not in the log yet."""
        self._last = 0
        self._offered = 0
        """The last number that was offered to the present leader."""
        self.wishes: list[Depart | Upgrade] = []
        """What counts by what it says, and needs no number."""
        self._wishes_offered = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, id: int, content: bytes) -> None:
        if len(content) > CONTENT_BYTES_MAX:
            raise ValueError(f"a proposal of {len(content)} bytes; {CONTENT_BYTES_MAX} is the most")
        self._last += 1
        self._waiting.append((self._last, id, content))

    def wish(self, content: Depart | Upgrade) -> None:
        if content not in self.wishes:
            self.wishes.append(content)

    def start_again(self) -> None:
        """Another leader, or too long without news: everything is offered once more."""
        self._offered = self._wishes_offered = 0

    def offers(self, roster: Roster) -> list[Content]:
        """What was not offered yet. Nothing counts before this process takes part."""
        if not self.arrived(roster):
            return []
        self._forget_moot(roster)
        fresh: list[Content] = list(self.wishes[self._wishes_offered :])
        self._wishes_offered = len(self.wishes)
        for number, _, content in self._waiting:
            if number > self._offered:
                if len(fresh) >= OFFER_MAX:
                    break
                fresh.append(Proposal(self._peer, self._session, number, content))
                self._offered = number
        return fresh

    def arrived(self, roster: Roster) -> bool:
        participant = roster.participants.get(self._peer.node)
        return participant is not None and (participant.peer, participant.session) == (self._peer, self._session)

    @property
    def unsettled(self) -> bool:
        return bool(self._waiting or self.wishes)

    def _forget_moot(self, roster: Roster) -> None:
        """Wishes that have come true by themselves, or cannot come true."""
        wishes = [wish for wish in self.wishes if not _moot(wish, roster)]
        if len(wishes) < len(self.wishes):
            self.wishes, self._wishes_offered = wishes, 0

    def applied(self, content: Content) -> None:
        """Something is in the log, whatever followed from it: a wish has had its chance."""
        wishes = [wish for wish in self.wishes if not _same(wish, content)]
        if len(wishes) < len(self.wishes):
            self.wishes = wishes
            self._wishes_offered = min(self._wishes_offered, len(self.wishes))

    def settled(self, roster: Roster) -> list[int]:
        """The ids of what is in the log by now."""
        number = roster.counted(self._peer.node, self._session, self._origin)
        ids: list[int] = []
        while self._waiting and self._waiting[0][0] <= number:
            ids.append(self._waiting.popleft()[1])
        return ids

    def renamed(self, peer: Peer, roster: Roster) -> None:
        """The log shows that we take part, perhaps in another life than before."""
        if peer == self._peer:
            return
        self._peer = peer
        self.start_again()
        number = roster.counted(peer.node, self._session, self._origin)
        if self._waiting and self._waiting[0][0] != number + 1:
            # Another process had our name in between, so the log does not say any more what counted of ours.
            waiting, self._waiting, self._last = self._waiting, deque(), number
            for _, id, content in waiting:
                self.add(id, content)


def _same(wish: Depart | Upgrade, content: Content) -> bool:
    """A departure is the same one for whatever reason."""
    if isinstance(wish, Depart) and isinstance(content, Depart):
        return wish.peer == content.peer
    return wish == content


def _moot(wish: Depart | Upgrade, roster: Roster) -> bool:
    match wish:
        case Depart():
            return not roster.here(wish.peer)
        case Upgrade():
            return not roster.may_upgrade(wish.rules)
