"""The life of an atomic log on a store, drawn from a seed, and beside it what must be on disk after each write."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple, assert_never

from hansard.consensus.cluster import ClusterId, Peer
from hansard.consensus.content import Arrive, Begin, Council, Depart, Entry, Proposal
from hansard.consensus.disk import recovered, translated
from hansard.consensus.effect import Cut, Discard, Keep, Note, Put, Reset, Trim, Write
from hansard.consensus.recovered import STATE, NoteContent, Recovered, State, encode
from hansard.storage.identity import Identity
from hansard.storage.settings import StoreSettings
from hansard.storage.store import Store, open_store
from sim.disk import SimDisk

BUCKET = 0
IDENTITY = Identity("atomic", node_id="a")
TINY = StoreSettings(
    journal_file_bytes=2 << 10,
    unfiled_bytes_max=6 << 10,
    unfiled_records_max=16,
    segment_bytes=1 << 10,
    block_bytes=512,
)
CLUSTER = ClusterId("a cluster")
A = Peer("a", 11)


def open_tiny(disk: SimDisk, *, create: bool = False) -> Store:
    return open_store(disk, create=IDENTITY if create else None, expect=IDENTITY, settings=TINY)


def write(store: Store, *writes: Write) -> None:
    store.write([each for one in writes for each in translated(BUCKET, one)])


def arrival(peer: Peer) -> Arrive:
    return Arrive(peer=peer, address=f"{peer.node}:1", session=1, origin=peer.life)


def proposal(number: int, size: int = 20) -> Proposal:
    return Proposal(A, 1, number, bytes(size))


class Held(NamedTuple):
    """What is on disk; of what is before `needed` there may be less."""

    base: int = 0
    needed: int = 0
    entries: tuple[Entry, ...] = ()
    note: bytes = b""
    documents: tuple[tuple[str, bytes], ...] = ()

    @property
    def end(self) -> int:
        return self.base + len(self.entries)

    def is_in(self, found: Recovered) -> bool:
        if not self.base <= found.start <= self.needed:
            return False
        there = (tuple(found.entries), found.note, tuple(sorted(found.documents.items())))
        return there == (self.entries[found.start - self.base :], self.note, self.documents)


def after(held: Held, write: Write) -> list[Held]:
    """What a write leaves, step by step: the entries that are put come one by one."""
    match write:
        case Put():
            assert write.start == held.end
            counts = range(1, len(write.entries) + 1)
            return [held._replace(entries=held.entries + write.entries[:count]) for count in counts]
        case Cut():
            assert held.needed <= write.end <= held.end
            return [held._replace(entries=held.entries[: write.end - held.base])]
        case Reset():
            return [held._replace(base=write.start, needed=write.start, entries=())]
        case Trim():
            return [held._replace(needed=write.start)]
        case Note():
            return [held._replace(note=write.content)]
        case Keep():
            kept = {**dict(held.documents), write.name: write.content}
            return [held._replace(documents=tuple(sorted(kept.items())))]
        case Discard():
            return [held._replace(documents=tuple(each for each in held.documents if each[0] != write.name))]
        case _:
            assert_never(write)


class Moment(NamedTuple):
    begun: int
    acknowledged: int | None
    held: Held


class Life:
    """What a core writes, more or less: puts, cuts of what was not committed, states, trims, resets."""

    def __init__(self, seed: object) -> None:
        self._random = Random(f"atomic log {seed}")
        self.disk = SimDisk()
        self.store = open_tiny(self.disk, create=True)
        self.moments = [Moment(0, self.disk.operation_count, Held())]
        self._term = 0
        self._committed = 0
        self.counts = dict.fromkeys(("cuts inside a put", "segments dropped", "resets", "restarts"), 0)

    @property
    def held(self) -> Held:
        return self.moments[-1].held

    def live(self, steps: int) -> None:
        choices = [self._put] * 20 + [self._note] * 2 + [self._cut] * 5 + [self._compact] * 6
        choices += [self._file, self._install, self._restart, self._restart]
        for _ in range(steps):
            self._random.choice(choices)()

    def _write(self, writes: Sequence[Write]) -> None:
        begun = self.disk.operation_count
        held = self.held
        for one in writes:
            steps = after(held, one)
            self.moments += [Moment(begun, None, step) for step in steps]
            held = steps[-1]
        write(self.store, *writes)
        self.moments.append(Moment(begun, self.disk.operation_count, held))

    def _put(self) -> None:
        entries: list[Entry] = []
        for number in range(self._random.choice((1, 1, 2, 5))):
            if self._random.random() < 0.2:
                self._term += 1
            contents = (Begin(), Council((A,)), Depart(A), proposal(number, self._random.choice((0, 30, 200))))
            entries.append(Entry(self._term, self._random.choice(contents)))
        self._last_put = (self.held.end, self.held.end + len(entries))
        self._write([Put(self.held.end, tuple(entries))])

    def _note(self) -> None:
        self._write([self._noted()])

    def _noted(self) -> Note:
        self._term += self._random.randrange(2)
        return Note(encode(NoteContent(CLUSTER, A.life, session=self._random.randrange(99), term=self._term)))

    def _cut(self) -> None:
        """And something else instead, at once."""
        end = self._random.randint(max(self._committed, self.held.end - 6), self.held.end)
        first, stop = getattr(self, "_last_put", (0, 0))
        self.counts["cuts inside a put"] += first < end < stop
        self._term += 1
        self._write([self._noted(), Cut(end), Put(end, (Entry(self._term, Begin()),))])

    def _compact(self) -> None:
        self._committed = self._random.randint(self._committed, self.held.end)
        if self._committed == self.held.base:
            return
        start = self._random.randint(self.held.needed, self._committed)
        before, _ = self.store.bounds(BUCKET)
        self._write([self._state(self._committed), Trim(start)])
        now, _ = self.store.bounds(BUCKET)
        assert before <= now <= start
        self.counts["segments dropped"] += now > before

    def _state(self, end: int) -> Keep:
        return Keep(STATE, encode(State(end, 0, (A,), image=self._random.randbytes(50))))

    def _install(self) -> None:
        """A state from elsewhere, in parts; the log begins after it."""
        end = self.held.end + self._random.randrange(20)
        self._write([Keep("part-0", b"one"), self._noted()])
        self._write([self._state(end), Reset(end), Discard("part-0"), self._noted()])
        self._committed = end
        self.counts["resets"] += 1

    def _file(self) -> None:
        self.store.file()

    def _restart(self) -> None:
        self.store.close()
        self.store = open_tiny(self.disk)
        assert self.held.is_in(recovered(self.store, BUCKET))
        self.counts["restarts"] += 1

    def possible(self, at: int) -> list[Held]:
        """What a crash just after operation `at` may leave: the last acknowledged moment, or one begun since."""
        acknowledged = [place for place, moment in enumerate(self.moments) if (moment.acknowledged or at + 1) <= at]
        last = acknowledged[-1]
        later = [moment.held for moment in self.moments[last + 1 :] if moment.begun < at]
        return [self.moments[last].held, *later]
