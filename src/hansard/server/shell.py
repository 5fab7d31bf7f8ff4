"""One task owns a participant's core: what happens goes into one list, and once in a turn of the loop all is handled.

So whatever came in one turn, from clients, participants and the disk, becomes one turn of the core: many small
submissions one batch, one job for the journal, one frame for each participant, one frame of answers for each client. A
turn is planned when its first event comes, for right after everything that is ready has been read; where the loop was
waiting there is nothing else to be read, and it comes at once.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Final, assert_never

from hansard.consensus.effect import Departing, Led, Left, Outdated, Refused, Strange, Superseded
from hansard.participant.effect import (
    ATOMIC,
    Answer,
    AnswerCommand,
    AnswerConnect,
    AnswerHold,
    AnswerRead,
    Bereft,
    Committed,
    Deed,
    Drop,
    Effect,
    Excerpt,
    Fetch,
    Fork,
    GivenUp,
    Load,
    Mend,
    Persist,
    Pressure,
    Retired,
    Send,
    Thinned,
)
from hansard.participant.event import Connected, Event, Persisted, Received, Submit, Tick
from hansard.participant.message import Bucketed, Message
from hansard.participant.participant import Participant
from hansard.phaser.hearing import awaited
from hansard.phaser.message import Acknowledge

from .hearing import OWN_DISK, Hearing
from .lag import Lag
from .peers import Peers
from .reception import Reception
from .story import Story
from .vault import Vault

log = logging.getLogger(__name__)

GROUPS_MAX: Final = 2
"""While so many groups of a bucket are under way to our disk, submissions gather for the next one: whatever comes back,
from that disk or from a member, takes them along."""
EVENTS_MAX: Final = 1_000
"""So many are handled at once, though there may be more to read: a client that sends faster than that is held then."""
QUIET_S: Final = 30e-6
"""After so long without a turn the loop was waiting: there is hardly anything else to be read, so what came is handled
at once. Otherwise a turn waits until everything that is ready has been read."""
PATIENCE_S: Final = 0.001
"""What a turn leaves for later is done after so long at the latest."""
TIDY_S: Final = 5.0


class Shell:
    """`ended` is called once: with what ended it, or None where the participant has left in order."""

    def __init__(
        self,
        ended: Callable[[BaseException | None], None],
        retired: Callable[[bool], None],
        story: Story,
        tick_s: float,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended = ended
        self._retired = retired
        self.story = story
        self._tick_s = tick_s
        self._inbox: list[Event] = []
        self._planned = False
        self._ripe = False
        """Something came that is worth a turn, once all that came with it is there."""
        self._turned_s = 0.0
        """When the last one was over."""
        self._hearing = Hearing(self._awaited)
        self._gathering: set[int] = set()
        """Buckets whose submissions wait until something comes back."""
        self._broken = False
        """Some of what the core wanted could not be done, so it may never be asked again."""
        self._version = 0
        """Of the table, as it was last looked at."""
        self.lag = Lag()
        self.core: Participant | None = None
        self.vault: Vault | None = None
        self.peers: Peers | None = None
        self.reception: Reception | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._patience: asyncio.TimerHandle | None = None
        """While something is unfinished."""

    def start(self, core: Participant, vault: Vault, peers: Peers, reception: Reception) -> None:
        self.core, self.vault, self.peers, self.reception = core, vault, peers, reception
        self._ticking = self._loop.create_task(self._tick())

    def stop(self) -> None:
        """No more turns."""
        self._broken = True
        if self._ticking is not None:
            self._ticking.cancel()

    # What happens.

    def happen(self, event: Event) -> None:
        self._inbox.append(event)
        self._plan()

    def _plan(self) -> None:
        if not self._planned:
            self._planned = True
            self._loop.call_soon(self.turn)

    def taken(self) -> None:
        """Whatever a connection had is in the inbox."""
        if self._ripe and not self._planned:
            if time.monotonic() - self._turned_s > QUIET_S:
                self.turn()
            else:
                self._plan()

    def soon(self) -> None:
        """The same for what does not come over a connection: more of it may come, and nobody expects an answer yet."""
        if self._ripe:
            self._plan()

    def persisted(self, events: Sequence[Persisted]) -> None:
        """Whatever else is ready in this turn of the loop has been read, so it goes on with that now."""
        for event in events:
            self._inbox.append(event)
            if event.part == ATOMIC or not self._can_wait(event.part, OWN_DISK):
                self._ripe = True
        if self._ripe:
            self.turn()

    def _can_wait(self, bucket: int, who: str) -> bool:
        """Whether nothing follows yet from a word, and no submission waits for somebody to take it along."""
        return self._hearing.can_wait(bucket, who) and not self._gathering

    def _awaited(self, bucket: int) -> int:
        copy = self.core.copies.running.get(bucket) if self.core is not None else None
        return awaited(copy.phaser) if copy is not None and copy.phaser is not None else 0

    def submitted(self, submit: Submit) -> None:
        """Not every one of them is worth a turn of its own."""
        assert self.vault is not None
        inbox, bucket = self._inbox, submit.bucket
        inbox.append(submit)
        if len(inbox) >= EVENTS_MAX:
            self.turn()
        elif not self._ripe and bucket not in self._gathering:
            if self.vault.under_way(bucket) < GROUPS_MAX:
                self._ripe = True
            else:
                self._gathering.add(bucket)

    def received(self, sender: str, messages: list[Message]) -> None:
        for message in messages:
            self._inbox.append(Received(sender, message))
            if not (type(message) is Bucketed and self._can_wait_for_others(message)):
                self._ripe = True

    def _can_wait_for_others(self, said: Bucketed) -> bool:
        message = said.message
        return type(message) is Acknowledge and not message.missing and self._can_wait(said.bucket, said.sender)

    def connected(self, node: str) -> None:
        self.happen(Connected(node))

    async def _tick(self) -> None:
        tidied_s = self._loop.time()
        while True:
            due_s = self._loop.time() + self._tick_s
            await asyncio.sleep(self._tick_s)
            now_s = self._loop.time()
            self.lag.note(now_s - due_s, now_s)
            self.happen(Tick())
            if due_s - tidied_s > TIDY_S:
                tidied_s = due_s
                self._tidy()

    def _tidy(self) -> None:
        """Who takes part is within reach, before there is anything to say."""
        assert self.core is not None and self.peers is not None
        roster = self.core.consensus.roster.participants
        self.peers.keep([known.address for node, known in roster.items() if node != self.core.here.node])
        self.peers.tidy()

    # What is done about it.

    def turn(self) -> None:
        self._planned = self._ripe = False
        self._hearing.turned()
        if self._inbox and not self._broken:  # or else somebody went on before
            self._try(self._handle_all)
            self._turned_s = time.monotonic()
            if self._ripe:  # something was let in meanwhile
                self._plan()

    def _try(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self._end(error)

    def _end(self, error: BaseException | None) -> None:
        if not self._broken:
            self._broken = True
            self._ended(error)

    def _handle_all(self) -> None:
        core, vault, peers, reception = self.core, self.vault, self.peers, self.reception
        assert core is not None and vault is not None and peers is not None and reception is not None
        events, self._inbox = self._inbox, []
        self._gathering.clear()
        self._do(core.begin(events, time.monotonic_ns() // 1000, time.time_ns() // 1000), vault, peers, reception)
        self._do(core.finish(patient=True), vault, peers, reception)
        if core.unfinished and self._patience is None:
            self._patience = self._loop.call_later(PATIENCE_S, self._waited)
        if core.consulted:  # neither time nor the table has anything for these otherwise
            reception.look(core)
            self.story.look(core)
            if core.distributor.version != self._version:
                self._version = core.distributor.version
                self._tidy()
            reception.flush()

    def _waited(self) -> None:
        """However short a time ago something was left: other buckets may have had turns all the while."""
        self._patience = None
        if self.core is not None and self.core.unfinished and not self._broken:
            self._try(self._finish)

    def _finish(self) -> None:
        core, vault, peers, reception = self.core, self.vault, self.peers, self.reception
        assert core is not None and vault is not None and peers is not None and reception is not None
        self._do(core.finish(), vault, peers, reception)

    def _do(self, effects: list[Effect], vault: Vault, peers: Peers, reception: Reception) -> None:
        """The client that waits comes first, then the members, whose disks have to do what ours has to."""
        sends: list[Send] = []
        deeds: list[Deed] = []
        for effect in effects:
            if isinstance(effect, Send):
                sends.append(effect)
            elif isinstance(effect, Answer):
                reception.answer(effect)
            else:
                deeds.append(effect)
        reception.flush()
        if sends:
            for send in sends:
                peers.say(send.to, send.address, send.message)
            peers.flush()
        if deeds:
            for deed in deeds:
                self._carry_out(deed, vault, reception)
            reception.flush()
            vault.flush()

    def _carry_out(self, effect: Deed, vault: Vault, reception: Reception) -> None:
        match effect:
            case Persist():
                vault.persist(effect)
            case Committed():
                reception.committed(effect)
            case Fetch():
                vault.fetch(effect)
            case AnswerRead():
                reception.answer_read(effect)
            case AnswerConnect():
                reception.answer_connect(effect)
            case AnswerCommand():
                reception.answer_command(effect)
            case AnswerHold():
                reception.answer_hold(effect)
            case Pressure():
                reception.press(effect)
            case Load():
                vault.load(effect)
            case Fork() | Drop():
                vault.alter(effect)
            case Excerpt():
                vault.damages.excerpt(effect)
            case Mend():
                vault.damages.mend(effect)
            case GivenUp():
                vault.damages.tell(effect)
            case Thinned() | Bereft() | Led() | Departing() | Strange() | Refused():
                self.story.tell(effect)
            case Left():
                self.story.tell(effect)
                self._end(None)
            case Retired():
                self._retired(effect.leave)
            case Superseded() | Outdated():
                self.story.tell(effect)
                self._end(Ended(self.story.why(effect)))
            case _:
                assert_never(effect)


class Ended(Exception):
    """There is no going on, for a reason that an operator has to know."""


def now_us() -> int:
    return time.monotonic_ns() // 1000
