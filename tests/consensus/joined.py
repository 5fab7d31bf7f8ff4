"""Real cores joined in one process: virtual time, a network that keeps the order, a small disk for each.

Nothing happens but what follows from what a test makes happen: messages take `delay_us`, a sync takes `sync_us`, and a
tick comes every third of a heartbeat. `run` lets time pass, `until` stops at a condition. After every turn that has
effects the invariants are checked, and that everybody was told the same, each term has one leader, and nothing is
answered twice.
"""

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import NamedTuple, TypeVar

from hansard.consensus.cluster import ClusterId, NodeId, Peer
from hansard.consensus.consensus import Consensus
from hansard.consensus.content import Entry, Fact
from hansard.consensus.effect import AnswerRead, Applied, Effect, Persist, Restored, Send, Settled
from hansard.consensus.event import Event, Persisted, Propose, Read, Received, Tick
from hansard.consensus.facts import Facts
from hansard.consensus.invariants import check_state, check_step, moment
from hansard.consensus.message import Envelope, Message
from hansard.consensus.recovered import founding
from hansard.consensus.role import Role
from hansard.consensus.settings import Settings
from tests.consensus.disk import Disk

Kind = TypeVar("Kind", bound=Message)
Told = TypeVar("Told", bound=Effect)
CLUSTER = ClusterId("joined")
SECOND = 1_000_000


class Member:
    """A participant: what it is told to be, its disk, and its process while there is one."""

    def __init__(
        self,
        node: NodeId,
        address: str,
        disk: Disk,
        seeds: tuple[str, ...],
        zone: str,
        rules_max: int,
        inventory: bytes,
    ) -> None:
        self.node = node
        self.address = address
        self.disk = disk
        self.seeds = seeds
        self.zone = zone
        self.rules_max = rules_max
        self.inventory = inventory
        self.core: Consensus | None = None
        self.machine = Facts()
        self.told: list[Effect] = []
        """All that came of the turns of its last process."""
        self.process = 0
        self.inbox: list[Event] | None = None
        """What has come while it is paused."""


class Sent(NamedTuple):
    at_us: int
    sender: NodeId
    to: NodeId
    """Whoever is at the address; empty if nobody is."""
    envelope: Envelope


class Joined:
    def __init__(
        self, settings: Settings | None = None, *, delay_us: int = 500, sync_us: int = 0, seed: int = 0
    ) -> None:
        self.settings = settings or Settings()
        self.delay_us = delay_us
        self.sync_us = sync_us
        self.now_us = 0
        self.members: dict[NodeId, Member] = {}
        self.lose: Callable[[Sent], bool] = lambda sent: False
        self.stalled: set[NodeId] = set()
        """Those whose disks do not finish anything."""
        self.sent: list[Sent] = []
        self.entries: dict[int, Entry] = {}
        """All that anybody was told, by index."""
        self.leaders: dict[int, Peer] = {}
        """Of each term."""
        self.settled: dict[int, int] = {}
        """When what was proposed under an id was settled."""
        self.reads: dict[int, int] = {}
        """How far the machine had come when a read was answered."""
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()
        self._ids = count(1)
        self._lives = count(1001)
        self._random = Random(seed)
        self._isolated: set[NodeId] = set()
        self._parted: set[frozenset[NodeId]] = set()

    # Participants.

    def add(
        self,
        node: NodeId,
        *,
        through: NodeId = "",
        address: str = "",
        zone: str = "",
        rules_max: int = 1,
        inventory: bytes = b"",
    ) -> None:
        """The first one founds; who comes later joins through another, or through any of those who are there."""
        disk = Disk() if self.members else Disk(founding(CLUSTER, Peer(node, next(self._lives))))
        asked = [self.members[through]] if through else list(self.members.values())
        seeds = tuple([member.address for member in asked])
        self.members[node] = Member(node, address or f"{node}:1", disk, seeds, zone, rules_max, inventory)
        self.restart(node)

    def restart(self, node: NodeId, *, address: str = "", rules_max: int = 0) -> Consensus:
        """A new process on what is on its disk."""
        member = self.members[node]
        assert member.core is None, "it is running"
        member.address = address or member.address
        member.rules_max = rules_max or member.rules_max
        member.machine, member.told, member.inbox = Facts(), [], None
        member.process += 1
        member.core = core = Consensus(
            node,
            member.address,
            self.settings,
            member.machine,
            member.disk.recovered(),
            jitter=self._random.random,
            draw_life=lambda: next(self._lives),
            now_us=self.now_us,
            seeds=member.seeds,
            zone=member.zone,
            rules_max=member.rules_max,
            inventory=member.inventory,
        )
        self._turn(member, [])
        self._tick(member, member.process)
        return core

    def crash(self, *nodes: NodeId, kept: int = 0) -> None:
        for node in nodes:
            member = self.members[node]
            member.core = None
            member.disk.crash(kept)

    def wipe(self, node: NodeId) -> None:
        """It crashes, and its disk is lost."""
        self.crash(node)
        member = self.members[node]
        member.disk = Disk()
        member.seeds = tuple([other.address for other in self.members.values() if other is not member])

    def pause(self, node: NodeId) -> None:
        """It does nothing; what comes to it waits."""
        self.members[node].inbox = []

    def resume(self, node: NodeId) -> None:
        member = self.members[node]
        assert member.inbox is not None
        events, member.inbox = member.inbox, None
        self._turn(member, [*events, Tick()])

    def core(self, node: NodeId) -> Consensus:
        core = self.members[node].core
        assert core is not None, f"{node} is down"
        return core

    @property
    def up(self) -> list[Consensus]:
        return [member.core for member in self.members.values() if member.core is not None]

    @property
    def leader(self) -> NodeId:
        """Of the latest term that has one; empty if none has."""
        leading = [core for core in self.up if core.role is Role.LEADER]
        return max(leading, key=lambda core: core.term).me if leading else ""

    # The network.

    def cut(self, node: NodeId) -> None:
        """From everybody."""
        self._isolated.add(node)

    def heal(self, node: NodeId) -> None:
        self._isolated.discard(node)

    def part(self, some: Iterable[NodeId], others: Iterable[NodeId]) -> None:
        """They do not hear each other."""
        self._parted |= {frozenset((one, other)) for one in some for other in others if one != other}

    def rejoin(self) -> None:
        """Everybody hears everybody."""
        self._isolated.clear()
        self._parted.clear()

    def _severed(self, sender: NodeId, to: NodeId) -> bool:
        return bool({sender, to} & self._isolated) or frozenset((sender, to)) in self._parted

    def _send(self, sender: NodeId, effect: Send) -> None:
        at = [member.node for member in self.members.values() if member.address == effect.address]
        sent = Sent(self.now_us, sender, at[0] if at else "", effect.envelope)
        self.sent.append(sent)
        if sent.to and not self._severed(sender, sent.to) and not self.lose(sent):
            self._after(self.delay_us, lambda: self._deliver(sent))

    def _deliver(self, sent: Sent) -> None:
        if not self._severed(sent.sender, sent.to):
            self._come(self.members[sent.to], Received(sent.envelope))

    # What happens.

    def happen(self, node: NodeId, *events: Event) -> list[Effect]:
        """All of these in one turn, now. Says what came of it."""
        return self._turn(self.members[node], list(events))

    def propose(self, node: NodeId, content: bytes) -> int:
        """The id under which it will be settled."""
        id = next(self._ids)
        self.happen(node, Propose(id, content))
        return id

    def settle(self, *ids: int, seconds: float = 10) -> int:
        """Let time pass until all of these are settled. Says how long it took."""
        return self.until(lambda: all(id in self.settled for id in ids), seconds)

    def read(self, node: NodeId) -> int:
        id = next(self._ids)
        self.happen(node, Read(id))
        return id

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end_us = self.now_us + int(seconds * SECOND)
        while self._agenda and self._agenda[0][0] <= end_us:
            self._next()
        self.now_us = end_us

    def until(self, condition: Callable[[], object], seconds: float = 10) -> int:
        """Let time pass until something is so, and no further. Says how long it took, in microseconds."""
        begin_us = self.now_us
        while not condition():
            assert self._agenda and self._agenda[0][0] <= begin_us + seconds * SECOND, f"not within {seconds} s"
            self._next()
        return self.now_us - begin_us

    def sync(self, node: NodeId) -> None:
        """What is under way to a disk is there."""
        member = self.members[node]
        if member.disk.under_way:
            ticket = member.disk.under_way[-1][0]
            member.disk.sync(ticket)
            self._come(member, Persisted(ticket))

    def _after(self, delay_us: int, action: Callable[[], None]) -> None:
        heappush(self._agenda, (self.now_us + delay_us, next(self._order), action))

    def _next(self) -> None:
        self.now_us, _, action = heappop(self._agenda)
        action()

    def _tick(self, member: Member, process: int) -> None:
        if member.core is not None and member.process == process:
            if member.inbox is None:
                self._turn(member, [Tick()])
            self._after(self.settings.heartbeat_us // 3, lambda: self._tick(member, process))

    def _come(self, member: Member, event: Event) -> None:
        if member.inbox is not None:
            member.inbox.append(event)
        elif member.core is not None:
            self._turn(member, [event])

    def _turn(self, member: Member, events: list[Event]) -> list[Effect]:
        assert member.core is not None and member.inbox is None
        before = moment(member.core)
        effects = member.core.turn(events, self.now_us)
        if effects:
            check_state(member.core)
            check_step(before, member.core)
        if member.core.role is Role.LEADER:
            term, peer = member.core.term, member.core.peer
            assert self.leaders.setdefault(term, peer) == peer, f"two leaders in term {term}"
        member.told += effects
        for effect in effects:
            self._carry_out(member, effect)
        return effects

    def _carry_out(self, member: Member, effect: Effect) -> None:
        match effect:
            case Persist():
                member.disk.write(effect)
                if member.node not in self.stalled:
                    ticket, process = effect.ticket, member.process
                    self._after(self.sync_us, lambda: self._synced(member, process, ticket))
            case Send():
                self._send(member.node, effect)
            case Applied():
                known = self.entries.setdefault(effect.index, effect.entry)
                assert known == effect.entry, f"{member.node} was told something else at {effect.index}"
            case Settled():
                assert effect.id not in self.settled, "a proposal is settled once"
                self.settled[effect.id] = self.now_us
            case AnswerRead():
                assert effect.id not in self.reads, "a read is answered once"
                self.reads[effect.id] = effect.end
            case _:
                pass

    def _synced(self, member: Member, process: int, ticket: int) -> None:
        if member.core is not None and member.process == process:
            member.disk.sync(ticket)
            self._come(member, Persisted(ticket))

    # What came of it.

    def effects(self, node: NodeId) -> list[Effect]:
        return self.members[node].told

    def told(self, node: NodeId, kind: type[Told]) -> list[Told]:
        """The effects of its last process of one kind."""
        return [effect for effect in self.members[node].told if isinstance(effect, kind)]

    def facts(self, node: NodeId) -> list[tuple[int, Fact]]:
        """All that its machine knows, in the order of the log."""
        return self.members[node].machine.told

    def messages(self, kind: type[Kind], sender: NodeId = "", to: NodeId = "", since_us: int = 0) -> list[Kind]:
        found = [s for s in self.sent if s.at_us >= since_us and sender in ("", s.sender) and to in ("", s.to)]
        return [sent.envelope.message for sent in found if isinstance(sent.envelope.message, kind)]

    @property
    def settling(self) -> bool:
        """Everybody takes part and knows all that is committed; those who should vote do."""
        up = self.up
        ends = {core.committed for core in up}
        return bool(self.leader) and len(ends) == 1 and all(core.roster.here(core.peer) for core in up)


def formed(size: int, settings: Settings | None = None, **options: int) -> Joined:
    """A cluster of a, b, c ... that all vote, as far as so many should."""
    joined = Joined(settings, **options)
    nodes = [chr(ord("a") + number) for number in range(size)]
    for node in nodes:
        joined.add(node)
    wanted = min(size, 3) if size < 5 else 5
    joined.until(lambda: joined.settling and len(joined.core(nodes[0]).voters) == wanted)
    joined.run(1)
    return joined


def restored(joined: Joined, node: NodeId) -> bool:
    """Whether it got a state from another's copy."""
    return bool(joined.told(node, Restored))
