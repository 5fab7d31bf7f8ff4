"""A whole node: events in, effects out.

    consensus     the atomic log; tells the distributor, which has the table
    copies        a phaser for each bucket that we have a part in, told what the table says
    mending, hindrances    what is wrong with disks
    router, reading    what clients want, on its way to where it can be had
    proposing     what we want in the log: what our phasers have achieved, orders, connection numbers, holds
    retaining     what our copies may drop, and what is held
    turns         what the phasers of our copies want

In a turn everything that has happened is handed to whom it concerns; then the atomic log has its turn, what the table
says now is told to the copies, and each of these that has something to do has its turn, until nobody has.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import assert_never

from hansard.application import Application
from hansard.consensus import effect as atomic
from hansard.consensus import event as log
from hansard.consensus.consensus import Consensus
from hansard.consensus.recovered import Recovered
from hansard.distributor import fact
from hansard.distributor.distributor import Distributor
from hansard.distributor.member import Member
from hansard.phaser import event as phaser

from .copies import Copies, Standing
from .effect import ATOMIC, Effect, Persist, Send
from .event import (
    Command,
    Connect,
    Connected,
    Damaged,
    Event,
    Excerpted,
    Fetched,
    Hindered,
    Import,
    Leave,
    Loaded,
    Mended,
    Persisted,
    Read,
    Received,
    Retention,
    Retire,
    Submit,
    Tick,
    Trimmed,
)
from .here import Here
from .hindrance import Hindrances
from .machine import Machine
from .mending import Mending
from .message import (
    Atomic,
    Bucketed,
    ClockAsk,
    ClockTold,
    Hop,
    HopAnswer,
    MendAsk,
    MendTold,
    Message,
    Process,
    ReadHop,
    ReadHopAnswer,
)
from .message import Hindered as HindranceMessage
from .name import named
from .proposing import Proposing
from .reading import Reading
from .retaining import Retaining
from .routing import Router
from .settings import Settings
from .shortage import Shortage
from .timekeeping import Timekeeping
from .turns import Turns


class Participant:
    def __init__(
        self,
        node: str,
        address: str,
        settings: Settings,
        recovered: Recovered,
        shelf: Mapping[int, Standing],
        *,
        jitter: Callable[[], float],
        draw_life: Callable[[], int],
        now_us: int,
        seeds: Sequence[str] = (),
        zone: str = "",
        applications: Sequence[Callable[[], Application]] = (),
    ) -> None:
        self.distributor = Distributor()
        self.here = here = Here(node, settings, self.distributor, jitter)
        here.now_us = now_us
        self.copies = Copies(here, shelf, applications)
        self.consensus = Consensus(
            node,
            address,
            settings.consensus,
            Machine(self.distributor),
            recovered,
            jitter=jitter,
            draw_life=draw_life,
            now_us=now_us,
            seeds=seeds,
            zone=zone,
            inventory=fact.encode(self.copies.inventory()),
        )
        here.address = self.consensus.address_of
        here.process = Process(self.consensus.peer.life, self.consensus.ledger.session)
        self.time = Timekeeping(here, self.consensus)
        self.router = Router(here, self.copies)
        self.reading = Reading(here, self.copies)
        self.mending = Mending(here, self.copies, lambda: self._log.append(log.Leave(node, again=True)))
        self.hindrances = Hindrances(here, self.copies)
        self._log: list[log.Event] = []
        """What the atomic log is to be told in this turn."""
        self.retaining = Retaining(here, self.copies, self.time)
        self.proposing = Proposing(here, self.retaining, self._tell_log)
        self.turns = Turns(here, self.copies, self.time, self.router, self.reading, self.proposing.reports)
        self._shortage = Shortage()
        self.consulted = False
        """In the last turn the atomic log had one of its own. Without that neither the table nor who takes part can
        have changed; and where time has passed it had one, so that whoever looks after these need not look else."""
        self._told = True
        """The log has told the distributor something. How many copies are wanted may change by it, and no bucket."""

    # A turn.

    def turn(self, events: Iterable[Event], now_us: int, wall_us: int) -> list[Effect]:
        """Everything that has happened, in order. `now_us` never goes back; `wall_us` is this machine's clock."""
        return self.begin(events, now_us, wall_us) + self.finish()

    def begin(self, events: Iterable[Event], now_us: int, wall_us: int) -> list[Effect]:
        """The half of a turn that somebody waits for. `finish` follows."""
        here = self.here
        here.now_us = now_us
        self.time.wall_us = wall_us
        self.consulted = False
        submits: list[Submit] = []
        for event in events:
            if isinstance(event, Submit):
                submits.append(event)
                continue
            if submits:
                self._submit(submits)
                submits = []
            if isinstance(event, Received) and isinstance(event.message, Bucketed):
                self.copies.received(event.message)
            elif isinstance(event, Persisted):
                self._persisted(event)  # most of what else happens to a busy node are these two
            else:
                self._handle(event)
        if submits:
            self._submit(submits)
        if self.time.due or not self.copies.clock_known:
            self._keep_time()
        self._run()
        self.time.due = False
        effects, here.effects = here.effects, []
        return effects

    def finish(self, *, patient: bool = False) -> list[Effect]:
        """The other half, of which nobody waits for anything. `patient`: what is better done a little later is left
        `unfinished`, and is to be finished within a moment."""
        self.turns.finish(patient=patient)
        effects, self.here.effects = self.here.effects, []
        return effects

    @property
    def unfinished(self) -> bool:
        return self.turns.unfinished

    def _keep_time(self) -> None:
        self.time.keep()
        if self.time.known and not self.copies.clock_known:
            self.copies.clock_known = True
            self.distributor.touched |= dict.fromkeys(self.copies.running)

    def _handle(self, event: Event) -> None:
        match event:
            case Received():
                self._received(event.sender, event.message)
            case Persisted():
                self._persisted(event)
            case Submit():
                self._submit([event])
            case Import():
                self.router.bring(event)
            case Tick():
                self._tick()
            case Read():
                self.reading.read(event)
            case Fetched():
                fetched = phaser.Fetched(event.to, event.term, event.offset, event.start, event.batches)
                self.copies.happen(event.bucket, fetched)
            case Loaded():
                self.copies.loaded(event.bucket, event.generation, event.recovered)
                self.router.look_at(event.bucket)
            case Connected():
                self._connected(event.node)
            case Connect():
                self.proposing.connecting.connect(event)
            case Command():
                self.proposing.order(event)
            case Trimmed():
                self.copies.happen(event.bucket, phaser.Trimmed(event.start))
            case Retention():
                self.proposing.retention(event)
            case Leave():
                self._log.append(log.Leave(event.node))
            case Retire():
                self.proposing.retiring.wanted = True
            case Damaged() | Mended() | Excerpted():
                self.mending.happen(event)
            case Hindered():
                self.hindrances.hindered(event.reason)
            case _:
                assert_never(event)

    def _submit(self, submits: Sequence[Submit]) -> None:
        self.proposing.connecting.used(submits)
        self.router.submit(submits)

    def _run(self) -> None:
        """Until nobody has anything to do. Most turns have little of it, so each step is looked at before it is
        called."""
        here, copies, distributor = self.here, self.copies, self.distributor
        first = True
        while first or self._log or copies.busy or distributor.touched or here.own:
            first = False
            while here.own:
                self._received(here.node, here.own.pop(0))
            if self._log:
                self._agree()
            if distributor.touched:
                self._follow_table()
            if self._told:
                self._told = False
                here.effects += self._shortage.look(distributor)
            if copies.busy:
                for copy in copies.take_busy():
                    self.turns.begin(copy)
            if copies.stopped:
                stopped, copies.stopped = copies.stopped, []
                self.router.stopped(stopped)
                self.reading.stopped(stopped)
            if self.time.due or self.proposing.busy:
                self.proposing.more(self.time.stamp_us if self.time.known else 0)

    def _tick(self) -> None:
        self.time.due = True
        self._log.append(log.Tick())
        self.router.tick()
        self.reading.tick()
        self.proposing.connecting.tick()
        self.mending.tick()
        self.hindrances.tick()
        self.copies.tick()

    def _connected(self, node: str) -> None:
        self.router.connected(node)
        member = self.distributor.slots.member(node)
        if member is not None:
            self.copies.happen_to_all(phaser.Connected(named(member)))

    def _persisted(self, persisted: Persisted) -> None:
        if persisted.part == ATOMIC:
            self._log.append(log.Persisted(persisted.ticket))
            return
        copy = self.copies.running.get(persisted.part)
        if copy is not None and copy.phaser is not None and copy.generation == persisted.generation:
            copy.inbox.append(phaser.Persisted(persisted.ticket))
            self.copies.busy[persisted.part] = None

    def _received(self, sender: str, message: Message) -> None:
        match message:
            case Atomic():
                self._log.append(log.Received(message.envelope))
            case Bucketed():
                self.copies.received(message)
            case Hop():
                self.router.hopped(message)
            case HopAnswer():
                self.router.hop_answered(message)
            case ReadHop():
                self.reading.hopped(sender, message)
            case ReadHopAnswer():
                self.reading.hop_answered(sender, message)
            case ClockAsk():
                self.time.asked(sender, message)
            case ClockTold():
                self.time.told(sender, message)
            case MendAsk() | MendTold():
                self.mending.received(sender, message)
            case HindranceMessage():
                self.hindrances.received(sender, message)
            case _:
                assert_never(message)

    # The atomic log.

    def _tell_log(self, event: log.Event) -> None:
        self._log.append(event)

    def _agree(self) -> None:
        events, self._log = self._log, []
        self.consulted = True
        effects = self.consensus.turn(events, self.here.now_us)
        self.here.ways.clear()
        for effect in effects:
            self._agreed(effect)
        self._find_myself()

    def _agreed(self, effect: atomic.Effect) -> None:
        here = self.here
        match effect:
            case atomic.Send():
                here.effects.append(Send(effect.to, effect.address, Atomic(effect.envelope)))
            case atomic.Persist():
                here.effects.append(Persist(ATOMIC, 0, effect.ticket, effect.writes))
            case atomic.Applied() | atomic.Restored():
                self._told = True  # what has changed by it is looked at below
            case atomic.AnswerRead():
                pass
            case atomic.Settled():
                self.proposing.settled(effect.id)
            case atomic.Departing():
                self._depart()
                here.effects.append(effect)
            case _:
                here.effects.append(effect)

    def _find_myself(self) -> None:
        """Who we are by the log: another incarnation is another member, and begins with what is on disk. Nobody until
        the log has this process: the table that a start finds on disk may be older than what was done by it since."""
        known = self.consensus.roster.participants.get(self.here.node)
        arrived = known is not None and self.consensus.arrived
        member = Member(self.here.node, known.incarnation) if known is not None and arrived else None
        if member != self.here.member:
            if self.here.member is not None:
                self._depart()
            self.here.become(member)
            self.distributor.touched = dict.fromkeys(range(len(self.distributor.buckets)))

    def _depart(self) -> None:
        self.copies.stop_all()
        self.here.become(None)
        self.consensus.arrival.bring(fact.encode(self.copies.inventory()))

    # The buckets.

    def _follow_table(self) -> None:
        touched, self.distributor.touched = self.distributor.touched, {}
        for number in sorted(touched):
            self.copies.follow(number)
        self.mending.follow()
        self.router.look_again()
