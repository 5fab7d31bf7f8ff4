"""One task owns the phasers: what happens goes into one list, and once in a turn of the loop all of it is handled.

So whatever came in one turn, from clients, participants and the disk, becomes one turn of each bucket's phaser: many
small submissions one batch, one job for the journal, one frame for each participant, one frame of answers for each
client. A turn is planned when its first event comes, for right after everything that is ready has been read; where the
loop was waiting there is nothing else to be read, and it comes at once.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Final, assert_never

from hansard.batch import Batch, reopen
from hansard.phaser import Phaser, event
from hansard.phaser.effect import Answer, AnswerRead, Committed, Effect, Fetch, Persist, Pressure, Put, Report, Send
from hansard.phaser.event import Connected, Event, Fetched, Persisted, Received, Tick
from hansard.phaser.government import NodeId
from hansard.phaser.hearing import awaited
from hansard.phaser.hearing import patient as can_wait
from hansard.phaser.message import Acknowledge, Append, Commit, Message
from hansard.phaser.outcome import Invalid, Outcome
from hansard.storage import write as stored
from hansard.storage.store import Store
from hansard.storage.write import Write
from hansard.wire import submission as wire
from hansard.wire.codec import Codec
from hansard.wire.errors import MalformedFrame, WrongCluster
from hansard.wire.frame import Frame
from hansard.wire.handshake import Hello, Role

from .asker import Asker, answer_codec, submission_codec
from .connection import Connection, Taker
from .disk import translated
from .hearing import OWN_DISK, Hearing
from .journal import Item, Job, Journal, Search
from .link import BATCH, COMMIT, PLAIN, Link, Look, Manner
from .shortcut import Shortcut

log = logging.getLogger(__name__)

TICK_S: Final = 0.1
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
WAIT_US_MAX: Final = 3600 * 1_000_000
"""No submission is waited for any longer."""

Address = tuple[str, int]

PeerMessage = tuple[int, Message]
"""With its bucket."""


def peer_codec() -> Codec[PeerMessage]:
    """Between participants: the checksums of batches are tried, their columns were looked at by who took them in."""
    return Codec(PeerMessage, reopen)


def look(said: PeerMessage) -> Look:
    bucket, message = said
    if isinstance(message, Append):
        return Look(BATCH, bucket, message.batch.length)
    return Look(COMMIT if isinstance(message, Commit) else PLAIN, bucket)


MANNER: Final = Manner(peer_codec, look)


class Node:
    """`reported` is told what a bucket's leader wants in the atomic log; `failed` that there is no going on."""

    def __init__(
        self,
        me: NodeId,
        cluster: str,
        addresses: Mapping[NodeId, Address],
        store: Store,
        phasers: Mapping[int, Phaser],
        reported: Callable[[int, Report], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._hello = Hello(Role.PARTICIPANT, cluster, me)
        self._phasers = phasers
        self._reported = reported
        self._failed = failed
        self._inboxes: dict[int, list[Event]] = {bucket: [] for bucket in phasers}
        self._handed = dict.fromkeys(phasers, 0)
        """The last ticket of each bucket that the journal was given, and the last that it has synced."""
        self._synced = dict.fromkeys(phasers, 0)
        self._planned = False
        self._ripe = False
        """Something came that is worth a turn, once all that came with it is there."""
        self._turned_s = 0.0
        """When the last one was over."""
        self._gathering = False
        """Submissions wait until something comes back."""
        self._unfinished: dict[int, Phaser] = {}
        """Whose turn is begun and not finished, by bucket."""
        self._patience: asyncio.TimerHandle | None = None
        self._hearing = Hearing(lambda bucket: awaited(phasers[bucket]))
        self._broken = False
        """Some of what a phaser wanted could not be done, so it may never be asked again."""
        self._names = {node: f"{host}:{port}" for node, (host, port) in addresses.items()}
        random = Random()
        self._links = {
            node: Link(node, address, self._hello, MANNER, self._connected, random)
            for node, address in addresses.items()
            if node != me
        }
        self._peer_codec = peer_codec()
        self._client_codecs = submission_codec(), answer_codec()
        self._connections: set[Connection] = set()
        """All that somebody else has made."""
        self._askers: set[Asker] = set()
        self._asked: dict[int, tuple[Asker, int]] = {}
        """Submissions that are not answered yet, by our own numbers: who asked, and what it is called there."""
        self._last_id = 0
        self._pressed: set[int] = set()
        self._jobs: list[Item] = []
        """What this turn wants from the disk, in order."""
        self._speaking: list[Link] = []
        self._answering: list[Asker] = []
        self._journal = Journal(store, self._loop.call_soon_threadsafe, self._persisted, failed)
        self._way = Shortcut(store, self._journal, self._persisted, failed, self._loop)
        self._tasks: list[asyncio.Task[None]] = []
        self._server: asyncio.Server | None = None

    async def start(self, address: Address) -> None:
        self._server = await self._loop.create_server(self._answered, *address)
        self._tasks = [self._loop.create_task(link.keep()) for link in self._links.values()]
        self._tasks.append(self._loop.create_task(self._tick()))

    async def stop(self) -> None:
        """What was journalled is written first. Clients that wait learn nothing any more."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        for link in self._links.values():
            link.close()
        for connection in self._connections:
            connection.close()
        self._way.close()
        await self._loop.run_in_executor(None, self._journal.stop)

    # What happens.

    def happen(self, bucket: int, what: Event) -> None:
        self._inboxes[bucket].append(what)
        self._plan()

    def _plan(self) -> None:
        if not self._planned:
            self._planned = True
            self._loop.call_soon(self._turn)

    def _taken(self) -> None:
        """Whatever a connection had is in the inboxes."""
        if self._ripe and not self._planned:
            if time.monotonic() - self._turned_s > QUIET_S:
                self._turn()
            else:
                self._plan()

    def _answered(self) -> Connection:
        """Somebody connects to us."""
        connection = Connection(self._hello, self._met, self._taken)
        connection.lost = lambda: self._connections.discard(connection)
        self._connections.add(connection)
        return connection

    def _met(self, connection: Connection, hello: Hello) -> Taker:
        """And says who it is."""
        if hello.role is Role.CLIENT:
            asker = Asker(connection, self._submit, self._names.get, self._client_codecs)
            self._askers.add(asker)
            connection.lost = lambda: self._gone(asker)
            asker.press(pressed=bool(self._pressed))
            return asker.received
        if hello.cluster != self._hello.cluster:
            raise WrongCluster(self._hello.cluster, hello.cluster or "none")
        if hello.node not in self._links:
            raise MalformedFrame(f"{hello.node or 'a participant without a name'} is not one of us")
        return partial(self._received, connection, hello.node)

    def _gone(self, asker: Asker) -> None:
        self._askers.discard(asker)
        self._connections.discard(asker.connection)

    def _received(self, connection: Connection, sender: NodeId, frame: Frame) -> None:
        inboxes = self._inboxes
        messages = self._peer_codec.decode(frame)
        if not messages:  # the other side wants to know whether anybody listens
            connection.send(self._peer_codec.encode(()))
            return
        for bucket, message in messages:
            inbox = inboxes.get(bucket)
            if inbox is not None:
                inbox.append(Received(sender, message))
                if not (type(message) is Acknowledge and not message.missing and self._can_wait(bucket, sender)):
                    self._ripe = True

    def _submit(self, asker: Asker, submit: wire.Submit) -> None:
        if submit.bucket not in self._phasers:
            self._say(asker, submit.id, Invalid(f"there is no bucket {submit.bucket} here"))
            self._ripe = True
            return
        self._last_id += 1
        self._asked[self._last_id] = asker, submit.id
        continues = submit.continues
        inbox = self._inboxes[submit.bucket]
        inbox.append(
            event.Submit(
                self._last_id,
                submit.batch,
                _now_us() + min(submit.wait_us, WAIT_US_MAX),
                submit.epoch,
                submit.buckets,
                event.Continues(continues.connection, continues.previous) if continues is not None else None,
            )
        )
        if len(inbox) >= EVENTS_MAX:
            self._turn()
        elif self._handed[submit.bucket] - self._synced[submit.bucket] < GROUPS_MAX:
            self._ripe = True
        else:
            self._gathering = True

    def _connected(self, node: NodeId) -> None:
        for bucket in self._phasers:
            self.happen(bucket, Connected(node))

    def _persisted(self, tickets: Mapping[int, int]) -> None:
        for bucket, ticket in tickets.items():
            self._synced[bucket] = ticket
            self._inboxes[bucket].append(Persisted(ticket))
            if not self._can_wait(bucket, OWN_DISK):
                self._ripe = True
        if self._ripe:
            self._turn()

    def _can_wait(self, bucket: int, who: NodeId) -> bool:
        """Whether nothing follows yet from a word, and no submission waits for somebody to take it along."""
        return self._hearing.can_wait(bucket, who) and not self._gathering

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            for bucket in self._phasers:
                self.happen(bucket, Tick())

    # What is done about it.

    def _turn(self) -> None:
        self._planned = self._ripe = self._gathering = False
        self._hearing.turned()
        if self._broken:
            return
        self._try(self._handle_all)
        self._turned_s = time.monotonic()

    def _try(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self._broken = True
            self._failed(error)

    def _handle_all(self) -> None:
        now_us, wall_us = _now_us(), time.time_ns() // 1000
        for bucket, inbox in self._inboxes.items():
            if inbox:
                self._inboxes[bucket] = []
                phaser = self._unfinished[bucket] = self._phasers[bucket]
                for effect in phaser.begin(inbox, now_us, wall_us):
                    self._carry_out(bucket, effect)
        self._flush()
        self._finish(patient=True)
        if self._unfinished and self._patience is None:
            self._patience = self._loop.call_later(PATIENCE_S, self._waited)

    def _finish(self, *, patient: bool) -> None:
        unfinished, self._unfinished = self._unfinished, {}
        for bucket, phaser in unfinished.items():
            if patient and can_wait(phaser):
                self._unfinished[bucket] = phaser
            else:
                for effect in phaser.finish():
                    self._carry_out(bucket, effect)
        self._flush()

    def _waited(self) -> None:
        """However short a time ago something was left: others may have had turns all the while."""
        self._patience = None
        if self._unfinished and not self._broken:
            self._try(lambda: self._finish(patient=False))

    def _flush(self) -> None:
        """The client that waits comes first, then the members, whose disks have to do what ours has to."""
        if self._answering:
            for asker in self._answering:
                asker.flush()
            self._answering.clear()
        if self._speaking:
            for link in self._speaking:
                link.flush()
            self._speaking.clear()
        if self._jobs:
            jobs, self._jobs = self._jobs, []
            self._way.put(jobs)

    def _carry_out(self, bucket: int, effect: Effect) -> None:
        match effect:
            case Send():
                link = self._links[effect.to]
                if link.say((bucket, effect.message)):
                    self._speaking.append(link)
            case Persist():
                self._persist(bucket, effect)
            case Answer():
                asker, called = self._asked.pop(effect.id)
                self._say(asker, called, effect.outcome)
            case Committed():
                pass
            case Fetch():
                self._fetch(bucket, effect)
            case Report():
                self._reported(bucket, effect)
            case Pressure():
                self._press(bucket, high=effect.high)
            case AnswerRead():
                raise AssertionError("nobody has asked")
            case _:
                assert_never(effect)

    def _persist(self, bucket: int, persist: Persist) -> None:
        length, writes = 0, list[Write]()
        for write in persist.writes:
            if isinstance(write, Put):  # as it mostly is
                length += write.batch.length
                writes.append(stored.Append(bucket, write.batch))
            else:
                writes.append(translated(bucket, write))
        self._jobs.append(Job(bucket, persist.ticket, writes, length))
        self._handed[bucket] = persist.ticket

    def _fetch(self, bucket: int, fetch: Fetch) -> None:
        def found(start: int, batches: list[Batch]) -> None:
            self.happen(bucket, Fetched(fetch.to, fetch.term, fetch.offset, start, batches))

        self._jobs.append(Search(bucket, fetch.offset, fetch.bytes_max, found))

    def _say(self, asker: Asker, called: int, outcome: Outcome) -> None:
        asker.answer(called, outcome)
        if not asker.waiting:
            asker.waiting = True
            self._answering.append(asker)

    def _press(self, bucket: int, *, high: bool) -> None:
        """While a bucket has too much waiting, nothing is taken from clients: it waits on their side."""
        if high:
            self._pressed.add(bucket)
        else:
            self._pressed.discard(bucket)
        for asker in self._askers:
            asker.press(pressed=bool(self._pressed))


def _now_us() -> int:
    return time.monotonic_ns() // 1000
