"""One core, with the test in place of everybody else: its voters are a, b and c, and it is a."""

from collections.abc import Iterable
from typing import TypeVar

from hansard.consensus.cluster import ClusterId, NodeId, Peer
from hansard.consensus.consensus import Consensus
from hansard.consensus.content import Arrive, Begin, Council, Entry
from hansard.consensus.effect import Effect, Persist, Send
from hansard.consensus.event import Event, Persisted, Received, Tick
from hansard.consensus.facts import Facts
from hansard.consensus.invariants import check_state, check_step, moment
from hansard.consensus.message import Append, Appended, Envelope, Message, PreAsk, PreVote, Vote
from hansard.consensus.recovered import NoteContent, encode
from hansard.consensus.role import Role
from hansard.consensus.settings import Settings
from tests.consensus.disk import Disk

Kind = TypeVar("Kind", bound=Message)
CLUSTER = ClusterId("single")
A, B, C, D = (Peer(node, 1) for node in "abcd")


def arrive(peer: Peer, session: int = 1) -> Arrive:
    return Arrive(peer, f"{peer.node}:1", session, peer.life)


FIRST: tuple[Entry, ...] = (
    Entry(0, Council((A, B, C))),
    Entry(1, Begin()),
    *[Entry(1, arrive(peer)) for peer in (A, B, C)],
)
"""What everybody's log begins with."""


def of_terms(*terms: int) -> tuple[Entry, ...]:
    """Entries that say nothing."""
    return tuple([Entry(term, Begin()) for term in terms])


class Single:
    def __init__(
        self, more: Iterable[Entry] = (), *, term: int = 1, settings: Settings | None = None, syncing: bool = True
    ) -> None:
        """`more` is what its log has behind the common beginning; its disk has taken part until this term."""
        self.settings = settings or Settings()
        self.now_us = 0
        self.syncing = syncing
        """Whether its disk finishes what it begins, at once."""
        self.disk = Disk()
        self.disk.entries = [*FIRST, *more]
        self.disk.note = encode(NoteContent(CLUSTER, A.life, 1, term))
        self.under_way: list[Persist] = []
        self.effects: list[Effect] = []
        self.start()

    def start(self) -> None:
        """A process on what is on its disk; who it is is on it before anything else happens."""
        self.machine = Facts()
        self.under_way = []
        self.core = Consensus(
            "a",
            "a:1",
            self.settings,
            self.machine,
            self.disk.recovered(),
            jitter=lambda: 0.5,
            draw_life=lambda: 2,
            now_us=self.now_us,
        )
        self._turn([])
        self.sync()

    # What happens. Each says what the core says to whom, in that turn and, if its disk is syncing, right after it.

    def hear(self, sender: Peer, *messages: Message, cluster: ClusterId = CLUSTER) -> list[tuple[NodeId, Message]]:
        address = f"{sender.node}:1"
        envelopes = [Envelope(cluster, sender, address, self.core.peer.life, message) for message in messages]
        return self._turn([Received(envelope) for envelope in envelopes])

    def happen(self, *events: Event) -> list[tuple[NodeId, Message]]:
        return self._turn(list(events))

    def wait(self, us: int) -> list[tuple[NodeId, Message]]:
        """Time passes, with a tick every third of a heartbeat."""
        said, step_us, end_us = [], self.settings.heartbeat_us // 3, self.now_us + us
        while self.now_us < end_us:
            self.now_us = min(self.now_us + step_us, end_us)
            said += self._turn([Tick()])
        return said

    def sync(self) -> list[tuple[NodeId, Message]]:
        """What is under way to the disk is there."""
        said: list[tuple[NodeId, Message]] = []
        while self.under_way:
            persists, self.under_way = self.under_way, []
            for persist in persists:
                for write in persist.writes:
                    self.disk.apply(write)
            said += self._turn([Persisted(persists[-1].ticket)])
        return said

    def _turn(self, events: list[Event]) -> list[tuple[NodeId, Message]]:
        before = moment(self.core)
        effects = self.core.turn(events, self.now_us)
        check_state(self.core)
        check_step(before, self.core)
        self.effects += effects
        said = [(effect.to, effect.envelope.message) for effect in effects if isinstance(effect, Send)]
        self.under_way += [effect for effect in effects if isinstance(effect, Persist)]
        return said + (self.sync() if self.syncing and self.under_way else [])

    def leads(self) -> bool:
        return self.core.role is Role.LEADER

    # Common ways.

    def append(self, *entries: Entry, term: int, start: int = -1, committed: int = 0, round: int = 0) -> Append:
        """As a leader sends it, after the entry before which this log has too; by default at the end."""
        start = self.core.log.end if start < 0 else start
        previous = self.core.log.term_before(start)
        assert previous is not None
        return Append(term, start, previous, entries, committed, round)

    def acknowledge(self, *voters: Peer) -> None:
        """While it leads: these have all that its log has, and whatever it adds because of that."""
        end = 0
        while end < self.core.log.end:
            end = self.core.log.end
            for voter in voters:
                self.hear(voter, Appended(self.core.term, 0, end, end, self.core.log.last_term, missing=False))

    def lead(self) -> int:
        """Get elected by b. Says in which term."""
        asked = only(PreAsk, self.wait(2 * self.settings.election_us))
        self.hear(B, PreVote(asked[0].term, granted=True))
        self.hear(B, Vote(asked[0].term, granted=True))
        assert self.leads()
        return self.core.term


def only(kind: type[Kind], said: Iterable[tuple[NodeId, Message]], to: NodeId = "") -> list[Kind]:
    return [message for node, message in said if isinstance(message, kind) and to in ("", node)]
