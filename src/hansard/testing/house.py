"""The cluster, as a test sees it: its calls wait until what they ask for is so, or say that it is not.

All participants live in one loop, in a thread of the cluster's own; whoever calls may be in any other thread, in a loop
or not. What they promise each other is kept on real files and sent over real sockets on loopback. They only wait less
before they take somebody for dead than they do elsewhere: a test need not be patient.
"""

import asyncio
import random
import socket
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import uvloop
from msgspec.structs import replace

from hansard.client.errors import ClientError
from hansard.client.operator import Operator
from hansard.consensus.council import size_wanted
from hansard.consensus.settings import Settings as Consensus
from hansard.distributor.bucket import State
from hansard.distributor.command import Found
from hansard.distributor.settings import Settings, Shape
from hansard.participant.participant import Participant
from hansard.participant.settings import Settings as Bounds
from hansard.phaser.leader import Phase
from hansard.phaser.settings import Settings as Phaser
from hansard.server.plan import Plan
from hansard.storage.disk import RealDisk
from hansard.storage.settings import StoreSettings

from .resident import Resident
from .scratch import Scratch

TIMEOUT_S: Final = 30.0
"""For whatever must happen: far longer than it takes."""
LOOK_S: Final = 0.005
PORTS: Final = range(20_000, 32_000)
"""Below those that connections are given, so that nobody else gets one of ours by chance."""
QUICK: Final = Consensus(heartbeat_us=25_000, election_us=100_000, lease_us=300_000, resend_us=50_000)
WAKEFUL: Final = Phaser(resend_us=50_000)
CLOCK_US: Final = 50_000
"""All of them sleep and wake together, in one loop, so a busy test does not make them suspect each other."""
SMALL: Final = StoreSettings(journal_file_bytes=1 << 20)

Result = TypeVar("Result")
Which = int | str
"""A participant: its number, from 0, or its name."""


class NotSoInTime(AssertionError):
    """Something that must become so has not. The message says what the cluster looks like instead."""


@contextmanager
def cluster(
    participants: int = 3,
    *,
    buckets: int = 4,
    replication: int = 3,
    shape: str = "star",
    guarded: bool = False,
    directory: str | Path | None = None,
    importing: str = "",
) -> Iterator["Cluster"]:
    """A running cluster, all of whose buckets can be written to; gone at the end of the block, data and all.

    One that is `guarded` takes nothing without a token; `.token` is an administrator's. With a `directory` the data is
    kept there, and one that has been used before is gone on with. One that is `importing` the log of this id is empty,
    and opens when that has been brought.
    """
    found = _founding(participants, buckets, replication, shape, guarded=guarded)
    if importing:
        found = replace(found, log=importing, importing=True)
    if directory is not None:
        with Cluster(Path(directory), found) as running:
            yield running
        return
    with (
        tempfile.TemporaryDirectory(prefix="hansard-testing-") as temporary,
        Cluster(Path(temporary), found, Scratch) as running,
    ):
        yield running


class Cluster:
    """Made by `cluster()`. Participants are named a, b, c and so on."""

    def __init__(self, directory: Path, found: Found, disk: type[RealDisk] = RealDisk) -> None:
        self.directory = directory
        self._disk = disk
        self._found = found
        self._addresses = {chr(ord("a") + number): port for number, port in enumerate(_free(found.participants))}
        self.token = ""
        """For an administrator, where the cluster is guarded."""
        self._residents: dict[str, Resident] = {}
        self._cuts: set[frozenset[str]] = set()
        self._loop = uvloop.new_event_loop()
        self._thread = Thread(target=self._run, name="hansard-testing", daemon=True)

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            self._thread.start()
            undo.callback(self._close)
            self._do(self._start(list(self._addresses)))
            if self._found.importing:
                self.until(lambda: bool(self.table()["buckets"]), "no buckets are placed")
            else:
                self.settle()
            founder = self._residents[self.names[0]]
            self.until(lambda: founder.has_arrived, f"{self.names[0]} does not say that it takes part")
            self.token = founder.token
            undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def _close(self) -> None:
        if not self._loop.is_closed():
            self._do(self._end(list(self._residents), hard=True))
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(TIMEOUT_S)

    def _do(self, work: Coroutine[Any, Any, Result], timeout_s: float = TIMEOUT_S) -> Result:
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, timeout_s), self._loop).result()

    # Who is there.

    @property
    def names(self) -> list[str]:
        """Of all participants, dead ones too, in the order of their numbers."""
        return list(self._addresses)

    @property
    def running(self) -> list[str]:
        return list(self._residents)

    @property
    def addresses(self) -> list[str]:
        """Where each participant listens, or did, in the order of their numbers: what a client is given."""
        return [self.address(name) for name in self._addresses]

    def address(self, which: Which) -> str:
        return f"127.0.0.1:{self._addresses[self.name(which)]}"

    def name(self, which: Which) -> str:
        names = self.names
        name = which if isinstance(which, str) else names[which] if 0 <= which < len(names) else ""
        if name not in self._addresses:
            raise ValueError(
                f"there is no participant {which!r}: there are {', '.join(names)}, or 0 to {len(names) - 1}"
            )
        return name

    # What happens to them.

    def kill(self, which: Which) -> None:
        """As kill -9 does it: connections are reset, and what was not written yet never is. Returns at once; that the
        others notice takes them a moment."""
        self._do(self._end([self._living(which)], hard=True))

    def stop(self, which: Which) -> None:
        """In order: it hands over what it leads, and departs."""
        self._do(self._end([self._living(which)], hard=False))

    def start(self, which: Which, timeout_s: float = TIMEOUT_S) -> None:
        """One that was killed or stopped: it goes on with the data that it has. Returns when it takes part. A
        TimeoutError says that it does not yet; it goes on trying."""
        name = self.name(which)
        if name in self._residents:
            raise ValueError(f"{name} runs already: kill({which!r}) or stop({which!r}) comes first")
        self._do(self._start([name]), timeout_s)

    def add(self) -> str:
        """Another participant, with nothing on its disk: it takes the place of one that is gone, or its share. Returns
        its name when it takes part."""
        name = chr(ord("a") + len(self._addresses))
        (self._addresses[name],) = _free(1)
        self._do(self._start([name]))
        return name

    def cut(self, one: Which, other: Which) -> None:
        """The two do not hear each other any more. Clients reach both as before."""
        names = frozenset([self.name(one), self.name(other)])
        if len(names) < 2:
            raise ValueError(f"{self.name(one)} cannot be cut off from itself")
        self._cuts.add(names)
        self._do(self._apply_cuts())

    def heal(self) -> None:
        """All that was cut."""
        self._cuts.clear()
        self._do(self._apply_cuts())

    def double(self, to: int | None = None) -> int:
        """Twice as many buckets, or so many. Returns how many there are, when each has been split and opened."""
        wanted = to or 2 * len(self.table()["buckets"])
        self._order(type="double", to=wanted)
        self.settle()
        return wanted

    def drain(self, which: Which) -> None:
        """Everything is moved away from it; there must be enough others. Returns when it has nothing any more."""
        self._order(type="drain", node=self.name(which))

    def undrain(self, which: Which) -> None:
        self._order(type="undrain", node=self.name(which))

    # What it looks like.

    def table(self) -> dict[str, Any]:
        """Every bucket's government, as any participant says it."""
        table: dict[str, Any] = self.ask(ask="table")
        return table

    def leader(self, bucket: int) -> str:
        """The name of who leads it; empty while nobody does."""
        return self.table()["buckets"][bucket]["leader"] or ""

    def copies(self, bucket: int) -> list[str]:
        """The names of those who have all of it, and without whom nothing is acknowledged."""
        return sorted(self.table()["buckets"][bucket]["full"])

    def ask(self, which: Which | None = None, **question: Any) -> Any:
        """Any question of an operator, of this participant, or of any that runs."""
        names = self.running if which is None else [self.name(which)]
        return self._do(self._asked([self.address(name) for name in names], question))

    def settle(self, timeout_s: float = TIMEOUT_S) -> None:
        """Wait until every bucket is led by somebody and has all the copies that it can have, and nothing moves."""
        self.until(self._is_settled, "the cluster does not come to rest", timeout_s)

    def until(self, condition: Callable[[], bool], otherwise: str, timeout_s: float = TIMEOUT_S) -> None:
        """Wait until something is so; `condition` is asked again and again."""
        deadline_s = time.monotonic() + timeout_s
        while not condition():
            for name, resident in self._residents.items():
                if resident.failure is not None:
                    raise NotSoInTime(f"{name} has ended: {resident.failure}") from resident.failure
            if time.monotonic() > deadline_s:
                raise NotSoInTime(f"{otherwise} after {timeout_s:g} s: {self._described()}")
            time.sleep(LOOK_S)

    # In the loop.

    async def _start(self, names: list[str]) -> None:
        for name in names:
            resident = self._residents[name] = Resident(self._plan(name), self._severed(name), self._disk)
            resident.begin()
            await self._until_it_listens(resident)
        while not all(self._takes_part(name) for name in names):
            for name in names:
                failure = self._residents[name].failure
                if failure is not None:
                    del self._residents[name]
                    raise failure
            await asyncio.sleep(LOOK_S)

    async def _until_it_listens(self, resident: Resident) -> None:
        """Before the next one is started: so that nobody knocks in vain, and waits before it knocks again."""
        while resident.core is None and resident.failure is None:  # noqa: ASYNC110 (it has no event of its own)
            await asyncio.sleep(0)

    def _plan(self, name: str) -> Plan:
        founds = name == self.names[0]
        others = tuple(self.address(other) for other in self._addresses if other != name)
        return Plan(
            directory=self.directory / name,
            node=name,
            listen=("127.0.0.1", self._addresses[name]),
            found=self._found if founds else None,
            join=() if founds else others,
            settings=Bounds(consensus=QUICK, phaser=WAKEFUL, clock_us=CLOCK_US),
            storage=SMALL,
        )

    async def _end(self, names: list[str], *, hard: bool) -> None:
        ending = [self._residents.pop(name) for name in names]
        await asyncio.gather(*[resident.end(hard=hard) for resident in ending])

    async def _apply_cuts(self) -> None:
        for name, resident in self._residents.items():
            resident.sever(self._severed(name))

    def _severed(self, name: str) -> set[str]:
        return {self.address(other) for pair in self._cuts if name in pair for other in pair - {name}}

    def _operator(self, addresses: list[str]) -> Operator:
        return Operator(addresses, timeout_s=TIMEOUT_S, token=self.token)

    async def _asked(self, addresses: list[str], question: dict[str, Any]) -> Any:
        async with self._operator(addresses) as operator:
            return await operator.ask(**question)

    def _living(self, which: Which) -> str:
        name = self.name(which)
        if name not in self._residents:
            raise ValueError(f"{name} does not run: start({which!r}) starts it")
        return name

    def _takes_part(self, name: str) -> bool:
        core = self._residents[name].core
        return core is not None and core.here.member is not None

    def _is_settled(self) -> bool:
        return self._do(self._rests())

    async def _rests(self) -> bool:
        """By what each of them knows."""
        cores = [resident.core for resident in self._residents.values()]
        return bool(cores) and all(core is not None and _is_at_rest(core, len(cores)) for core in cores)

    def _described(self) -> str:
        with suppress(ClientError, OSError):
            status = self.ask(ask="status")
            wanted = ("participants", "states", "thinned", "lost", "atomic")
            return ", ".join(f"{name} {status[name]}" for name in wanted)
        return f"nobody of {', '.join(self.running) or 'them'} answers"

    def _order(self, **wish: Any) -> None:
        async def carried_out() -> None:
            async with self._operator([self.address(name) for name in self.running]) as operator:
                await operator.order(wish, look_s=LOOK_S)

        self._do(carried_out())


def _founding(participants: int, buckets: int, replication: int, shape: str, *, guarded: bool) -> Found:
    if not 1 <= participants <= 26:
        raise ValueError(f"participants must be from 1 to 26, not {participants}")
    settings = Settings(replication=min(replication, participants), shape=Shape(shape))
    return Found(buckets, settings, participants, f"{random.getrandbits(64):016x}", open=not guarded)


def _is_at_rest(core: Participant, running: int) -> bool:
    table, present = core.distributor, core.consensus.roster.participants
    copies = min(table.settings.replication, len(set(present) - set(table.slots.drained)))
    steady = all(bucket.state is State.STEADY and not bucket.goal for bucket in table.buckets)
    mine = [number for number, bucket in enumerate(table.buckets) if bucket.leader == core.here.member]
    steady &= core.here.member is not None and all(_is_open(core, number) for number in mine)
    steady &= _is_council_whole(core)
    return steady and len(present) == running and min([len(each.full) for each in table.buckets], default=0) >= copies


def _is_council_whole(core: Participant) -> bool:
    """Before that, the loss of one may be the loss of the majority."""
    voters, present = core.consensus.ledger.log.voters, core.consensus.roster.participants
    here = [voter for voter in voters if voter.node in present]
    return len(here) == len(voters) == size_wanted(len(present))


def _is_open(core: Participant, bucket: int) -> bool:
    """Whether it takes submissions: a leader that has just started has to open again, though the table is as it was."""
    copy = core.copies.running.get(bucket)
    leading = copy.phaser.leading if copy is not None and copy.phaser is not None else None
    return leading is not None and leading.phase is Phase.OPEN


def _free(count: int) -> list[int]:
    """Ports on loopback that nobody uses now."""
    found: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"there are no {count} free ports from {PORTS.start} to {PORTS.stop - 1}")
