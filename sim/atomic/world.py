"""A whole world from one seed: safety while faults happen, then everything heals and has to move again.

Everything in it is told to the oracles, counted for the coverage, and goes into the trace, whose hash says whether two
runs were the same.
"""

from collections.abc import Callable, Sequence
from random import Random
from struct import Struct
from typing import Final

import msgspec
import xxhash

from hansard.consensus.cluster import ClusterId, Peer
from hansard.consensus.council import size_wanted
from hansard.consensus.effect import AnswerRead, Applied, Effect, Led, Restored, Send, Settled
from hansard.consensus.event import Event, Received
from hansard.consensus.message import Envelope, Vote
from hansard.consensus.recovered import founding
from hansard.consensus.role import Role
from sim.world.clock import Clock
from sim.world.network import Network

from .coverage import TELLING, Coverage
from .nemesis import Nemesis
from .oracles import Lives, OneSequence, Oracle, Strangers, Violation, oracles
from .participant import Participant
from .plan import FAULTED_US, Fault, Plan
from .reserve import spares
from .store_vault import StoreVault
from .vault import Vault
from .words import describe, lines
from .workload import Workload

ELECTIONS_MAX: Final = 20
"""After the last fault everything has to be well within this many times twice the time of an election, which is what
the slowest voter waits before it asks to be elected."""
STEP_US: Final = 50_000
ECHO_US: Final = 2_000_000
"""So late something may come again."""
CLUSTER: Final = ClusterId("simulated", 3)
_TRACED = Struct("<9q")

Parcel = tuple[str, Envelope | bytes]
"""What goes over the network: to which address, and what."""


class World:
    def __init__(self, plan: Plan, faults: Sequence[Fault] | None = None, tell: Callable[[str], None] | None = None):
        self.plan = plan
        self.random = Random(plan.seed)
        self.clock = Clock()
        self.network: Network[Parcel] = Network(self.clock, self.random, self._deliver, self._connected)
        self._set_conditions()
        names = [chr(ord("a") + number) for number in range(plan.places)]
        self.participants = [
            Participant(self, name, self.vault(), rate, zone)
            for name, rate, zone in zip(names, plan.rates, plan.zones, strict=True)
        ]
        self.by_name = {participant.name: participant for participant in self.participants}
        self.by_address: dict[str, Participant] = {f"seed-{one.name}": one for one in self.participants}
        """A seed's address leads to it wherever it is."""
        self.free_addresses: list[str] = []
        self.newest_rules = 2
        self.given_up: set[Peer] = set()
        self.turncoats_until_us = 0
        """Until then whoever votes crashes."""
        self.healings = 0
        self.sequence = OneSequence()
        self.lives = Lives()
        self.strangers = Strangers()
        self.oracles = oracles(self.sequence, self.lives, self.strangers, thorough=plan.thorough)
        self._turn_oracles = [one for one in self.oracles if type(one).after_turn is not Oracle.after_turn]
        self._word_oracles = [one for one in self.oracles if type(one).said is not Oracle.said]
        self._effect_oracles = [one for one in self.oracles if type(one).did is not Oracle.did]
        self.coverage = Coverage(names[0])
        self._told = 0
        """So many entries the oracles know to be committed."""
        self.workload = Workload(self)
        self.nemesis = Nemesis(self)
        self.nemesis.schedule(plan.faults if faults is None else tuple(faults))
        self._trace = xxhash.xxh3_64()
        self.tell_line = tell

    def vault(self) -> Vault:
        return StoreVault() if self.plan.real_store else Vault(lazy=self.plan.lazy)

    def _set_conditions(self) -> None:
        conditions, plan = self.network.conditions, self.plan
        conditions.ordered, conditions.loss, conditions.double = plan.ordered, plan.loss, plan.double
        conditions.delay_us, conditions.jitter_us = plan.delay_us, plan.delay_us * 3 // 2

    # The run.

    def run(self) -> None:
        """Raises the Violation that it finds."""
        self.begin()
        self.clock.run_until(FAULTED_US)
        self._heal()
        end_us = FAULTED_US + ELECTIONS_MAX * 2 * self.plan.settings.election_us
        self.clock.run_until(FAULTED_US + 500_000)
        self.workload.producing = False
        while not self.settled_down:
            if self.clock.now_us >= end_us:
                raise Violation("everything moves again", "; ".join(self.stuck()))
            self.clock.run_until(self.clock.now_us + STEP_US)
        for oracle in self.oracles:
            oracle.finish(self)
        self.coverage.finish()

    def begin(self) -> None:
        """One founds the cluster, the others come after it."""
        founder, *others = self.participants
        founder.vault.write(0, founding(CLUSTER, Peer(founder.name, self.random.getrandbits(40) + 1)))
        founder.vault.sync(0)
        for participant in self.participants:
            self.move(participant)
            self.give_seeds(participant)
        founder.start()
        at_us = 500_000
        for participant in others:
            self.start_later(participant, at_us)
            at_us += 0 if self.plan.burst else int(self.random.random() * 400_000)
        self.coverage.counts["burst of arrivals"] += self.plan.burst
        self.workload.begin()

    def _heal(self) -> None:
        self.healings += 1
        self.network.heal()
        self._bury()
        for participant in self.participants:
            participant.stalled, participant.slowness = False, 1
            participant.resume()
            if participant.consensus is None and not participant.down_for_good:
                participant.start()

    def _bury(self) -> None:
        """Who has gone in order may stay away for ever; some others stay down for ever, if the voters allow it."""
        buried: list[str] = []
        for participant in self.participants:
            if participant.left and participant.consensus is None and self.random.random() < 0.8:
                participant.down_for_good = True
                self.coverage.counts["left for good"] += 1
        for participant in self.random.sample(self.participants, len(self.participants)):
            if participant.down_for_good or len(buried) == self.plan.left_down:
                continue
            if spares(self, [*buried, participant.name]):
                buried.append(participant.name)
                participant.crash()
                participant.down_for_good = True
                self.coverage.counts["left down for good"] += 1

    @property
    def living(self) -> list[Participant]:
        return [participant for participant in self.participants if participant.consensus is not None]

    @property
    def leader(self) -> Participant | None:
        """The one with the latest term, if there are several."""
        leaders = [(one.consensus.term, one) for one in self.living if one.leads and one.consensus is not None]
        return max(leaders, key=lambda led: led[0])[1] if leaders else None

    @property
    def settled_down(self) -> bool:
        return not self.stuck(all_reasons=False)

    def stuck(self, *, all_reasons: bool = True) -> list[str]:
        """What is not as it should be: one leader whom everybody follows, everybody in the roster and as far as all the
        others, the right number of voters, and nothing that waits."""
        living, leader = self.living, self.leader
        if leader is None or leader.consensus is None:
            return ["nobody leads", *[describe(one) for one in self.participants]]
        log, found = leader.consensus.log, list[str]()
        here = {node: (one.peer, one.address) for node, one in leader.consensus.roster.participants.items()}
        if here != {one.name: (one.peer, one.address) for one in living}:
            found.append(f"{here} are there by the log")
        if any(one.leaving for one in living):
            found.append("somebody has not left yet")
        voters = leader.consensus.voters
        if len(voters) != size_wanted(len(living)) or not set(voters) <= {one.peer for one in living}:
            found.append(f"{voters} vote")
        for one in living:
            assert one.consensus is not None
            ends = {one.consensus.log.end, one.consensus.committed, one.consensus.synced, self.sequence.ends[one.name]}
            if ends != {log.end} or (one.consensus.leader, one.consensus.term) != (leader.name, leader.consensus.term):
                found.append(describe(one))
        waiting = len(self.waiting), len(self.workload.waiting_reads)
        if any(waiting):
            found.append(f"{waiting[0]} proposals and {waiting[1]} reads wait")
        if found and all_reasons:
            found += [describe(one) for one in self.participants]
        return found

    @property
    def waiting(self) -> list[bytes]:
        return self.workload.waiting_proposals

    # What happens, told to all who watch.

    @property
    def trace_hash(self) -> str:
        return self._trace.hexdigest()

    def line(self, text: Callable[[], str]) -> None:
        if self.tell_line is not None:
            self.tell_line(f"{self.clock.now_us / 1e6:11.6f}  {text()}")

    def started(self, participant: Participant) -> None:
        participant.see()
        self.nemesis.trouble([participant], 0)
        for oracle in self.oracles:
            oracle.started(participant)
        self.line(lambda: f"{participant.name} starts at {participant.address}: {describe(participant)}")

    def crashed(self, participant: Participant, lost: int) -> None:
        self.nemesis.trouble([participant], 0)
        self.coverage.crashed(lost, {one.peer for one in self.living})
        self.line(lambda: f"{participant.name} crashes and loses {lost} writes")

    def fault(self, fault: Fault, *, happened: bool) -> None:
        if happened:
            self.coverage.counts[f"fault {fault.kind}"] += 1
        self.line(lambda: f"nemesis: {fault.kind}{'' if happened else ' (to no effect)'}")

    def after_turn(self, participant: Participant, events: Sequence[Event], effects: Sequence[Effect]) -> None:
        """Where nothing came of it, nothing has changed that anybody looks at."""
        consensus = participant.consensus
        assert consensus is not None
        if self.tell_line is not None:
            for line in lines(participant, events, effects):
                self.line(lambda line=line: line)  # type: ignore[misc]
        if not effects:
            return
        self._look(participant, effects)
        participant.see()
        ledger = consensus.ledger
        place = (self.clock.now_us, ord(participant.name), participant.process)
        numbers = (ledger.log.end, ledger.synced, ledger.committed, ledger.term, len(events), len(effects))
        self._trace.update(_TRACED.pack(*place, *numbers))

    def _look(self, participant: Participant, effects: Sequence[Effect]) -> None:
        consensus, sequence = participant.consensus, self.sequence
        assert consensus is not None
        rare: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Send):
                if type(effect.envelope.message) in TELLING:
                    self._said(participant, effect)
            elif isinstance(effect, Applied):
                sequence.applied(participant, effect)
            elif not isinstance(effect, Settled | AnswerRead | Led):
                if isinstance(effect, Restored):
                    sequence.restored(participant, effect.end)
                rare.append(effect)
        sequence.look(participant)
        if consensus.role is Role.LEADER:
            self._look_at_leader(participant)
        while self._told < sequence.end:
            entry, fact = sequence.entries[self._told], sequence.facts[self._told]
            self.coverage.committed(entry, fact, self.wished)
            for oracle in self.oracles:
                oracle.committed(self._told, entry, fact)
            self._told += 1
        for effect in rare:
            self.coverage.did(effect)
            for oracle in self._effect_oracles:
                oracle.did(participant, effect)
        for oracle in self._turn_oracles:
            oracle.after_turn(participant)

    def _said(self, participant: Participant, send: Send) -> None:
        self.coverage.said(participant, send)
        for oracle in self._word_oracles:
            oracle.said(participant, send)
        message = send.envelope.message
        if isinstance(message, Vote) and message.granted:
            self.nemesis.upheaval.voted(participant)
            for oracle in self.oracles:
                oracle.voted(participant, send, message)

    def _look_at_leader(self, participant: Participant) -> None:
        consensus, seen = participant.consensus, participant.seen
        assert consensus is not None
        if not seen.led or seen.term != consensus.term:
            self.coverage.elected(participant, consensus.term)
            for oracle in self.oracles:
                oracle.elected(participant)
        if consensus.log.end > seen.end:
            for oracle in self.oracles:
                oracle.appended(participant, seen.end)
        if consensus.committed > seen.committed:
            for oracle in self.oracles:
                oracle.advanced(participant)

    @property
    def wished(self) -> set[str]:
        """Who was to go, or wanted to."""
        return {one.name for one in self.participants if one.leaving} | {peer.node for peer in self.given_up}

    def stray(self, participant: Participant, envelope: Envelope, usual: Sequence[Effect]) -> None:
        """It comes right after a turn in which nothing came, and in which this was done."""
        consensus = participant.consensus
        assert consensus is not None
        before = _summary(participant)
        effects = consensus.turn([Received(envelope)], participant.now_us)
        self.strangers.refused(participant, envelope, effects, usual)
        self.strangers.unmoved(participant, envelope, before, _summary(participant))
        self.coverage.counts["stray refused"] += 1

    # Where participants are.

    def move(self, participant: Participant, *, reuse: bool = False) -> None:
        """To a new address, or to one that another has left."""
        self.by_address.pop(participant.address, None)
        others = [address for address in self.free_addresses if address != participant.address]
        if participant.address:
            self.free_addresses.append(participant.address)
        participant.address_number += 1
        participant.address = f"{participant.name}{participant.address_number}"
        if reuse and others:
            participant.address = self.random.choice(others)
            self.free_addresses.remove(participant.address)
        self.by_address[participant.address] = participant
        self._introduce(participant)

    def swap(self, one: Participant, other: Participant) -> None:
        one.address, other.address = other.address, one.address
        self.by_address[one.address], self.by_address[other.address] = one, other
        self._introduce(one)
        self._introduce(other)

    def _introduce(self, participant: Participant) -> None:
        """Whoever is moved is told where the others are: they may all have moved."""
        participant.seeds = tuple([f"seed-{one.name}" for one in self.participants if one is not participant])

    def give_seeds(self, participant: Participant) -> None:
        """Whom it asks at first. There is always a way from them to one who takes part: who has lost its disk knows
        everybody, and the others know somebody who was there before them."""
        place = self.participants.index(participant)
        others = [one.name for one in self.participants if one is not participant]
        if participant.process or self.plan.left_down or not place:
            chosen = others
        else:
            chosen = self.random.sample(others[:place], min(place, self.random.choice((1, 1, 2))))
        participant.seeds = tuple([f"seed-{name}" for name in chosen])

    def start_later(self, participant: Participant, delay_us: int) -> None:
        self.nemesis.start_later(participant, delay_us)

    def send(self, sender: Participant, send: Send) -> None:
        to = self.by_address.get(send.address)
        if to is not None and send.to in ("", to.name):
            envelope = msgspec.msgpack.encode(send.envelope) if self.plan.encoded else send.envelope
            parcel = (send.address, envelope)
            self.network.send(sender.name, to.name, parcel)
            if self.plan.echo and self.random.random() < self.plan.echo:
                delay_us = int(self.random.random() * ECHO_US)
                self.nemesis.later(delay_us, lambda: self.network.send(sender.name, to.name, parcel))

    def _deliver(self, to: str, parcel: Parcel) -> None:
        participant = self.by_name[to]
        if self.by_address.get(parcel[0]) is participant:
            participant.receive(parcel[1])

    def _connected(self, here: str, there: str) -> None:
        """Nobody is told: what is lost is sent again."""

    # Proposals and reads.

    def settled(self, participant: Participant, number: int) -> None:
        self.workload.settled(participant, number)

    def read_answered(self, participant: Participant, answer: AnswerRead) -> None:
        self.workload.read_answered(participant, answer)


def _summary(participant: Participant) -> tuple[object, ...]:
    consensus = participant.consensus
    assert consensus is not None
    log = consensus.log
    numbers = (consensus.term, consensus.vote, consensus.committed, consensus.synced, log.start, log.end, log.last_term)
    return (consensus.role, consensus.leader, consensus.peer, consensus.cluster, *numbers, participant.machine.chain)
