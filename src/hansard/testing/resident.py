"""One participant among others in one process: it heeds no signals, says nothing on stdout, can be killed as a process
is, and can be cut off from others.
"""

import asyncio
from collections.abc import Callable, Iterable

from hansard.participant.message import Message
from hansard.server.peers import Peers
from hansard.server.plan import Plan
from hansard.server.start import Process
from hansard.storage.disk import RealDisk
from hansard.wire.handshake import Hello


class Ways(Peers):
    """Some of them can be cut: what is under way there is lost, and nobody is dialled until they are healed."""

    def __init__(self, hello: Callable[[], Hello], connected: Callable[[str], None], severed: set[str]) -> None:
        super().__init__(hello, connected, None)
        self._severed = severed

    def cut(self, address: str) -> None:
        way = self._ways.pop(address, None)
        if way is not None:
            way.close()

    def say(self, to: str, address: str, message: Message) -> None:
        if address not in self._severed:
            super().say(to, address, message)

    def keep(self, addresses: Iterable[str]) -> None:
        super().keep([address for address in addresses if address not in self._severed])

    def knock(self, address: str) -> None:
        if address not in self._severed:
            super().knock(address)


class Resident(Process):
    """From `begin` on it runs as a task of the loop that it is in. `severed` are addresses that it is cut off from."""

    def __init__(self, plan: Plan, severed: Iterable[str], disk: type[RealDisk]) -> None:
        super().__init__(plan)
        self._disk = disk
        self._severed = set(severed)
        self.token, self.has_arrived = "", False
        self._ways: Ways | None = None
        self._task: asyncio.Task[None] | None = None

    def heed(self) -> None:
        """Signals are for the process that it is in."""

    def arrived(self, token: str) -> None:
        """Whoever has started it asks `core`; the first token is only told here."""
        self.token, self.has_arrived = token, True

    def disk(self) -> RealDisk:
        return self._disk(self.plan.directory)

    def ways(self, hello: Callable[[], Hello], connected: Callable[[str], None]) -> Peers:
        self._ways = Ways(hello, connected, self._severed)
        return self._ways

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self.serve())

    async def end(self, *, hard: bool) -> None:
        """What had ended it before was said then."""
        assert self._task is not None
        await asyncio.sleep(0)  # it has begun
        if hard:
            self.kill()
        else:
            self.stop()
        await asyncio.wait([self._task])

    @property
    def failure(self) -> BaseException | None:
        """What has ended it, if anything has."""
        done = self._task is not None and self._task.done() and not self._task.cancelled()
        return self._task.exception() if done and self._task is not None else None

    def sever(self, addresses: set[str]) -> None:
        """It is cut off from these, and from nobody else."""
        healed = sorted(self._severed - addresses)
        self._severed.clear()
        self._severed.update(addresses)
        if self._ways is not None:
            for address in addresses:
                self._ways.cut(address)
            self._ways.keep(healed)
