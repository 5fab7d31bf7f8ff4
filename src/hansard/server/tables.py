"""Where the buckets are, for clients: told at once, or as soon as it is no longer what they know."""

from collections.abc import Callable
from typing import Final, NamedTuple

from hansard.participant.participant import Participant
from hansard.wire.request import Table, Tabled, Whereabouts

from .asker import Asker

WAITING_MAX: Final = 20_000
"""Whoever comes when so many wait is told what there is."""
NEVER_US: Final = 1 << 62


class Waiting(NamedTuple):
    asker: Asker
    table: Table
    deadline_us: int


class Tables:
    """`say` answers a client outside of a turn. Invariant: nobody who waits is due before `_due_us`."""

    def __init__(self, say: Callable[[Asker, Tabled], None]) -> None:
        self._say = say
        self._core: Participant | None = None
        self._waiting: list[Waiting] = []
        self._due_us = NEVER_US
        self._version = -1
        """At which everybody who waits was last looked at."""

    def ask(self, asker: Asker, table: Table, deadline_us: int) -> None:
        core = self._core
        known = core is not None and (core.distributor.version > table.version or not table.wait_us)
        if core is not None and (known or len(self._waiting) >= WAITING_MAX):
            self._say(asker, tabled(table.id, core))
        else:
            self._waiting.append(Waiting(asker, table, deadline_us))
            self._due_us = min(self._due_us, deadline_us)

    def gone(self, asker: Asker) -> None:
        self._waiting = [waiting for waiting in self._waiting if waiting.asker is not asker]

    def look(self, core: Participant, now_us: int) -> None:
        """After each turn: costs nothing where nothing has changed."""
        self._core = core
        version = core.distributor.version
        if version == self._version and now_us < self._due_us:
            return
        self._version = version
        waiting, self._waiting, self._due_us = self._waiting, [], NEVER_US
        for one in waiting:
            if version > one.table.version or one.deadline_us <= now_us:
                self._say(one.asker, tabled(one.table.id, core))
            else:
                self._waiting.append(one)
                self._due_us = min(self._due_us, one.deadline_us)


def tabled(id: int, core: Participant) -> Tabled:
    participants = sorted(core.consensus.roster.participants.items())
    places = {node: place for place, (node, _) in enumerate(participants)}
    return Tabled(
        id,
        core.distributor.version,
        core.distributor.log,
        [(node, known.address) for node, known in participants],
        [
            Whereabouts(
                bucket.level,
                places.get(bucket.leader.node, -1) if bucket.leader is not None else -1,
                tuple([places[member.node] for member in bucket.full if member.node in places]),
            )
            for bucket in core.distributor.buckets
        ],
    )
