"""What replication itself costs: three phasers on one core, joined in memory, with disks that sync at once.

Each of 64 clients has one submission outstanding. Whatever has come for a participant is handled in one turn, as a
shell does. Nothing per change may happen on the way of a batch, so the figures must not depend on how many it has.
`python -m bench.phaser star 1 9000` shows where the time goes, for single changes of so many bytes.
"""

import sys
from collections.abc import Mapping, Sequence
from cProfile import Profile
from pstats import Stats
from time import process_time
from typing import Final

from bench.table import NO_TARGET, Row, show
from hansard.batch import Batch, build
from hansard.phaser import Phaser, Recovered, Settings
from hansard.phaser.desk import MERGED_BYTES_MAX
from hansard.phaser.effect import Answer, Persist, Report, Send
from hansard.phaser.event import Accepted, Appointed, Event, Persisted, Received, Submit
from hansard.phaser.government import Government, NodeId, Shape
from hansard.phaser.outcome import Stored

MEMBERS: Final[tuple[NodeId, ...]] = ("a", "b", "c")
OUTSTANDING: Final = 64
SUBMISSIONS: Final = 6400
RUNS: Final = 7
TARGET: Final = 10_000
FAR_US: Final = 1 << 60
SETTINGS: Final = Settings(flight_bytes_max=1 << 30, tail_bytes_max=1 << 30)


class Trio:
    def __init__(self, shape: Shape) -> None:
        self.phasers = {node: Phaser(node, 0, SETTINGS, Recovered()) for node in MEMBERS}
        self.inboxes: dict[NodeId, list[Event]] = {node: [] for node in MEMBERS}
        for node in MEMBERS:
            self.inboxes[node].append(Appointed(Government(1, "a", MEMBERS, shape=shape)))
        self.run([])

    def run(self, waiting: list[Submit]) -> int:
        """Until nothing happens any more; each answer lets the next submission come. Says how many were stored."""
        phasers, inboxes = self.phasers, self.inboxes
        stored = 0
        while any(inboxes.values()):
            for node in MEMBERS:
                events = inboxes[node]
                if not events:
                    continue
                inbox: list[Event] = []
                inboxes[node] = inbox
                for effect in phasers[node].turn(events, 0, 1):
                    match effect:
                        case Send():
                            inboxes[effect.to].append(Received(node, effect.message))
                        case Persist():
                            inbox.append(Persisted(effect.ticket))
                        case Answer():
                            assert isinstance(effect.outcome, Stored)
                            stored += 1
                            if waiting:
                                inbox.append(waiting.pop())
                        case Report():
                            inbox.append(Accepted(effect.achievement, effect.epoch))
                        case _:
                            pass
        return stored

    def submit(self, submissions: Sequence[Submit]) -> float:
        """Seconds for all of them."""
        waiting = list(reversed(submissions))
        self.inboxes["a"] += [waiting.pop() for _ in range(OUTSTANDING)]
        begun = process_time()
        stored = self.run(waiting)
        seconds = process_time() - begun
        assert stored == len(submissions)
        return seconds


def batches(changes: int, value_bytes: int) -> list[Submit]:
    """Those of 64 clients in turn, each with the series that follow; all on the same body."""
    body = build([b"%d" % number for number in range(changes)], [bytes(value_bytes)] * changes, connection=1)
    submissions = []
    for number in range(SUBMISSIONS):
        turn, client = divmod(number, OUTSTANDING)
        header = body.header._replace(
            connection=client + 1, first_series=turn * changes, previous_series=turn * changes - 1
        )
        submissions.append(Submit(number, Batch(header, header.packed(), body.body), FAR_US))
    return submissions


def rates(shape: Shape, sizes: Mapping[int, Sequence[Submit]]) -> dict[int, float]:
    """Submissions a second for each of these, in the best of some runs; by turns, so that all have the same chances."""
    seconds = dict.fromkeys(sizes, float("inf"))
    for _ in range(RUNS):
        for changes, submissions in sizes.items():
            seconds[changes] = min(seconds[changes], Trio(shape).submit(submissions))
    return {changes: SUBMISSIONS / best for changes, best in seconds.items()}


def measure() -> list[Row]:
    sizes = {1: batches(1, 9000), 100: batches(100, 90), 10_000: batches(10_000, 8)}
    small = batches(1, 100)
    assert small[0].batch.length < MERGED_BYTES_MAX < min(each[0].batch.length for each in sizes.values())
    rows = []
    for shape in Shape:
        found = rates(shape, sizes)
        for changes, figure in found.items():
            claim = f"{shape}: batches of {changes:,}, each on its own"
            rows.append(Row(claim, f"{figure:,.0f} /s", f"{TARGET:,} /s", figure >= TARGET))
        ratio = max(found.values()) / min(found.values())
        rows.append(Row(f"{shape}: slowest and fastest of these", f"{ratio:.2f} times", "1.5 times", ratio < 1.5))
        merged = rates(shape, {1: small})[1]
        rows.append(Row(f"{shape}: single changes, merged", f"{merged:,.0f} /s", NO_TARGET, ok=True))
    return rows


def profile(shape: Shape, changes: int, value_bytes: int) -> None:
    trio, submissions, profiler = Trio(shape), batches(changes, value_bytes), Profile()
    profiler.runcall(trio.submit, submissions)
    Stats(profiler).sort_stats("tottime").print_stats(35)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        profile(Shape(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    else:
        show(measure())
