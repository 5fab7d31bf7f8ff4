"""The atomic log in one place: a list that never fails, and participants that may be cut off from it.

As simple as it can be, beside the embedded one, so that the interface (`hansard/consensus/atomic.py`) has two
implementations: what both do is what an atomic log does. Nobody votes here and nothing is sent.
"""

from collections.abc import Callable, Iterable
from typing import assert_never

import msgspec
from msgspec import Struct

from hansard.consensus.atomic import Asked, Told
from hansard.consensus.cluster import NodeId, Peer
from hansard.consensus.content import Arrive, Content, Depart, Entry, Fact, Proposal, Upgrade
from hansard.consensus.effect import AnswerRead, Applied, Departing, Led, Left, Outdated, Refused, Restored, Settled
from hansard.consensus.event import Leave, Propose, Raise, Read, Tick
from hansard.consensus.machine import Machine
from hansard.consensus.recovered import State
from hansard.consensus.roster import Roster
from hansard.consensus.settings import Settings


class TrivialLog:
    """What is in the log is committed. After so many entries it is compacted to the state of a machine of its own."""

    def __init__(self, settings: Settings, machine: Machine) -> None:
        self.settings = settings
        self.machine = machine
        self.roster = Roster()
        self.state = State()
        self.entries: list[tuple[Entry, Fact | None]] = []
        """From the state on."""
        self.heard_us: dict[Peer, int] = {}

    @property
    def end(self) -> int:
        return self.state.end + len(self.entries)

    def append(self, content: Content) -> None:
        fact = self.roster.apply(content)
        if fact is not None:
            self.machine.apply(self.end, fact)
        self.entries.append((Entry(1, content), fact))
        if len(self.entries) >= self.settings.compact_entries:
            self.state = State(end=self.end, term=1, roster=self.roster.image(), image=self.machine.image())
            self.entries.clear()

    def hear(self, peer: Peer, now_us: int) -> None:
        """Whoever is heard holds its lease, and sees to it that those who are not are gone."""
        self.heard_us[peer] = now_us
        for other in [participant.peer for participant in self.roster.participants.values()]:
            if now_us - self.heard_us[other] >= self.settings.lease_us:
                self.append(Depart(other))


class TrivialDisk(Struct):
    """What a participant keeps over a crash: who it is, and how often it has started."""

    life: int = 0
    session: int = 0


class TrivialMember:
    def __init__(
        self,
        me: NodeId,
        address: str,
        log: TrivialLog,
        machine: Machine,
        disk: TrivialDisk,
        *,
        draw_life: Callable[[], int],
        zone: str = "",
        rules_max: int = 1,
        inventory: bytes = b"",
    ) -> None:
        disk.session += 1
        disk.life = disk.life or draw_life()
        self.me = me
        self.connected = True
        """While it is not, it knows nothing of the log, and nobody knows of it."""
        self._log = log
        self._machine = machine
        self._disk = disk
        self._draw_life = draw_life
        self._process = (disk.session, disk.life)
        self._arrival = Arrive(Peer(me, disk.life), address, *self._process, 0, zone, rules_max, inventory)
        self._roster = Roster()
        self._end = 0
        self._asked: list[Asked] = []
        self._proposals: list[tuple[int, int, bytes]] = []
        """Number, id and content of what is not in the log yet."""
        self._last = 0
        self._leaving = self._stopped = False
        self._refused = ""
        machine.restore(b"")

    @property
    def peer(self) -> Peer:
        return self._arrival.peer

    def turn(self, events: Iterable[Asked], now_us: int) -> list[Told]:
        self._asked += [event for event in events if not isinstance(event, Tick)]
        if not self.connected or self._stopped:
            return []
        told: list[Told] = [Led("log", 1)] if self._end == 0 else []
        self._log.hear(self.peer, now_us)
        self._learn(told)
        if self._log.roster.gone(self.peer):
            told.append(Departing(self.peer.life))
            if self._leaving:
                self._stopped = True
                told.append(Left())
                return told
            self._begin_life()
            self._log.hear(self.peer, now_us)
        if not self._outdated(told):
            self._arrive(told)
            self._ask(told)
        return told

    def _begin_life(self) -> None:
        self._disk.life = self._draw_life()
        self._arrival = msgspec.structs.replace(self._arrival, peer=Peer(self.me, self._disk.life))

    # From the log.

    def _learn(self, told: list[Told]) -> None:
        """What is in the log and was not told here yet."""
        state = self._log.state
        if self._end < state.end and not self._outdated(told):
            self._roster = Roster(state.roster)
            self._machine.restore(state.image)
            self._end = state.end
            told.append(Restored(state.end))
            self._settle(told)
        while self._end < self._log.end and not self._outdated(told):
            entry, fact = self._log.entries[self._end - state.end]
            self._roster.apply(entry.content)
            if fact is not None:
                self._machine.apply(self._end, fact)
            told.append(Applied(self._end, entry, fact))
            self._end += 1
            self._settle(told)

    def _settle(self, told: list[Told]) -> None:
        counted = self._roster.counted(self.me, *self._process)
        while self._proposals and self._proposals[0][0] <= counted:
            told.append(Settled(self._proposals.pop(0)[1]))

    def _outdated(self, told: list[Told]) -> bool:
        """Whether the log follows rules that are not known here: nothing that they are for is told then."""
        rules = self._log.roster.rules
        if self._arrival.rules_max >= rules:
            return False
        self._stopped = True
        if Outdated(rules) not in told:
            told.append(Outdated(rules))
        return True

    # To the log.

    def _arrive(self, told: list[Told]) -> None:
        roster = self._log.roster
        mine = msgspec.structs.replace(self._arrival, after=roster.last_incarnation(self.me))
        known = roster.participants.get(self.me)
        if known is not None and (known.peer, known.session) == (mine.peer, mine.session):
            return
        if refusal := roster.refusal(mine):
            if refusal != self._refused:
                told.append(Refused(refusal))
            self._refused = refusal
            return
        self._append(mine, told)

    def _ask(self, told: list[Told]) -> None:
        known = self._roster.participants.get(self.me)
        if known is None or (known.peer, known.session) != (self.peer, self._disk.session):
            return
        asked, self._asked = self._asked, []
        for number, _, content in list(self._proposals):
            self._append(Proposal(self.peer, self._disk.session, number, content), told)
        for event in asked:
            match event:
                case Propose():
                    self._last += 1
                    self._proposals.append((self._last, event.id, event.content))
                    self._append(Proposal(self.peer, self._disk.session, self._last, event.content), told)
                case Read():
                    told.append(AnswerRead(event.id, self._end))
                case Leave():
                    self._leaving = self._leaving or event.node == self.me
                    if leaver := self._log.roster.participants.get(event.node):
                        self._append(Depart(leaver.peer), told)
                case Raise():
                    self._append(Upgrade(event.rules), told)
                case Tick():
                    pass
                case _:
                    assert_never(event)

    def _append(self, content: Content, told: list[Told]) -> None:
        self._log.append(content)
        self._learn(told)
