"""What all parts of a participant look at: who it is, its table, the time, and where to put what is to be done."""

from collections.abc import Callable

from hansard.distributor.distributor import Distributor
from hansard.distributor.member import Member
from hansard.phaser.government import NodeId

from .effect import Effect, Send
from .message import Message, Process
from .name import named, node_of
from .settings import Settings


def _nowhere(_node: str) -> str:
    return ""


class Here:
    __slots__ = (
        "_jitter",
        "address",
        "distributor",
        "effects",
        "me",
        "member",
        "node",
        "now_us",
        "own",
        "process",
        "settings",
        "ways",
    )

    def __init__(
        self,
        node: str,
        settings: Settings,
        distributor: Distributor,
        jitter: Callable[[], float],
    ) -> None:
        self.node = node
        self.settings = settings
        self.distributor = distributor
        self.effects: list[Effect] = []
        self.own: list[Message] = []
        """What we have said to ourselves in this turn."""
        self.member: Member | None = None
        """Who we are in governments; None while we have departed, or not arrived."""
        self.me: NodeId = ""
        """How we are called there; empty while we are nobody."""
        self.process = Process(0, 0)
        self.now_us = 0
        self._jitter = jitter
        self.address: Callable[[str], str] = _nowhere
        """Where a node is; empty if that is not known."""
        self.ways: dict[NodeId, tuple[str, str]] = {}
        """To those members to whom something was sent: these change only where the log has had a turn."""

    def become(self, member: Member | None) -> None:
        self.member, self.me = member, named(member) if member is not None else ""

    def send(self, to: str, message: Message) -> None:
        if to == self.node:
            self.own.append(message)
        elif address := self.address(to):
            self.effects.append(Send(to, address, message))

    def way(self, member: NodeId) -> tuple[str, str] | None:
        """The node that a member of governments is on, and its address; None where that is not known, or is here."""
        node = node_of(member)
        address = self.address(node) if node != self.node else ""
        if not address:
            return None
        self.ways[member] = node, address
        return node, address

    def retry_us(self) -> int:
        """When somebody who is refused shall come again: not all at the same time."""
        return int(self.settings.retry_us * (1 + self._jitter()))
