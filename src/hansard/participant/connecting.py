"""Connection numbers for clients: a range of them is kept here, for a minute; names are looked up in the log."""

from collections import deque
from collections.abc import Sequence
from typing import Final

from hansard.distributor.command import Grant, Names
from hansard.distributor.connections import NAME_BYTES_MAX

from .effect import AnswerConnect
from .event import Connect, Submit
from .here import Here

WAITING_MAX: Final = 20_000
SESSION_BITS: Final = 32
NUMBERS: Final = (1 << 62) - 1
"""Of the number of a grant; what is above them says which process asks."""
NAMES_AT_ONCE: Final = 500
RENEWALS: Final = 8
"""A name that is in use is asked for so many times in the time for which a bucket remembers it."""


class Connecting:
    def __init__(self, here: Here) -> None:
        self._here = here
        self._grant = (here.process.life ^ here.process.session << SESSION_BITS) & NUMBERS
        """The number of the last grant that we have asked for. The table may still have one of a former life of this
        node, in which sessions had the same numbers."""
        self._granting = False
        self._asked_us = 0
        self._next = self._end = 0
        self._until_us = 0
        self.unnumbered: deque[Connect] = deque()
        """Who waits for a number."""
        self._named: dict[str, list[Connect]] = {}
        """Who waits for a name; nobody, where it is only to be kept."""
        self.unnamed: dict[str, None] = {}
        """Names that are to be proposed."""
        self._naming = False
        """Some are on their way into the log."""
        self._count = 0
        """Of those who wait."""
        self._wall_us = 0
        """The cluster's time; 0 if it is not known."""

    def connect(self, connect: Connect) -> None:
        length = len(connect.name.encode(errors="surrogatepass"))
        if self._count >= WAITING_MAX or length > NAME_BYTES_MAX or length != len(connect.name.encode(errors="ignore")):
            self._here.effects.append(AnswerConnect(connect.id, 0, self._here.retry_us()))
            return
        self._count += 1
        if connect.name:
            self._want(connect.name)
            self._named[connect.name].append(connect)
        else:
            self.unnumbered.append(connect)

    def _want(self, name: str) -> None:
        if name not in self._named:
            self._named[name] = []
            self.unnamed[name] = None

    def used(self, submits: Sequence[Submit]) -> None:
        """Clients submit by their connections. A name in use is asked for again now and then, or it would expire while
        the buckets still know its series: whoever then asked for it would submit everything a second time."""
        connections = self._here.distributor.connections
        if not connections.names:
            return
        for name in filter(None, [connections.name_of(submit.batch.header.connection) for submit in submits]):
            unused_us = self._wall_us - connections.names[name].used_us
            if unused_us > self._here.distributor.settings.memory_us // RENEWALS:
                self._want(name)

    def _answer(self, connect: Connect, connection: int) -> None:
        self._count -= 1
        retry_us = 0 if connection else self._here.retry_us()
        self._here.effects.append(AnswerConnect(connect.id, connection, retry_us))

    def wanted(self, wall_us: int) -> list[Grant | Names]:
        """Give out what is there; what else it takes is to be proposed. Names have to wait while nobody knows what time
        it is (0): a wrong one would make others expire. Everybody waits while the log is imported, which has numbers of
        its own."""
        here = self._here
        self._wall_us = wall_us
        wished: list[Grant | Names] = []
        if not here.distributor.connecting:
            return wished
        if self.unnumbered:
            self._give_out()
            if self.unnumbered and not self._granting:
                self._granting, self._asked_us = True, here.now_us
                self._grant += 1
                wished.append(Grant(self._grant, max(here.settings.connections, len(self.unnumbered))))
        if self.unnamed and wall_us and not self._naming:
            self._naming = True
            names = list(self.unnamed)[:NAMES_AT_ONCE]
            for name in names:
                del self.unnamed[name]
            broken = [max([connect.broken for connect in self._named[name]], default=0) for name in names]
            wished.append(Names(tuple(zip(names, broken, strict=True)), wall_us))
        return wished

    def _give_out(self) -> None:
        self._look_for_grant()
        if self._here.now_us >= self._until_us:
            self._next = self._end
        while self.unnumbered and self._next < self._end:
            self._answer(self.unnumbered.popleft(), self._next)
            self._next += 1

    def _look_for_grant(self) -> None:
        here = self._here
        given = here.distributor.connections.ranges.get(here.node)
        if self._granting and given is not None and given.number == self._grant:
            self._granting = False
            self._next, self._end = given.first, given.end
            self._until_us = self._asked_us + here.settings.unused_us

    def settled(self, command: Grant | Names) -> None:
        """It is in the log."""
        if isinstance(command, Grant):
            self._look_for_grant()
            self._granting = False  # or it came to nothing: we had departed
            return
        self._naming = False
        known = self._here.distributor.connections.names
        for name, _ in command.names:
            named = known.get(name)
            for connect in self._named.pop(name, []):
                self._answer(connect, named.connection if named is not None else 0)

    def tick(self) -> None:
        now_us = self._here.now_us
        while self.unnumbered and self.unnumbered[0].deadline_us <= now_us:
            self._answer(self.unnumbered.popleft(), 0)
        for name, waiting in list(self._named.items()):
            for connect in [connect for connect in waiting if connect.deadline_us <= now_us]:
                waiting.remove(connect)
                self._answer(connect, 0)
            if not waiting and name in self.unnamed:  # one that is in use is wanted again by itself
                del self._named[name], self.unnamed[name]
