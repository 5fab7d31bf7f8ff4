"""One participant as a process: its directory, its core, its port; from the start until it is told to stop."""

import asyncio
import gc
import logging
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from random import SystemRandom
from typing import Any, Final

import uvloop
from msgspec.structs import replace

from hansard.consensus import home as homes
from hansard.consensus.cluster import ClusterId
from hansard.consensus.errors import ConsensusError, NoHome
from hansard.consensus.home import Home
from hansard.participant.event import Leave, Retire
from hansard.participant.participant import Participant
from hansard.storage.disk import RealDisk
from hansard.storage.errors import StorageError
from hansard.wire.handshake import Hello

from .access import Access
from .address import is_everywhere, written
from .admin import Admin
from .errors import BadDirectory
from .founding import Founding, compare
from .notify import Notifier
from .pages import Pages
from .peers import Peers
from .plan import Plan, remedied
from .port import Port, bound
from .reception import Reception
from .retention import Keeper
from .seeds import Seeds
from .shell import Shell, now_us
from .story import Story
from .tls import Certificates
from .vault import Vault
from .web import Web

__all__ = ["Plan", "Process", "run"]

log = logging.getLogger("hansard")

VERSION: Final = version("hansard")
YOUNG_OBJECTS: Final = 50_000
"""Python looks for cycles after so many new objects; what a turn makes has none."""
SWITCH_S: Final = 0.0005
"""The journal's thread, back from its sync, gets the interpreter after this long at the latest."""
LOOK_S: Final = 2.0
"""Certificates and the file of addresses are looked at so often."""
PATIENCE_S: Final = 3.0
WAITING_S: Final = 10.0
"""Who is not let in for so long says so, and then so often."""
HAND_OVER_S: Final = 10.0
"""Who is told to stop has so long to give away what it leads."""


def run(plan: Plan) -> None:
    """Until it is told to stop (SIGTERM, SIGINT), or has left. Raises what it could not go on after."""
    gc.set_threshold(YOUNG_OBJECTS, 20, 50)
    sys.setswitchinterval(SWITCH_S)
    uvloop.run(Process(plan).serve())


def begun(plan: Plan, disk: RealDisk) -> Home:
    """A directory for who founds or joins."""
    random = SystemRandom()
    if plan.found is not None:
        return homes.found(disk, plan.node, ClusterId(f"{random.getrandbits(64):016x}"), random.getrandbits(62))
    if plan.join or plan.join_file is not None:
        return homes.join(disk, plan.node)
    raise NoHome


class Process:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._over: asyncio.Future[None]
        self._handed_over: asyncio.Future[bool]
        """Others lead what it has led; whether it should leave."""
        self._told = False
        """To stop."""
        self._killed = False
        self.core: Participant | None = None
        """Once it runs."""
        self._notifier = Notifier()
        self._certificates: Certificates | None = None
        self._seeds = Seeds(plan.join_file) if plan.join_file is not None else None
        self._started_s = time.monotonic()
        self.access: Access | None = None
        """Who may do what, once it runs."""

    async def serve(self) -> None:
        loop = asyncio.get_running_loop()
        self._over = loop.create_future()
        self.heed()
        if self.plan.tls is not None:
            self._certificates = Certificates(self.plan.tls, self.plan.node)
        listeners, doors, home = await self._place()
        tick_s = self.plan.settings.consensus.heartbeat_us / 2e6
        shell = Shell(self._ended, self._retired, Story(self.plan.node, now_us), tick_s)
        with self._blamed():
            does = (shell.happen, shell.persisted, self._ended)
            vault = Vault(home, loop.call_soon_threadsafe, *does, self.plan.storage, loop)
        try:
            await self._run(shell, vault, listeners, doors, founder=home.deed.founded)
        finally:
            shell.stop()
            vault.finish(abandon=self._killed)
            await loop.run_in_executor(None, vault.abandon if self._killed else vault.stop)
            vault.close()
            self._notifier.close()
        log.info("%s has stopped", self.plan.node)

    # What a process does, and one participant among others in somebody's process does not (hansard.testing).

    def heed(self) -> None:
        """Signals."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._told_to_stop, number)
        loop.add_signal_handler(signal.SIGHUP, self._look, True)

    def arrived(self, token: str) -> None:
        """It takes part, and whoever has started it is told: the first token, too, if it has made one."""
        if token:  # the one time that it is said, and to nobody else
            sys.stdout.write(f"admin token: {token}\n")
            log.info("the first token, for admin, was written to the standard output, and is not shown again")
        sys.stdout.write("ready\n")
        sys.stdout.flush()

    def disk(self) -> RealDisk:
        return RealDisk(self.plan.directory)

    def ways(self, hello: Callable[[], Hello], connected: Callable[[str], None]) -> Peers:
        return Peers(hello, connected, self._certificates)

    def stop(self) -> None:
        """In order: it hands over what it leads first."""
        self._told = True
        self._ended(None)

    def kill(self) -> None:
        """At once, as a process dies: nothing more is said, and nothing more is written."""
        self._killed = True
        self._ended(None)

    # From its beginning to its end.

    async def _place(self) -> tuple[list[socket.socket], list[socket.socket], Home]:
        """Its addresses and its directory. Who goes on is told first that its directory is in use; of who begins
        nothing is made where it cannot listen."""
        with self._blamed(), suppress(NoHome):
            home = homes.enter(self.disk(), self.plan.node)
            return *(await self._bound()), home
        listeners, doors = await self._bound()
        with self._blamed():
            return listeners, doors, begun(self.plan, self.disk())

    async def _bound(self) -> tuple[list[socket.socket], list[socket.socket]]:
        """For the binary protocol, and for HTTP."""
        return await bound(self.plan.listen), await bound(self.plan.http) if self.plan.http is not None else []

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        try:
            yield
        except (ConsensusError, StorageError) as error:
            raise BadDirectory(remedied(self.plan.directory, error)) from error

    def _core(self, vault: Vault, random: SystemRandom) -> Participant:
        return Participant(
            self.plan.node,
            self.plan.address,
            self.plan.settings,
            vault.atomic_log(),
            vault.shelf(),
            jitter=random.random,
            draw_life=lambda: random.getrandbits(62),
            now_us=now_us(),
            seeds=self._to_ask(),
            zone=self.plan.zone,
        )

    async def _run(
        self,
        shell: Shell,
        vault: Vault,
        listeners: list[socket.socket],
        doors: list[socket.socket],
        *,
        founder: bool,
    ) -> None:
        """`doors` are for HTTP."""
        plan, random = self.plan, SystemRandom()
        if self._seeds is not None:
            self._seeds.look()
        core = self._core(vault, random)
        self.core = core
        peers = self.ways(lambda: port.hello, shell.connected)
        pages = Pages(vault.now, lambda bucket: core.distributor.buckets[bucket], vault.damages)
        admin = Admin(
            lambda: core,
            shell.happen,
            lambda: self._extra(shell, peers, port) | vault.status(),
            vault.scrubber.look_now,
            vault.now,
        )
        self.access = access = Access(lambda: core)
        where = self._address_in(core)
        takes = (shell.happen, shell.submitted, shell.soon)
        reception = Reception(plan.node, *takes, now_us, where, pages, admin, access)
        port = Port(core, shell, reception, self._certificates)
        shell.start(core, vault, peers, reception)
        local = written(plan.listen) if not is_everywhere(plan.listen[0]) else plan.address
        web = Web(doors, local, core, shell, reception, admin, access, self._certificates)
        keeper = Keeper(core, vault, shell.happen, plan.retention_s)
        watching: list[asyncio.Task[None]] = []
        try:
            port.open(listeners)
            web.open()
            self._say_where()
            found = plan.found if founder else None
            if found is not None:
                found = replace(found, log=found.log or f"{random.getrandbits(64):016x}")
            founding = Founding(core, shell.happen, found)
            founding.begin()
            watching = self._watch(core, peers, keeper, founding)
            await self._over
            web.shut()
            if self._killed:
                shell.stop()
            elif self._told and core.here.member is not None:
                await self._hand_over(shell, reception)
            port.shut()
        finally:
            for task in watching:
                task.cancel()
            await web.close()
            port.close()
            peers.stop()
            await keeper.stop()

    async def _hand_over(self, shell: Shell, reception: Reception) -> None:
        """Before it stops, as it was told to: give away what it leads, and answer who has asked, in a bounded time."""
        loop = asyncio.get_running_loop()
        self._over, self._handed_over = loop.create_future(), loop.create_future()
        shell.happen(Retire())
        shell.story.leaving = True
        try:
            async with asyncio.timeout(HAND_OVER_S):
                await asyncio.wait((self._over, self._handed_over), return_when=asyncio.FIRST_COMPLETED)
                if self._handed_over.done():
                    await reception.finish()
                    if self._handed_over.result():
                        shell.happen(Leave(self.plan.node))
                        await self._over
        except TimeoutError:
            log.warning("%s could not hand over all that it leads within %g s: stopping", self.plan.node, HAND_OVER_S)
        if self._over.done():
            self._over.result()

    def _say_where(self) -> None:
        plan, secured = self.plan, "" if self._certificates is not None else ", without TLS"
        reached = f", reached at {plan.advertise}" if plan.advertise not in ("", written(plan.listen)) else ""
        log.info("%s listens on %s%s%s", plan.node, written(plan.listen), reached, secured)
        if plan.http is not None:
            kind = "https" if self._certificates is not None else "http"
            log.info("%s speaks HTTP at %s://%s, see /docs there", plan.node, kind, written(plan.http))

    @staticmethod
    def _address_in(core: Participant) -> Any:
        return lambda member: core.here.address(member.partition("#")[0]) or None

    def _extra(self, shell: Shell, peers: Peers, port: Port) -> dict[str, Any]:
        return {
            "address": self.plan.address,
            "zone": self.plan.zone,
            "uptime_s": round(time.monotonic() - self._started_s, 3),
            "loop_lag_ms": round(shell.lag.last_s * 1000, 3),
            "loop_lag_max_ms": round(shell.lag.max_s * 1000, 3),
            "connected": peers.status(),
            "wall_us": time.time_ns() // 1000,
            "software": VERSION,
            "disk_bytes": (disk := shutil.disk_usage(self.plan.directory)).total,
            "disk_free_bytes": disk.free,
            **port.status(),
        }

    # What is looked at beside.

    def _to_ask(self) -> tuple[str, ...]:
        more = self._seeds.addresses if self._seeds is not None else ()
        return tuple(dict.fromkeys([*self.plan.join, *more]))

    def _watch(self, core: Participant, peers: Peers, keeper: Keeper, founding: Founding) -> list[asyncio.Task[None]]:
        loop = asyncio.get_running_loop()
        arriving = loop.create_task(self._await_arrival(core, peers, founding))
        watching = [arriving, loop.create_task(self._keep_looking())]
        watching.append(loop.create_task(keeper.run()))
        if self._notifier.watchdog_s:
            watching.append(loop.create_task(self._say_alive(self._notifier.watchdog_s / 2)))
        for task in watching:
            task.add_done_callback(self._watched)
        return watching

    def _watched(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._ended(task.exception())

    async def _await_arrival(self, core: Participant, peers: Peers, founding: Founding) -> None:
        """Ready is who takes part: then it knows the table, and others know where it is."""
        due_s = time.monotonic() + PATIENCE_S
        self._notifier.status("waiting to be let in")
        while core.here.member is None:
            await asyncio.sleep(0.01)
            if time.monotonic() >= due_s:
                due_s = time.monotonic() + WAITING_S
                log.warning("%s does not take part yet: %s", self.plan.node, self._obstacle(core, peers))
        token = await founding.finish()
        if self.plan.found is not None:
            compare(self.plan.found, core)
        for address in self._to_ask():  # whoever expects to be in their cluster hears that it is in another
            if address != self.plan.address:
                peers.knock(address)
        self._notifier.ready()
        self._notifier.status(f"{core.here.member} takes part in cluster {core.consensus.cluster.id}")
        self.arrived(token)

    def _obstacle(self, core: Participant, peers: Peers) -> str:
        reached = [node for node in peers.status().values() if node]
        if reached:
            return f"{', '.join(reached)} can be reached, and no majority of the voters agrees on its arrival"
        asked = dict.fromkeys([*self._to_ask(), *core.consensus.post.contacts.values()])
        if asked:
            reasons = {address: peers.trouble(address) for address in asked}
            each = [f"{address} ({reason})" if reason else address for address, reason in reasons.items()]
            return f"nobody can be reached at {', '.join(each)}"
        if self._seeds is not None:
            return f"there is no address in {self.plan.join_file}"
        return "its directory was made to join a cluster, and it knows nobody of that: give --join HOST:PORT"

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            self._look()

    def _look(self, anyway: bool = False) -> None:
        if self._certificates is not None:
            self._certificates.look(anyway=anyway)
        if self._seeds is not None and self.core is not None and self._seeds.look():
            log.info("asking at %s from now on", ", ".join(self._to_ask()) or "nobody")
            self.core.consensus.seek(self._to_ask())

    async def _say_alive(self, interval_s: float) -> None:
        while True:
            self._notifier.alive()
            await asyncio.sleep(interval_s)

    # The end.

    def _told_to_stop(self, number: int) -> None:
        name = signal.Signals(number).name
        if self._told:
            log.warning("told to stop again (%s): stopping at once", name)
            logging.shutdown()
            os._exit(128 + number)
        self._told = True
        log.info("told to stop (%s)", name)
        self._notifier.stopping()
        self._ended(None)

    def _ended(self, error: BaseException | None) -> None:
        if self._over.done():
            return
        if error is None:
            self._over.set_result(None)
        else:
            self._over.set_exception(error)

    def _retired(self, leave: bool) -> None:
        if not self._handed_over.done():
            self._handed_over.set_result(leave)
