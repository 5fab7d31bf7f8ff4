"""A whole world from one seed: safety while faults happen, then everything heals and has to move again.

Everything in it is told to the oracles, counted for the coverage, and goes into the trace, whose hash says whether two
runs were the same.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from struct import Struct
from typing import Final

import xxhash

from hansard.phaser.effect import Achievement, Answer, AnswerRead, Committed, Effect
from hansard.phaser.event import Accepted, Event, Paused, Read, Submit
from hansard.phaser.government import NodeId
from hansard.phaser.leader import Phase
from hansard.phaser.message import Message
from hansard.phaser.outcome import Repeated, Stored
from sim.oracles import Oracle, Violation, oracles

from .client import Client, Stranger
from .clock import Clock
from .coverage import Coverage
from .edict import Edict
from .nemesis import Nemesis
from .network import Letter, Network
from .participant import Participant
from .plan import FAULTED_US, Fault, Plan
from .store_vault import StoreVault
from .vault import ModelVault, Vault

HEALED_US: Final = 120_000_000
"""Within this time after the last fault everything has to be well."""
STEP_US: Final = 1_000_000
_TRACED = Struct("<9q")


class World:
    def __init__(self, plan: Plan, faults: Sequence[Fault] | None = None, tell: Callable[[str], None] | None = None):
        self.plan = plan
        self.random = Random(plan.seed)
        self.clock = Clock()
        self.network: Network[Letter] = Network(self.clock, self.random, self._deliver, self._connected)
        self._set_conditions()
        self.places = [chr(ord("a") + number) for number in range(plan.places)]
        self.participants = [
            Participant(self, place, self.vault(), rate, self.random.randint(-500_000, 500_000))
            for place, rate in zip(self.places, plan.rates, strict=True)
        ]
        self.by_place = {participant.place: participant for participant in self.participants}
        self.deaf: set[str] = set()
        self.healings = 0
        members = tuple([participant.name for participant in self.participants[: plan.members]])
        self.edict = Edict(members, plan.shape, plan.memory_us, self._tell_all)
        self.clients: list[Client] = []
        self.strangers: list[Stranger] = []
        self.oracles = oracles(thorough=plan.thorough)
        self._turn_oracles = [oracle for oracle in self.oracles if type(oracle).after_turn is not Oracle.after_turn]
        self.coverage = Coverage()
        self.nemesis = Nemesis(self)
        self.nemesis.schedule(plan.faults if faults is None else tuple(faults))
        self.acknowledged = 0
        self.reads: dict[int, str] = {}
        self._asked: dict[int, tuple[Client | Stranger, Submit, str, int]] = {}
        """Submissions under way, with where they went, and in which life it was when they came."""
        self._numbers = 0
        self._connections = 0
        self._shown: dict[str, int] = {}
        self._trace = xxhash.xxh3_64()
        self.tell_line = tell

    def vault(self) -> Vault:
        return StoreVault() if self.plan.real_store else ModelVault()

    def _set_conditions(self) -> None:
        conditions, plan = self.network.conditions, self.plan
        conditions.ordered, conditions.loss, conditions.double = plan.ordered, plan.loss, plan.double

    # The run.

    def run(self) -> None:
        """Raises the Violation that it finds."""
        for participant in self.participants:
            participant.start()
        for participant in self.participants[self.plan.members :]:
            self.edict.arrive(participant.name)
        self._tell_all()
        self.clients = [Client(self, number, self.plan.range_end) for number in range(self.plan.clients)]
        self.strangers = [Stranger(self, 100 + number) for number in range(self.plan.strangers)]
        everybody: list[Client | Stranger] = [*self.clients, *self.strangers]
        for client in everybody:
            self.clock.after(self.random.randrange(500_000), client.produce)
        self.clock.after(1_000_000, self._read)
        self.clock.run_until(FAULTED_US)
        self._heal()
        self.clock.run_until(FAULTED_US + 5 * STEP_US)
        for client in everybody:
            client.producing = False
        for _ in range(HEALED_US // STEP_US):
            if not self.edict.settle(self.plan.members) and self._settled():
                break
            self.clock.run_until(self.clock.now_us + STEP_US)
        else:
            raise Violation("everything moves again", self._stuck())
        for oracle in self.oracles:
            oracle.finish(self)

    def _heal(self) -> None:
        self.healings += 1
        self.network.heal()
        self.deaf.clear()
        for participant in self.participants:
            participant.stalled = False
            participant.resume()
            if participant.phaser is None:
                participant.start()
            self.tell(participant)
        self.hold_bucket(paused=False)

    def _settled(self) -> bool:
        """All clients have their answers, newcomers count, and all members have all of the log, committed."""
        edict = self.edict
        if edict.opened != edict.newest.epoch or any(client.items for client in self.clients):
            return False
        if set(edict.newest.newcomers) - set(edict.full):
            return False
        ledgers = [phaser.ledger for node in edict.full if (phaser := self.by_place[node[0]].phaser) is not None]
        ends = {(ledger.end, ledger.committed, ledger.synced) for ledger in ledgers}
        return len(ledgers) == len(edict.full) and len(ends) == 1 and len(set(*ends)) == 1

    def _stuck(self) -> str:
        lines = [f"newest {self.edict.newest}, opened {self.edict.opened}, full {self.edict.full}"]
        lines += [self.coverage.describe(participant) for participant in self.participants]
        lines += [f"client {client.number} waits for {len(client.items)} answers" for client in self.clients]
        return "; ".join(lines)

    # What happens, told to all who watch.

    @property
    def trace_hash(self) -> str:
        return self._trace.hexdigest()

    def line(self, text: Callable[[], str]) -> None:
        if self.tell_line is not None:
            self.tell_line(f"{self.clock.now_us / 1e6:11.6f}  {text()}")

    def started(self, participant: Participant) -> None:
        self._shown[participant.place] = 0
        for oracle in self.oracles:
            oracle.started(participant)
        self.line(lambda: f"{participant.name} starts, {self.coverage.describe(participant)}")

    def crashed(self, participant: Participant) -> None:
        self.coverage.crashed(participant, self.edict)
        self.line(lambda: f"{participant.name} crashes")

    def fault(self, fault: Fault, *, happened: bool) -> None:
        if happened:
            self.coverage.counts[f"fault {fault.kind}"] += 1
        self.line(lambda: f"nemesis: {fault.kind}{'' if happened else ' (to no effect)'}")

    def before_turn(self, participant: Participant, events: Sequence[Event]) -> None:
        self.coverage.before_turn(participant, events)
        for oracle in self._turn_oracles:
            oracle.before_turn(participant, events)

    def after_turn(self, participant: Participant, events: Sequence[Event], effects: Sequence[Effect]) -> None:
        phaser = participant.phaser
        assert phaser is not None
        ledger = phaser.ledger
        for effect in effects:
            if isinstance(effect, Committed):
                self._show(participant, effect.end)
        self.coverage.after_turn(participant, events, effects)
        for oracle in self._turn_oracles:
            oracle.after_turn(participant, events, effects)
        opens = [event for event in events if isinstance(event, Accepted)]
        if opens and phaser.leading is not None and phaser.leading.phase is Phase.OPEN:
            for oracle in self.oracles:
                oracle.opened(participant)
        place = (self.clock.now_us, ord(participant.place), participant.incarnation)
        numbers = (ledger.end, ledger.synced, ledger.committed, ledger.promised, len(events), len(effects))
        self._trace.update(_TRACED.pack(*place, *numbers))
        if self.tell_line is not None:
            for line in self.coverage.lines(participant, events, effects):
                self.line(lambda line=line: line)  # type: ignore[misc]

    def _show(self, participant: Participant, end: int) -> None:
        shown = max(self._shown[participant.place], participant.vault.start)
        batches = [batch for batch in participant.vault.fetch(shown, 1 << 40) if batch.header.base_offset < end]
        self._shown[participant.place] = end
        for oracle in self.oracles:
            oracle.visible(participant, batches)

    # Messages, and what the edict says.

    def send(self, sender: Participant, to: NodeId, message: Message) -> None:
        self.network.send(sender.place, to[0], Letter(sender.name, to, message))

    def _deliver(self, to: str, letter: Letter) -> None:
        self.by_place[to].receive(letter.sender, letter.to, letter.message)

    def _connected(self, here: str, there: str) -> None:
        self.by_place[here].connected(self.by_place[there].name)

    def _tell_all(self) -> None:
        for participant in self.participants:
            self.tell(participant)

    def tell(self, participant: Participant) -> None:
        count = len(self.edict.facts) if hasattr(self, "edict") else 1
        if participant.place not in self.deaf:
            self.clock.after(1000 + self.random.randrange(40_000), lambda: self._hear(participant, count))

    def _hear(self, participant: Participant, count: int) -> None:
        if participant.place not in self.deaf:
            participant.hear(count)

    def propose(self, participant: Participant, achievement: Achievement, epoch: int) -> None:
        if self.random.random() >= self.network.conditions.loss:
            delay = 1000 + self.random.randrange(self.plan.edict_us)
            self.clock.after(delay, lambda: self._report(achievement, epoch))

    def _report(self, achievement: Achievement, epoch: int) -> None:
        if self.edict.report(achievement, epoch):
            for oracle in self.oracles:
                oracle.accepted(self, achievement, self.edict.newest)

    def hold_bucket(self, *, paused: bool) -> None:
        for participant in self.participants:
            participant.happen(Paused(paused))

    # Clients.

    def connect(self) -> int:
        self._connections += 1
        return self._connections

    def next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def submit(self, client: Client | Stranger, submit: Submit) -> None:
        place = client.place
        self.clock.after(300 + self.random.randrange(500), lambda: self._submitted(client, submit, place))

    def _submitted(self, client: Client | Stranger, submit: Submit, place: str) -> None:
        participant = self.by_place[place]
        if participant.phaser is None:
            return
        self._asked[submit.id] = (client, submit, place, participant.life)
        deadline = int(self.clock.now_us * participant.rate) + self.random.choice((300_000, 2_000_000))
        participant.happen(Submit(submit.id, submit.batch, deadline, submit.epoch, submit.buckets, submit.continues))

    def answered(self, participant: Participant, answer: Answer) -> None:
        client, submit, place, life = self._asked.pop(answer.id)
        assert (place, life) == (participant.place, participant.life)
        if isinstance(answer.outcome, Stored | Repeated):
            self.acknowledged += 1
            values = [value for value in submit.batch.values() if value is not None]
            for oracle in self.oracles:
                oracle.answered(participant, answer, values)
        self.coverage.answered(submit, answer.outcome)
        if self.random.random() >= self.network.conditions.loss:
            self.clock.after(300 + self.random.randrange(500), lambda: client.answered(answer.id, answer.outcome))

    def pressed(self, participant: Participant, high: bool) -> None:
        self.coverage.counts["back-pressure"] += high

    def _read(self) -> None:
        """Now and then somebody wants to know for sure."""
        if self.healings == 0 or self.clients[0].producing:
            self.clock.after(300_000 + self.random.randrange(1_000_000), self._read)
        participant = self.random.choice(self.participants)
        leaders = [
            other for other in self.participants if other.phaser is not None and other.phaser.leading is not None
        ]
        if leaders and self.random.random() < 0.8:
            participant = self.random.choice(leaders)
        if participant.phaser is None:
            return
        number = self.next_number()
        for oracle in self.oracles:
            oracle.read_asked(number)
        deadline = int(self.clock.now_us * participant.rate) + 3_000_000
        participant.happen(Read(number, deadline))

    def read_answered(self, participant: Participant, answer: AnswerRead) -> None:
        self.coverage.counts[f"read {type(answer.outcome).__name__}"] += 1
        for oracle in self.oracles:
            oracle.read_answered(answer.id, answer.outcome)

    @property
    def counts(self) -> Counter[str]:
        return self.coverage.counts
