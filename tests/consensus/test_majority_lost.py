"""From a cluster that works to one that has lost most of its voters, and to one that works again: real cores on real
stores, on disks that crash."""

from collections import deque
from collections.abc import Callable
from itertools import count
from random import Random

from hansard.consensus.cluster import ClusterId, NodeId, Peer
from hansard.consensus.consensus import Consensus
from hansard.consensus.content import Arrived, Departed, Proposed
from hansard.consensus.disk import recovered, translated
from hansard.consensus.effect import Effect, Persist, Send, Settled, Strange, Superseded
from hansard.consensus.event import Event, Persisted, Propose, Received, Tick
from hansard.consensus.facts import Facts
from hansard.consensus.home import BUCKET, Home, enter, found, join
from hansard.consensus.recovery import Copy, Plan, plan
from hansard.consensus.role import Role
from hansard.consensus.settings import Settings
from sim.disk import SimDisk
from tests.consensus.atomic import TINY

CLUSTER = ClusterId("7f3a")
SETTINGS = Settings(compact_entries=30, keep_entries=10)
TICK_US = SETTINGS.heartbeat_us // 3


class Member:
    """A participant while it runs."""

    def __init__(self, node: NodeId, home: Home, core: Consensus, machine: Facts) -> None:
        self.node, self.home, self.core, self.machine = node, home, core, machine
        self.store = home.atomic()
        self.told: list[Effect] = []

    @property
    def contents(self) -> list[bytes]:
        return [fact.content for _, fact in self.machine.told if isinstance(fact, Proposed)]

    def stop(self) -> None:
        self.store.close()
        self.home.close()


class Town:
    """Participants that hear each other at once, and whose disks take no time."""

    def __init__(self) -> None:
        self.disks: dict[NodeId, SimDisk] = {}
        self.members: dict[NodeId, Member] = {}
        self.parted: set[NodeId] = set()
        """Those who hear only each other."""
        self.now_us = 0
        self._random = Random(5)
        self.lives = count(101)
        self._ids = count(1)
        self._news: deque[tuple[NodeId, Event]] = deque()

    def start(self, node: NodeId, *seeds: NodeId) -> Member:
        """On the disk that it has, or on one where it founds or joins."""
        disk = self.disks.get(node)
        if disk is not None:
            home = enter(disk, node, settings=TINY)
        else:
            disk = self.disks[node] = SimDisk()
            if seeds:
                home = join(disk, node, settings=TINY)
            else:
                home = found(disk, node, CLUSTER, next(self.lives), settings=TINY)
        machine = Facts()
        core = Consensus(
            node,
            f"{node}:1",
            SETTINGS,
            machine,
            held(home).recovered,
            jitter=self._random.random,
            draw_life=lambda: next(self.lives),
            now_us=self.now_us,
            seeds=[f"{seed}:1" for seed in seeds],
            inventory=f"inventory of {node}".encode(),
        )
        member = self.members[node] = Member(node, home, core, machine)
        self._turn(node, [])
        return member

    def crash(self, *nodes: NodeId) -> None:
        for node in nodes:
            self.members.pop(node)
            disk = self.disks[node]
            self.disks[node] = disk.crashed(disk.operation_count, self._random)

    def lose(self, *nodes: NodeId) -> dict[NodeId, SimDisk]:
        """They crash, and their disks are gone; as they were, for whoever has a use for them."""
        self.crash(*nodes)
        return {node: self.disks.pop(node) for node in nodes}

    def propose(self, node: NodeId, content: bytes) -> None:
        id = next(self._ids)
        self._turn(node, [Propose(id, content)])
        self.until(lambda: Settled(id) in self.members[node].told)

    def until(self, condition: Callable[[], object], seconds: int = 10) -> None:
        end_us = self.now_us + seconds * 1_000_000
        while not condition():
            assert self.now_us < end_us, f"not within {seconds} s"
            self.run(TICK_US)

    def run(self, time_us: int) -> None:
        for _ in range(max(1, time_us // TICK_US)):
            self.now_us += TICK_US
            self._news += [(node, Tick()) for node in self.members]
            for number in count():
                assert number < 10_000, "they talk without end"
                if not self._news:
                    break
                node, event = self._news.popleft()
                if node in self.members:
                    self._turn(node, [event])

    def _turn(self, node: NodeId, events: list[Event]) -> None:
        member = self.members[node]
        for effect in member.core.turn(events, self.now_us):
            member.told.append(effect)
            if isinstance(effect, Persist):
                member.store.write([each for write in effect.writes for each in translated(BUCKET, write)])
                self._news.append((node, Persisted(effect.ticket)))
            elif isinstance(effect, Send):
                to = effect.address.removesuffix(":1")
                if (to in self.parted) == (node in self.parted):
                    self._news.append((to, Received(effect.envelope)))

    def settled(self, voters: int) -> bool:
        """Everybody takes part and knows the same, and that many vote."""
        cores = [member.core for member in self.members.values()]
        return (
            any(core.role is Role.LEADER for core in cores)
            and len({core.committed for core in cores}) == 1
            and all(core.arrived and len(core.voters) == voters for core in cores)
        )


def held(home: Home) -> Copy:
    store = home.atomic(read_only=True)
    try:
        return Copy(home.node, home.node, recovered(store, BUCKET))
    finally:
        store.close()


def before_the_loss(proposals: int) -> Town:
    """Four that take part, three of which vote: a, b and c."""
    town = Town()
    town.start("a")
    for node in ("b", "c", "d"):
        town.start(node, "a")
        town.until(lambda: town.settled(min(len(town.members), 3)))
    for number in range(proposals):
        town.propose("abcd"[number % 4], b"%d" % number)
    town.until(lambda: town.settled(3))
    assert {voter.node for voter in town.members["a"].core.voters} == {"a", "b", "c"}
    return town


def recover(town: Town, node: NodeId, *others: NodeId) -> Plan:
    homes = [enter(town.disks[each], settings=TINY) for each in (node, *others)]
    made = plan([held(home) for home in homes], Peer(node, next(town.lives)), Facts())
    homes[0].replace(made.writes(), founded=True)
    for home in homes[1:]:
        home.replace((), founded=False)
    for home in homes:
        home.close()
    return made


def test_without_most_of_the_voters_nothing_goes_on() -> None:
    town = before_the_loss(10)
    town.lose("b", "c")
    committed = town.members["a"].core.committed
    town.run(5_000_000)
    assert all(member.core.role is not Role.LEADER for member in town.members.values())
    assert town.members["a"].core.committed == committed


def test_from_one_survivor_the_cluster_goes_on_with_all_that_it_knew() -> None:
    town = before_the_loss(100)
    known = town.members["a"].machine.told.copy()
    town.lose("b", "c")
    town.crash("a", "d")
    made = recover(town, "a")
    a = town.start("a")
    town.until(lambda: a.core.role is Role.LEADER and a.core.committed > made.state.end)
    assert a.core.cluster == ClusterId("7f3a", 2, made.founder.life) and a.core.voters == (made.founder,)
    assert a.machine.told[: len(known)] == known
    town.until(lambda: a.core.arrived)
    assert list(a.core.roster.participants) == ["a"], "the others' leases are over, and so is that of a's former life"
    town.propose("a", b"after")
    assert a.contents == [b"%d" % number for number in range(100)] + [b"after"]


def test_the_others_join_the_new_cluster_and_vote_again() -> None:
    town = before_the_loss(50)
    town.lose("b", "c")
    town.crash("a", "d")
    made = recover(town, "a", "d")
    town.start("a")
    town.start("d", "a")  # it has put its old log aside
    town.start("b", "d")  # these come with empty disks
    town.start("c", "a")
    town.until(lambda: town.settled(3))
    town.propose("d", b"after")
    town.until(lambda: town.settled(3))
    told = [member.machine.told for member in town.members.values()]
    assert all(facts == told[0] for facts in told)
    for node in "abcd":
        comings = [fact for _, fact in told[0] if isinstance(fact, Arrived | Departed) and fact.node == node]
        assert [(type(fact), fact.incarnation) for fact in comings] == [(Arrived, 1), (Departed, 1), (Arrived, 2)]
        assert isinstance(comings[2], Arrived) and comings[2].inventory == f"inventory of {node}".encode()
    town.crash("a", "b", "c", "d")
    for node in "abcd":
        town.start(node)
    town.until(lambda: town.settled(3))
    assert all(member.core.cluster == made.cluster for member in town.members.values())
    assert town.members["d"].contents[-1] == b"after"


def test_a_learner_that_has_come_further_is_gone_on_from() -> None:
    """The lost ones have sent it what a, which was away, has never heard of."""
    town = before_the_loss(5)
    town.crash("a")
    town.propose("b", b"without a")
    town.until(lambda: town.members["d"].contents[-1] == b"without a")
    town.lose("b", "c")
    town.crash("d")
    made = recover(town, "a", "d")
    assert made.chosen.peer.node == "d"
    a = town.start("a")
    town.start("d", "a")
    town.until(lambda: town.settled(2))
    assert a.contents[-1] == b"without a" == town.members["d"].contents[-1]


def test_what_the_old_voters_say_is_refused_and_they_stop_when_they_hear_of_it() -> None:
    """They were not lost after all, and are a majority of the old council. By themselves they go on; but neither
    cluster takes anything from the other, and the old one ends as soon as one of the new is heard."""
    town = before_the_loss(20)
    lost = town.lose("b", "c")
    town.crash("a", "d")
    made = recover(town, "a", "d")
    a, d = town.start("a"), town.start("d", "a")
    town.until(lambda: town.settled(2))
    town.parted = {"b", "c"}
    town.disks |= lost
    b, c = town.start("b"), town.start("c")
    town.propose("b", b"old")
    town.propose("d", b"new")
    town.parted = set()
    town.run(3_000_000)
    for new, other in ((a, d), (d, a)):
        assert new.core.cluster == made.cluster and new.contents == other.contents and b"old" not in new.contents
        assert {voter.node for voter in new.core.voters} == {"a", "d"}
    strange = {effect.cluster for effect in [*a.told, *d.told] if isinstance(effect, Strange)}
    assert strange == {CLUSTER}
    for old in (b, c):
        assert old.core.cluster == CLUSTER and b"new" not in old.contents
        assert Superseded(made.cluster) in old.told
    town.propose("a", b"newer")


def test_a_survivor_with_its_old_log_is_refused_until_it_is_put_aside() -> None:
    town = before_the_loss(20)
    town.lose("b", "c")
    town.crash("a", "d")
    made = recover(town, "a")
    a = town.start("a")
    d = town.start("d")
    town.run(3_000_000)
    assert a.core.role is Role.LEADER and d.core.cluster == CLUSTER and not d.core.leader
    assert Superseded(made.cluster) in d.told
    town.crash("d")
    with enter(town.disks["d"], settings=TINY) as home:
        home.replace((), founded=False)
    d = town.start("d", "a")
    town.until(lambda: town.settled(2))
    assert d.core.cluster == made.cluster and d.contents == a.contents


def test_a_crash_at_any_moment_of_the_recovery_leaves_the_old_cluster_or_the_new_one() -> None:
    town = before_the_loss(40)
    town.lose("b", "c")
    town.crash("a", "d")
    disk = town.disks["a"]
    before = disk.operation_count
    made = recover(town, "a")
    seen = set[ClusterId]()
    for at in range(before, disk.operation_count + 1):
        left = disk.crashed(at, Random(at))
        with enter(left, settings=TINY) as home:
            copy = held(home)
        again = plan([copy], made.founder, Facts(), force=True)
        assert again.state.end == made.state.end and again.state.roster == made.state.roster
        assert again.state.image == made.state.image
        seen.add(again.chosen.cluster)
    assert seen == {CLUSTER, made.cluster}
