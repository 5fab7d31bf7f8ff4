"""Streams against a model that remembers everything and works out each answer from the beginning."""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hansard.batch import build, merge
from hansard.phaser.outcome import Receipt
from hansard.phaser.soundness import check_streams
from hansard.phaser.streams import Early, Forgotten, Fresh, Known, Streams, Verdict

MEMORY_US = 100
CONNECTIONS = range(1, 6)


@dataclass(frozen=True)
class Stored:
    """One submission of one connection, as it lies in the log."""

    connection: int
    series: tuple[int, ...]
    offset: int
    timestamp: int


@dataclass
class Model:
    log: list[list[Stored]] = field(default_factory=list)
    """For each batch."""
    ends: list[int] = field(default_factory=list)
    committed: int = 0
    """Batches."""

    def settled(self) -> tuple[dict[int, list[Stored]], int]:
        known: dict[int, list[Stored]] = {}
        forgotten = 0
        for stored in [stored for batch in self.log[: self.committed] for stored in batch]:
            known.setdefault(stored.connection, []).append(stored)
            old = [c for c, all_of_it in known.items() if all_of_it[-1].timestamp < stored.timestamp - MEMORY_US]
            forgotten = max([forgotten, *old])
            known = {c: all_of_it for c, all_of_it in known.items() if c not in old}
        return known, forgotten

    def judge(self, connection: int, series: tuple[int, ...], previous: int) -> Verdict:
        settled, forgotten = self.settled()
        pending = [s for batch in self.log[self.committed :] for s in batch if s.connection == connection]
        mine = [*settled.get(connection, []), *pending]
        if not mine and connection <= forgotten:
            return Forgotten()
        last = mine[-1].series[-1] if mine else -1
        if previous > last:
            return Early(last)
        if series[-1] > last:
            return Fresh(last if series[0] <= last else -1)
        waits_for = [stored.offset + 1 for stored in pending if stored.series[0] <= series[-1]]
        whole = [stored for stored in mine if stored.series[0] <= series[0] and series[-1] <= stored.series[-1]]
        receipt = self._receipt(whole[0], series[0]) if whole else None
        return Known(max(waits_for, default=0), receipt)

    def _receipt(self, stored: Stored, first: int) -> Receipt | None:
        contiguous = stored.series[-1] - stored.series[0] + 1 == len(stored.series)
        if first == stored.series[0] or contiguous:
            return Receipt(stored.offset + first - stored.series[0], stored.timestamp)
        return None


class StreamsMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.streams = Streams(MEMORY_US)
        self.model = Model()
        self.end = 0
        self.time = 0

    @rule(
        connections=st.lists(st.sampled_from(CONNECTIONS), min_size=1, max_size=3, unique=True),
        steps=st.lists(st.integers(1, 3), min_size=1, max_size=3),
        passed=st.sampled_from([0, 1, 30, 60, 150]),
    )
    def append(self, connections: list[int], steps: list[int], passed: int) -> None:
        """What a leader does with fresh submissions: one batch of them all."""
        self.time += passed
        parts, entry, offset = [], [], self.end
        for connection in connections:
            last = self.streams.last(connection)
            base = -1 if last is None else last
            series = tuple([base + sum(steps[: number + 1]) for number in range(len(steps))])
            keys = [b"k"] * len(series)
            parts.append(build(keys, keys, connection=connection, series=series, previous_series=base))
            entry.append(Stored(connection, series, offset, self.time))
            offset += len(series)
        self.streams.append(merge(parts).stamped(epoch=1, base_offset=self.end, timestamp=self.time))
        self.model.log.append(entry)
        self.model.ends.append(offset)
        self.end = offset

    @precondition(lambda self: self.model.committed < len(self.model.log))
    @rule(share=st.floats(0, 1))
    def commit(self, share: float) -> None:
        uncommitted = len(self.model.log) - self.model.committed
        self.model.committed += max(1, int(share * uncommitted))
        self.streams.commit(self.model.ends[self.model.committed - 1])

    @precondition(lambda self: self.model.committed < len(self.model.log))
    @rule(share=st.floats(0, 1))
    def cut(self, share: float) -> None:
        keep = self.model.committed + int(share * (len(self.model.log) - self.model.committed))
        del self.model.log[keep:], self.model.ends[keep:]
        self.end = self.model.ends[-1] if self.model.ends else 0
        self.streams.cut(self.end)

    @precondition(lambda self: self.model.committed == len(self.model.log))
    @rule()
    def hand_to_another_copy(self) -> None:
        image = self.streams.image()
        self.streams = Streams(MEMORY_US)
        self.streams.restore(image)

    @rule(
        connection=st.sampled_from(CONNECTIONS),
        first=st.integers(0, 12),
        count=st.integers(1, 4),
        previous=st.integers(-1, 12),
    )
    def judge(self, connection: int, first: int, count: int, previous: int) -> None:
        series = tuple(range(first, first + count))
        verdict = self.streams.judge(connection, first, series[-1], previous)
        expected = self.model.judge(connection, series, previous)
        if isinstance(expected, Known) and isinstance(verdict, Known):
            assert verdict.end >= expected.end, "answered before its first copy is committed"
            assert verdict.receipt in (None, expected.receipt)
        else:
            assert verdict == expected

    @invariant()
    def the_same_is_settled(self) -> None:
        check_streams(self.streams)
        settled, forgotten = self.model.settled()
        assert self.streams.forgotten == forgotten
        assert {c: stream.last for c, stream in self.streams.settled.items()} == {
            c: stored[-1].series[-1] for c, stored in settled.items()
        }


TestStreams = StreamsMachine.TestCase
TestStreams.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
