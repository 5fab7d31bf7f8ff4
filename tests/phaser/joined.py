"""Real phasers joined in memory, each with a small fake disk, and their invariants checked after every turn.

Nothing happens by itself but what follows from what a test makes happen: messages arrive unless `lose` says otherwise,
disks sync unless they are `stalled`, reports are accepted unless `accepting` is false.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from hansard.application import Application
from hansard.batch import Batch, build
from hansard.phaser import Phaser, Recovered, Settings
from hansard.phaser.effect import Answer, AnswerRead, Effect, Fetch, Persist, Report, Send, Write
from hansard.phaser.event import Accepted, Appointed, Event, Fetched, Persisted, Received, Submit, Tick
from hansard.phaser.government import Government, NodeId
from hansard.phaser.invariants import check_state, check_step, summary
from hansard.phaser.message import Message
from hansard.phaser.outcome import Outcome, ReadOutcome
from hansard.phaser.recovered import replay_from
from sim.world.vault import Image

Kind = TypeVar("Kind", bound=Message)
FAR = 1 << 60
"""A deadline that is never reached."""


class Disk:
    """Writes are readable at once and synced later; a crash leaves any prefix of those that were not."""

    def __init__(self) -> None:
        self.synced = Image()
        self.current = Image()
        self.under_way: deque[tuple[int, Write]] = deque()

    def write(self, persist: Persist) -> None:
        for write in persist.writes:
            self.current.apply(write)
            self.under_way.append((persist.ticket, write))

    def sync(self, ticket: int) -> None:
        while self.under_way and self.under_way[0][0] <= ticket:
            self.synced.apply(self.under_way.popleft()[1])

    def crash(self, kept: int) -> None:
        """That many of the writes that were under way are there all the same."""
        for _, write in list(self.under_way)[:kept]:
            self.synced.apply(write)
        self.under_way.clear()
        self.current = self.synced.copy()

    def copy(self) -> "Disk":
        other = Disk()
        other.synced, other.current = self.synced.copy(), self.current.copy()
        other.under_way = self.under_way.copy()
        return other

    def trim(self, offset: int) -> int:
        """Retention, where nothing is under way."""
        assert not self.under_way
        self.synced.trim(offset)
        return self.current.trim(offset)

    @property
    def log(self) -> list[Batch]:
        return self.current.batches

    def recovered(self, applications: Iterable[str] = ()) -> Recovered:
        image = self.current
        replay = replay_from(image.documents, list(applications))
        return Recovered(
            note=image.note,
            documents=image.documents.copy(),
            start=image.start,
            end=image.end,
            timestamp=image.batches[-1].header.last_timestamp if image.batches else 0,
            batches=[batch for batch in image.batches if batch.header.base_offset >= replay],
        )

    def fetch(self, offset: int, bytes_max: int) -> list[Batch]:
        found: list[Batch] = []
        for batch in [batch for batch in self.log if batch.header.base_offset >= offset]:
            found.append(batch)
            bytes_max -= batch.length
            if bytes_max <= 0:
                break
        return found


class Joined:
    def __init__(
        self,
        nodes: Iterable[NodeId],
        settings: Settings | None = None,
        bucket: int = 0,
        *,
        buckets: int = 1,
        applications: Callable[[], Sequence[Application]] = tuple,
    ) -> None:
        self.settings = settings or Settings()
        self.bucket = bucket
        self.buckets = buckets
        self.applications = applications
        """Makes those of a participant that starts."""
        self.now_us = 0
        self.wall_us = 1
        self.disks: dict[NodeId, Disk] = {}
        self.phasers: dict[NodeId, Phaser] = {}
        self.inbox: dict[NodeId, list[Event]] = {}
        self.lose: Callable[[NodeId, NodeId, Message], bool] = lambda sender, to, message: False
        self.stalled: set[NodeId] = set()
        self.slow: set[NodeId] = set()
        """Those who get no answer to a Fetch."""
        self.accepting = True
        self.sent: list[tuple[NodeId, NodeId, Message]] = []
        self.effects: dict[NodeId, list[Effect]] = {}
        self.answers: dict[int, Outcome] = {}
        self.reads: dict[int, ReadOutcome] = {}
        self.reports: list[tuple[NodeId, Report]] = []
        for node in nodes:
            self.add(node)

    # Participants.

    def add(self, node: NodeId, disk: Disk | None = None) -> Phaser:
        self.disks[node] = disk or Disk()
        self.effects[node] = []
        return self.restart(node)

    def crash(self, node: NodeId, kept: int = 0) -> None:
        del self.phasers[node]
        self.inbox[node] = []
        self.disks[node].crash(kept)

    def restart(self, node: NodeId) -> Phaser:
        """From what can be read from its disk."""
        self.disks[node].under_way.clear()
        self.inbox[node] = []
        attached = self.applications()
        recovered = self.disks[node].recovered([application.name for application in attached])
        self.phasers[node] = Phaser(
            node, self.bucket, self.settings, recovered, buckets=self.buckets, applications=attached
        )
        return self.phasers[node]

    def appoint(self, government: Government, *nodes: NodeId) -> None:
        """All of them hear of it, or some."""
        for node in nodes or tuple(self.phasers):
            self.inbox[node].append(Appointed(government))
        self.run()

    # What happens.

    def happen(self, node: NodeId, *events: Event) -> list[Effect]:
        """All of these in one turn, and then whatever follows. Says what came of the turn itself."""
        assert not self.inbox[node]
        effects = self._turn(node, list(events))
        self.run()
        return effects

    def run(self) -> None:
        """Until nothing happens any more."""
        while busy := [node for node in self.phasers if self.inbox[node]]:
            for node in busy:
                events, self.inbox[node] = self.inbox[node], []
                self._turn(node, events)

    def tick(self, seconds: float = 1) -> None:
        self.now_us += int(seconds * 1_000_000)
        for node in self.phasers:
            self.inbox[node].append(Tick())
        self.run()

    def sync(self, node: NodeId) -> None:
        """What is under way to the disk is there, though it may be stalled again with what follows."""
        tickets = [ticket for ticket, _ in self.disks[node].under_way]
        if tickets:
            self.disks[node].sync(tickets[-1])
            self.inbox[node].append(Persisted(tickets[-1]))
        self.run()

    def resume(self, node: NodeId) -> None:
        """Its disk is stalled no longer."""
        self.stalled.discard(node)
        self.sync(node)

    def _turn(self, node: NodeId, events: list[Event]) -> list[Effect]:
        phaser = self.phasers[node]
        before = summary(phaser)
        effects = phaser.turn(events, self.now_us, self.wall_us)
        check_state(phaser)
        check_step(before, summary(phaser))
        self.effects[node] += effects
        for effect in effects:
            self._carry_out(node, effect)
        return effects

    def _carry_out(self, node: NodeId, effect: Effect) -> None:
        inbox, disk = self.inbox[node], self.disks[node]
        match effect:
            case Persist():
                disk.write(effect)
                if node not in self.stalled:
                    disk.sync(effect.ticket)
                    inbox.append(Persisted(effect.ticket))
            case Send():
                self.sent.append((node, effect.to, effect.message))
                if effect.to in self.phasers and not self.lose(node, effect.to, effect.message):
                    self.inbox[effect.to].append(Received(node, effect.message))
            case Report():
                self.reports.append((node, effect))
                if self.accepting:
                    inbox.append(Accepted(effect.achievement, effect.epoch))
            case Answer():
                assert effect.id not in self.answers, "a submission is answered once"
                self.answers[effect.id] = effect.outcome
            case AnswerRead():
                assert effect.id not in self.reads, "a read is answered once"
                self.reads[effect.id] = effect.outcome
            case Fetch() if node not in self.slow:
                found = disk.fetch(effect.offset, effect.bytes_max)
                inbox.append(Fetched(effect.to, effect.term, effect.offset, disk.current.start, found))
            case _:
                pass

    # What was said.

    def messages(self, kind: type[Kind], sender: NodeId = "", to: NodeId = "") -> list[Kind]:
        found = [m for s, t, m in self.sent if sender in ("", s) and to in ("", t)]
        return [message for message in found if isinstance(message, kind)]


def batch(series: int, connection: int = 7, value: bytes = b"v", count: int = 1, previous: int | None = None) -> Batch:
    """What a client submits: `count` changes, after its series `previous`, or the one before the first."""
    before = series - 1 if previous is None else previous
    keys = [b"k%d" % number for number in range(count)]
    return build(keys, [value] * count, connection=connection, first_series=series, previous_series=before)


def submit(number: int, series: int, connection: int = 7, count: int = 1, previous: int | None = None) -> Submit:
    return Submit(number, batch(series, connection, count=count, previous=previous), FAR)


def series_of(log: Iterable[Batch], connection: int = 7) -> list[int]:
    """Of one connection, in the order of the log."""
    changes = [change for batch in log for change in batch.changes()]
    return [change.series for change in changes if change.connection == connection]


def formed(
    government: Government,
    settings: Settings | None = None,
    applications: Callable[[], Sequence[Application]] = tuple,
) -> Joined:
    """A government that is open, with all of its newcomers."""
    joined = Joined((*government.members, *government.newcomers), settings, applications=applications)
    joined.appoint(government)
    return joined
