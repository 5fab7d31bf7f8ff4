"""How long a bucket is without receipts when its leader is killed, at default settings, and what others notice of it.

Five participants, each a process, have 16 buckets in three copies each. A client submits to each bucket, one change at
a time, through a participant that lives. Then one that leads is killed (-9), and started again when all is well: 50
times. Of each bucket that it led, the time from the kill to the next receipt counts; of those of which it was a member
only, the same; of those of which it had nothing, how long each change took until all the others had theirs.

    python -m bench.failover                everything, in some minutes
    python -m bench.failover --kills 5
"""

import asyncio
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from itertools import count, cycle
from time import perf_counter
from typing import Any, Final

import uvloop

from bench.caller import Caller
from bench.cluster import Cluster
from bench.processes import Children, ended_by_signal
from bench.stores import directory
from bench.table import NO_TARGET, Row, show
from hansard.batch import Batch, build
from hansard.batch.keyhash import bucket_of, key_hash
from hansard.wire import submission

NAMES: Final = "abcde"
BUCKETS: Final = 16
COPIES: Final = 3
KILLS: Final = 50
TOUCHED_MOST_MS: Final = 1_000.0
"""A departure stops the buckets that it touches for less than a second."""
VALUE: Final = "v" * 256
CALM_S: Final = 0.3
PATIENCE_S: Final = 30.0


class Probe:
    """One bucket's client: one stream, one change at a time, for as long as it is asked to."""

    def __init__(self, bucket: int) -> None:
        self.bucket = bucket
        self.caller: Caller | None = None
        self.receipts: list[tuple[float, float]] = []
        """Of each change when it was submitted, and when that was answered."""
        self._stored = asyncio.Event()
        self._connection = 0
        self._series = 0

    async def run(self) -> None:
        key = next(key for key in map(str, count()) if bucket_of(key_hash(key.encode()), BUCKETS) == self.bucket)
        body = build([key], [VALUE])
        while True:
            caller = self.caller
            assert caller is not None
            if not self._connection:
                self._connection = await caller.connect()
            began_s = perf_counter()
            await self._store(body)
            self.receipts.append((began_s, perf_counter()))
            self._stored.set()
            self._stored.clear()

    async def stored_since(self, then_s: float) -> None:
        """Until something is that was submitted after this moment."""
        while not self.receipts or self.receipts[-1][0] < then_s:
            await self._stored.wait()

    async def _store(self, body: Batch) -> None:
        """Until it is: what has no answer is submitted again, and counts once by its series."""
        header = body.header._replace(
            connection=self._connection, first_series=self._series, previous_series=self._series - 1
        )
        batch = Batch(header, header.packed(), body.body)
        while True:
            assert self.caller is not None
            answer = await self.caller.submit(self.bucket, batch, BUCKETS, int(PATIENCE_S * 1e6))
            if isinstance(answer, submission.Stored | submission.Repeated):
                self._series += 1
                return
            assert not isinstance(answer, submission.Invalid), answer
            await asyncio.sleep(0.001)


class Failover:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._probes = [Probe(bucket) for bucket in range(BUCKETS)]
        self.led: list[float] = []
        self.followed: list[float] = []
        self.untouched: list[float] = []
        self.calm: list[float] = []

    async def run(self, kills: int) -> None:
        victims = cycle(NAMES)
        for number in range(kills):
            victim = next(victims)
            witness = NAMES[(NAMES.index(victim) + 1) % len(NAMES)]
            await self._kill(victim, witness)
            sys.stderr.write(f"\r{number + 1} of {kills} kills ")
            sys.stderr.flush()
        sys.stderr.write("\n")

    async def _kill(self, victim: str, witness: str) -> None:
        table = await self._cluster.settled(witness, COPIES)
        async with await Caller.dial(self._cluster.ports[witness]) as caller, asyncio.TaskGroup() as group:
            for probe in self._probes:
                probe.caller = caller
                probe.receipts.clear()
            tasks = [group.create_task(probe.run()) for probe in self._probes]
            await asyncio.sleep(CALM_S)
            self._cluster.kill(victim)
            killed_s = perf_counter()
            await self._measure(table["buckets"], victim, killed_s)
            for task in tasks:
                task.cancel()
        self._cluster.start(victim)

    async def _measure(self, records: Sequence[Any], victim: str, killed_s: float) -> None:
        async with asyncio.timeout(PATIENCE_S):
            for probe in self._probes:
                await probe.stored_since(killed_s)
        for probe, record in zip(self._probes, records, strict=True):
            first_s = next(at for _, at in probe.receipts if at > killed_s)
            self.calm += [1e3 * (at - began) for began, at in probe.receipts if at <= killed_s]
            if record["leader"] == victim:
                self.led.append(1e3 * (first_s - killed_s))
            elif victim in record["full"]:
                self.followed.append(1e3 * (first_s - killed_s))
            else:
                self.untouched += [1e3 * (at - began) for began, at in probe.receipts if at > killed_s]


def _figures(times_ms: Sequence[float]) -> str:
    ordered = sorted(times_ms)
    if not ordered:
        return "none"
    p50, p99 = ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100]
    return f"p50 {p50:,.1f} ms, p99 {p99:,.1f} ms, max {ordered[-1]:,.1f} ms ({len(ordered):,})"


def measure(kills: int = KILLS) -> list[Row]:
    with ended_by_signal(), directory() as folder, Children(folder / "logs") as children:
        cluster = Cluster(children, folder, "failover", NAMES, buckets=BUCKETS)
        cluster.start(*NAMES)
        failover = Failover(cluster)
        uvloop.run(failover.run(kills))
    touched = max([*failover.led, *failover.followed])
    kept = f"< {TOUCHED_MOST_MS:,.0f} ms"
    return [
        Row("kill -9 to the first receipt: buckets that it led", _figures(failover.led), NO_TARGET, ok=True),
        Row("the same: buckets of which it was a member", _figures(failover.followed), NO_TARGET, ok=True),
        Row("longest of both", f"{touched:,.0f} ms", kept, touched < TOUCHED_MOST_MS),
        Row("a change of any other bucket meanwhile", _figures(failover.untouched), NO_TARGET, ok=True),
        Row("a change before the kill", _figures(failover.calm), NO_TARGET, ok=True),
    ]


def main() -> int:
    parser = ArgumentParser("python -m bench.failover", description=__doc__)
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.add_argument("--kills", type=int, default=KILLS, help=f"default {KILLS}")
    rows = measure(parser.parse_args().kills)
    show(rows)
    return 0 if all(row.ok for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
