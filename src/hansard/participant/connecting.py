"""Connection numbers for clients: a range of them is kept here, for a minute; names are looked up in the log."""

from collections import deque
from typing import Final

from hansard.distributor.command import Grant, Name

from .effect import AnswerConnect
from .event import Connect
from .here import Here

WAITING_MAX: Final = 20_000
SESSION_BITS: Final = 32
RENEWALS: Final = 8
"""A name that is in use is asked for so many times in the time for which a bucket remembers it."""


class Connecting:
    def __init__(self, here: Here, session: int) -> None:
        self._here = here
        self._grant = session << SESSION_BITS
        """The number of the last grant that we have asked for."""
        self._granting = False
        self._asked_us = 0
        self._next = self._end = 0
        self._until_us = 0
        self._waiting: deque[Connect] = deque()
        self._named: dict[str, list[Connect]] = {}
        self._renew_from_us = 0
        """The cluster's time."""
        self._proposed: set[str] = set()
        """Names that are on their way into the log."""

    def connect(self, connect: Connect) -> None:
        if len(self._waiting) + sum(map(len, self._named.values())) >= WAITING_MAX:
            self._answer(connect, 0)
        elif connect.name:
            self._named.setdefault(connect.name, []).append(connect)
        else:
            self._waiting.append(connect)

    def used(self, connection: int) -> None:
        """A client submits by this connection. A name in use is asked for again now and then, or it would expire while
        the buckets still know its series: whoever then asked for it would submit everything a second time."""
        connections = self._here.distributor.connections
        name = connections.name_of(connection)
        if name and name not in self._named:
            used_us = connections.names[name].used_us
            if self._renew_from_us - used_us > self._here.distributor.settings.memory_us // RENEWALS:
                self._named[name] = []

    def _answer(self, connect: Connect, connection: int) -> None:
        retry_us = 0 if connection else self._here.retry_us()
        self._here.effects.append(AnswerConnect(connect.id, connection, retry_us))

    def wanted(self, wall_us: int | None) -> list[Grant | Name]:
        """Give out what is there; what else it takes is to be proposed. Names have to wait while nobody knows what time
        it is: a wrong one would make others expire."""
        here = self._here
        self._renew_from_us = wall_us or 0
        self._look_for_grant()
        if here.now_us >= self._until_us:
            self._next = self._end
        while self._waiting and self._next < self._end:
            self._answer(self._waiting.popleft(), self._next)
            self._next += 1
        wished: list[Grant | Name] = []
        if self._waiting and not self._granting:
            self._granting, self._asked_us = True, here.now_us
            self._grant += 1
            wished.append(Grant(self._grant, max(here.settings.connections, len(self._waiting))))
        for name in self._named if wall_us is not None else ():
            if name not in self._proposed:
                assert wall_us is not None
                self._proposed.add(name)
                wished.append(Name(name, wall_us))
        return wished

    def _look_for_grant(self) -> None:
        here = self._here
        given = here.distributor.connections.ranges.get(here.node)
        if self._granting and given is not None and given.number == self._grant:
            self._granting = False
            self._next, self._end = given.first, given.end
            self._until_us = self._asked_us + here.settings.unused_us

    def settled(self, command: Grant | Name) -> None:
        """It is in the log."""
        names = self._here.distributor.connections.names
        if isinstance(command, Name):
            self._proposed.discard(command.name)
            named = names.get(command.name)
            for connect in self._named.pop(command.name, []):
                self._answer(connect, named.connection if named is not None else 0)
        else:
            self._look_for_grant()
            if self._granting and command.number == self._grant:  # it came to nothing: we had departed
                self._granting = False

    def tick(self) -> None:
        now_us = self._here.now_us
        while self._waiting and self._waiting[0].deadline_us <= now_us:
            self._answer(self._waiting.popleft(), 0)
        for name, waiting in list(self._named.items()):
            for connect in [connect for connect in waiting if connect.deadline_us <= now_us]:
                waiting.remove(connect)
                self._answer(connect, 0)
            if not waiting and name not in self._proposed:
                del self._named[name]
