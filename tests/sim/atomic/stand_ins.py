"""As much of a world as an oracle looks at: a, b and c with real logs and disks, and nothing that moves."""

from itertools import count
from typing import cast

from msgspec.structs import replace

from hansard.consensus.cluster import Peer
from hansard.consensus.content import Begin, Content, Council, Entry
from hansard.consensus.effect import Note, Put
from hansard.consensus.log import Log
from hansard.consensus.recovered import NoteContent, encode
from hansard.consensus.roster import Roster
from sim.atomic import participant as real
from sim.atomic import world as real_world
from sim.atomic.machine import Recorder
from sim.atomic.oracles.lives import Lives
from sim.atomic.oracles.sequence import OneSequence
from sim.atomic.participant import Seen
from sim.atomic.plan import Plan, plan
from sim.atomic.vault import Vault
from sim.world.clock import Clock

LIFE = 7
A, B, C = Peer("a", LIFE), Peer("b", LIFE), Peer("c", LIFE)


class StandInLedger:
    outdated = False


class StandInConsensus:
    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.term = 1
        self.vote: Peer | None = None
        self.committed = 0
        self.log = Log(0, 0, ())
        self.roster = Roster()
        self.ledger = StandInLedger()

    @property
    def voters(self) -> tuple[Peer, ...]:
        return self.log.voters


class StandIn:
    """A participant."""

    def __init__(self, world: "StandInWorld", name: str) -> None:
        self.world = world
        self.name = name
        self.vault = Vault(lazy=False)
        self.machine = Recorder()
        self.consensus: StandInConsensus | None = StandInConsensus(Peer(name, LIFE))
        self.process = 1
        self.leaving = False
        self.down_for_good = False
        self.troubled_until_us = 0
        self.seen = Seen()
        self._tickets = count(1)
        self.note(NoteContent(life=LIFE))

    @property
    def core(self) -> StandInConsensus:
        assert self.consensus is not None
        return self.consensus

    @property
    def peer(self) -> Peer:
        return self.consensus.peer if self.consensus is not None else Peer(self.name, self.vault.note.life)

    @property
    def cast(self) -> real.Participant:
        return cast(real.Participant, self)

    def note(self, note: NoteContent) -> None:
        self._write(Note(encode(note)))

    def store(self, *entries: Entry) -> None:
        """On its disk."""
        self._write(Put(self.vault.synced.end, entries))

    def append(self, *entries: Entry, stored: bool = True) -> None:
        """To its log, and its disk."""
        if stored:
            self.store(*entries)
        self.core.log.append(entries)

    def _write(self, write: Note | Put) -> None:
        ticket = next(self._tickets)
        self.vault.write(ticket, (write,))
        self.vault.sync(ticket)

    def wiped(self) -> None:
        """Its disk is lost, and it has not started again."""
        self.consensus = None
        self.vault = Vault(lazy=False)


class StandInWorld:
    def __init__(self) -> None:
        self.plan: Plan = replace(plan(0), loss=0.0)
        self.clock = Clock()
        self.a, self.b, self.c = [StandIn(self, name) for name in "abc"]
        self.participants = [self.a, self.b, self.c]
        self.by_name = {one.name: one for one in self.participants}
        self.given_up: set[Peer] = set()
        self.sequence = OneSequence()
        self.lives = Lives()
        self.waiting: list[bytes] = []

    @property
    def living(self) -> list[StandIn]:
        return [one for one in self.participants if one.consensus is not None]

    @property
    def cast(self) -> real_world.World:
        return cast(real_world.World, self)


def entry(content: Content | None = None, term: int = 1) -> Entry:
    return Entry(term, content if content is not None else Begin())


def council(*voters: Peer, term: int = 1) -> Entry:
    return Entry(term, Council(voters))
