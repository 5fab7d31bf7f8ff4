"""Sending: every message in an envelope that says whose it is, to where its receiver was last heard of."""

from collections.abc import Sequence

from .cluster import ClusterId, NodeId, Peer
from .effect import Effect, Send
from .message import Envelope, Message


class Post:
    def __init__(
        self, effects: list[Effect], cluster: ClusterId, peer: Peer, address: str, seeds: Sequence[str]
    ) -> None:
        self.effects = effects
        self.cluster = cluster
        self.peer = peer
        self.address = address
        self.seek(seeds)
        self.contacts: dict[NodeId, str] = {}
        """Where each was last heard of, or is by the log."""
        self.heard: dict[NodeId, str] = {}
        """Where we have heard them ourselves, to tell others."""
        self.silent = False
        """Whatever is said is lost, as on any network."""
        self._turn = 0

    def seek(self, seeds: Sequence[str]) -> None:
        """Where to ask if we know nobody, or nobody answers."""
        self.seeds = tuple([seed for seed in seeds if seed != self.address])

    def learn(self, node: NodeId, address: str, *, heard: bool = False) -> None:
        """`heard` of it there ourselves, and not only by others or by the log."""
        if node and address and node != self.peer.node:
            self.contacts[node] = address
            if heard:
                self.heard[node] = address
            elif self.heard.get(node) != address:
                self.heard.pop(node, None)

    def send(self, to: Peer, message: Message) -> None:
        address = self.contacts.get(to.node)
        if address is not None:
            self._send(to.node, address, to.life, message)

    def ask_node(self, node: NodeId, message: Message, hearsay: str = "") -> None:
        """In whatever life it is; if somebody says that it is elsewhere, there as well."""
        address = self.contacts.get(node, "")
        if address:
            self._send(node, address, 0, message)
        if hearsay not in ("", address):
            self._send(node, hearsay, 0, message)

    def answer(self, to: Peer, address: str, message: Message) -> None:
        """Who may not be known otherwise."""
        self._send(to.node, address, to.life, message)

    def ask_anybody(self, message: Message) -> None:
        """The next one of all whom we know of, and of those that we were told to ask."""
        ways = [*self.contacts.items(), *[("", seed) for seed in self.seeds if seed not in self.contacts.values()]]
        if ways:
            self._turn += 1
            node, address = ways[self._turn % len(ways)]
            self._send(node, address, 0, message)

    def _send(self, node: NodeId, address: str, life: int, message: Message) -> None:
        if not self.silent:
            envelope = Envelope(self.cluster, self.peer, self.address, life, message)
            self.effects.append(Send(node, address, envelope))
