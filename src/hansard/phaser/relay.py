"""Passing a term's log on, from a leader to its members or from one member of a chain to the next.

A relay lives as long as the term in which it was made. What it is told is never trusted to be in order: a feed starts
where the other's last `Wedged` said, starts again where its complaint or a timeout says, and only ever counts
acknowledgements that grow.
"""

from collections.abc import Iterable
from typing import assert_never

from hansard.batch import Batch

from .effect import Effect, Fetch, Send
from .event import Fetched
from .feed import Feed, Transfer
from .government import NodeId
from .ledger import Ledger
from .message import Acknowledge, Append, Commit, Confirm, Confirmed, Estranged, Part, PartKept, Wedge, Wedged


class Relay:
    __slots__ = ("asking", "effects", "feeds", "ledger", "now_us", "round", "wedge")

    def __init__(self, ledger: Ledger, effects: list[Effect], wedge: Wedge, now_us: int) -> None:
        self.ledger = ledger
        self.now_us = now_us
        """Of the current turn."""
        self.effects = effects
        self.wedge = wedge
        """What everybody further down is told first."""
        self.feeds: dict[NodeId, Feed] = {}
        self.round = 0
        """The last round in which the term was to be confirmed."""
        self.asking = False
        """Somebody waits for it."""

    def feed_only(self, nodes: Iterable[NodeId]) -> None:
        """Pass the log on to these, and to nobody else."""
        wanted = list(nodes)
        for node in [node for node in self.feeds if node not in wanted]:
            del self.feeds[node]
        for node in wanted:
            if node not in self.feeds:
                self.feeds[node] = Feed(node, self.now_us, self.ledger.settings.resend_us)
                self._send(node, self.wedge)

    def through(self, nodes: Iterable[NodeId]) -> list[int]:
        return [self.feeds[node].through for node in nodes]

    def needed_from(self) -> int:
        """The first offset that somebody further down does not have on disk; the end of the log if there is none."""
        needed = self.ledger.lineage.end
        for feed in self.feeds.values():
            needed = min(needed, feed.through)
        return needed

    def wanted(self) -> list[int]:
        """From where on the log is needed for each of them."""
        return [feed.wanted for feed in self.feeds.values() if feed.introduced]

    def _send(self, node: NodeId, message: Wedge | Append | Commit | Confirm | Part) -> None:
        self.effects.append(Send(node, message))

    # What comes back.

    def came_back(self, feed: Feed, message: Acknowledge | Wedged | Estranged | Confirmed | PartKept) -> None:
        match message:
            case Acknowledge():
                self.acknowledge(feed, message)
            case Wedged():
                self.wedged(feed, message)
            case Estranged():
                self.estranged(feed)
            case Confirmed():
                feed.confirmed = max(feed.confirmed, message.round)
            case PartKept():
                self.part_kept(feed, message)
            case _:
                assert_never(message)

    def wedged(self, feed: Feed, message: Wedged) -> None:
        """It follows the term. What it says it has decides how it goes on."""
        ledger = self.ledger
        feed.introduced, feed.progress_us, feed.commit_sent = True, self.now_us, 0
        if self._unconfirmed(feed):
            self._ask(feed)
        if message.stated and message.end is not None and message.end >= ledger.start:
            feed.transfer, feed.floor = None, message.end
            feed.restart(message.end)
            feed.acknowledged(message.through, self.now_us)
            return
        if ledger.state_from is None or ledger.committed < ledger.state_from:
            feed.introduced = False  # we are not there yet ourselves
            return
        usable = ledger.usable_snapshot(message.collection)
        if usable is not None:
            feed.transfer = Transfer(usable, message.parts)
        else:
            feed.transfer = Transfer(ledger.take_snapshot(), 0)
        feed.restart(0)
        self._send_part(feed)

    def _send_part(self, feed: Feed) -> None:
        transfer = feed.transfer
        assert transfer is not None and not transfer.done
        self._send(feed.node, transfer.snapshot.part(self.wedge.term, transfer.kept))

    def part_kept(self, feed: Feed, message: PartKept) -> None:
        transfer = feed.transfer
        if transfer is None or message.collection != transfer.snapshot.collection or message.parts <= transfer.kept:
            return
        transfer.kept, feed.progress_us = message.parts, self.now_us
        if not transfer.done:
            self._send_part(feed)
        else:
            feed.transfer, feed.floor = None, transfer.snapshot.collection.start
            feed.restart(feed.floor)

    def acknowledge(self, feed: Feed, message: Acknowledge) -> None:
        if not feed.streaming:
            return
        feed.commit_there = max(feed.commit_there, message.committed)
        feed.acknowledged(message.through, self.now_us)
        if message.missing:
            lost = feed.complains_anew(message.end, self.now_us)
            feed.floor = message.end
        else:
            lost = feed.seems_lost(message.end, self.now_us)
            feed.floor = max(feed.floor, message.end)
        if lost and message.end < feed.next:
            feed.restart(message.end)

    def estranged(self, feed: Feed) -> None:
        if feed.introduced:
            self._introduce_again(feed)

    def fetched(self, event: Fetched) -> None:
        feed = self.feeds.get(event.to)
        if feed is None or not feed.fetching or event.offset != feed.next:
            return
        feed.fetching = False
        if event.start > feed.next:  # dropped from our log meanwhile: it has to begin anew
            self._introduce_again(feed)
            return
        for batch in event.batches:
            self._send_batch(feed, batch)

    def _introduce_again(self, feed: Feed) -> None:
        feed.introduced = False
        self._send(feed.node, self.wedge)

    # What goes out.

    def pump(self) -> None:
        """Send whatever may be sent; the commit point rides along."""
        end = self.ledger.lineage.end
        for feed in self.feeds.values():
            if feed.next < end and feed.introduced and feed.transfer is None:
                self._stream(feed)

    def tell(self) -> None:
        """The commit point, where nothing has carried it."""
        known = self.ledger.commit_known
        for feed in self.feeds.values():
            if feed.commit_sent < known and feed.introduced and feed.transfer is None:
                feed.commit_sent = known
                self._send(feed.node, Commit(self.wedge.term, known))

    def _stream(self, feed: Feed) -> None:
        ledger, settings = self.ledger, self.ledger.settings
        while feed.next < ledger.end and feed.flight_bytes < settings.flight_bytes_max:
            batch = ledger.tail.get(feed.next)
            if batch is None:
                if not feed.fetching:
                    feed.fetching = True
                    self.effects.append(Fetch(feed.node, self.wedge.term, feed.next, settings.fetch_bytes))
                return
            feed.fetching = False
            self._send_batch(feed, batch)

    def _send_batch(self, feed: Feed, batch: Batch) -> None:
        ledger, header = self.ledger, batch.header
        assert header.base_offset == feed.next
        previous = ledger.lineage.term_before(feed.next)
        feed.commit_sent = ledger.commit_known
        if not feed.flight:
            feed.progress_us = self.now_us
        self._send(feed.node, Append(self.wedge.term, previous, feed.next, batch, feed.commit_sent))
        feed.sent(header.end_offset, batch.length)

    def confirm(self, round: int) -> None:
        """Ask everybody further down whether they still follow the term."""
        self.round, self.asking = max(self.round, round), True
        for feed in self.feeds.values():
            if feed.introduced:
                self._ask(feed)

    def stop_confirming(self) -> None:
        """Nobody waits for it any more."""
        self.asking = False

    def _unconfirmed(self, feed: Feed) -> bool:
        return self.asking and feed.confirmed < self.round

    def _ask(self, feed: Feed) -> None:
        feed.asked_us = self.now_us
        self._send(feed.node, Confirm(self.wedge.term, self.round))

    def connected(self, node: NodeId) -> None:
        """The way to it was lost, and is there again. It may have restarted: the answer will tell."""
        feed = self.feeds.get(node)
        if feed is not None:
            feed.commit_there = -1
            feed.restart(max(feed.through, feed.floor))
            self.remind(feed)

    @property
    def settled(self) -> bool:
        """Everybody further down has everything, and has said so."""
        end, committed = self.ledger.end, self.ledger.commit_known
        return not self.asking and all(
            feed.introduced and feed.transfer is None and feed.through >= end and feed.commit_there >= committed
            for feed in self.feeds.values()
        )

    def resend(self) -> None:
        """What has come to nothing for too long is taken for lost."""
        resend_us = self.ledger.settings.resend_us
        for feed in self.feeds.values():
            if self.now_us - max(feed.progress_us, feed.probed_us) >= resend_us:
                self.remind(feed)
            if feed.introduced and self._unconfirmed(feed) and self.now_us - feed.asked_us >= resend_us:
                self._ask(feed)

    def remind(self, feed: Feed) -> None:
        """Send again whatever may have been lost; of what was streamed nothing, before it has said what it has."""
        feed.probed_us = self.now_us
        if not feed.introduced:
            self._send(feed.node, self.wedge)
        elif feed.transfer is not None:
            self._send_part(feed)
        else:
            if feed.through < self.ledger.end or feed.commit_there < self.ledger.commit_known:
                self._send(feed.node, Commit(self.wedge.term, self.ledger.commit_known))
            if self._unconfirmed(feed):
                self._ask(feed)
