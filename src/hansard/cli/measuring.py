"""What `hansard bench` does: clients that keep a number of submissions under way, and what came of it."""

import asyncio
import sys
import time
from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack, nullcontext
from math import log2
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import uvloop

from hansard.client import AsyncClient
from hansard.client.errors import ClientError

from .output import json_line, size_text, write_lines
from .reach import Reach

if TYPE_CHECKING:
    from rich.console import RenderableType

PERCENTILES: Final = (50, 90, 99, 99.9, 100)
LOOK_S: Final = 0.25
BAR_WIDTH: Final = 40
TAG: Final = "hansard:bench"
PAUSE_S: Final = 0.05
"""After an error, before the next attempt."""


class Load(NamedTuple):
    seconds: float
    size: int
    batch: int
    window: int
    clients: int
    keys: int


class Tally:
    """What has come of it so far."""

    def __init__(self) -> None:
        self.latencies_s = array("d")
        """Of each submission."""
        self.changes = 0
        self.errors: Counter[str] = Counter()
        self.began_s = time.perf_counter()
        self.took_s = 0.0

    @property
    def rate(self) -> float:
        took_s = self.took_s or time.perf_counter() - self.began_s
        return self.changes / took_s if took_s else 0.0

    def percentiles_ms(self) -> dict[str, float]:
        if not self.latencies_s:
            return {}
        found = np.percentile(np.frombuffer(self.latencies_s), PERCENTILES) * 1000
        names = ["max" if each == 100 else f"p{each:g}" for each in PERCENTILES]
        return {name: round(float(value), 3) for name, value in zip(names, found, strict=True)}


def bench(where: Reach, load: Load, *, as_json: bool) -> None:
    tally = uvloop.run(_measure(where, load, shown=not as_json and sys.stdout.isatty()))
    write_lines([json_line(_json(load, tally))] if as_json else _lines(load, tally))


async def _measure(where: Reach, load: Load, *, shown: bool) -> Tally:
    from rich.live import Live  # noqa: PLC0415

    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(
                await AsyncClient.connect(where.addresses, token=where.token, tls=where.tls)
            )
            for _ in range(load.clients)
        ]
        tally, random = Tally(), Random()
        value = random.randbytes(load.size)
        end_s = tally.began_s + load.seconds
        work = [_submit(client, load, value, tally, end_s) for client in clients for _ in range(load.window)]
        working = asyncio.gather(*work)
        with Live(auto_refresh=False) if shown else nullcontext() as live:
            while not working.done():
                await asyncio.wait([working], timeout=LOOK_S)
                if live is not None:
                    live.update(_progress(load, tally), refresh=True)
        await working
        tally.took_s = time.perf_counter() - tally.began_s
    return tally


async def _submit(client: AsyncClient, load: Load, value: bytes, tally: Tally, end_s: float) -> None:
    """One submission after the other."""
    random, count = Random(), load.batch
    values, tags = [value] * count, [[TAG]] * count
    while (began_s := time.perf_counter()) < end_s:
        keys = [b"bench/%d" % random.randrange(load.keys) for _ in range(count)]
        try:
            if count == 1:
                await client.submit(keys[0], value, tags[0])
            else:
                await client.submit_many(keys, values, tags)
        except ClientError as error:
            tally.errors[type(error).__name__] += 1
            await asyncio.sleep(PAUSE_S)
            continue
        tally.latencies_s.append(time.perf_counter() - began_s)
        tally.changes += count


def _progress(load: Load, tally: Tally) -> "RenderableType":
    elapsed_s = min(load.seconds, time.perf_counter() - tally.began_s)
    return f"{elapsed_s:4.1f} of {load.seconds:g} s   {tally.rate:>12,.0f} changes/s   {tally.changes:,} stored"


def _json(load: Load, tally: Tally) -> dict[str, Any]:
    return {
        **load._asdict(),
        "seconds": round(tally.took_s, 3),
        "changes": tally.changes,
        "changes_per_s": round(tally.rate, 1),
        "latency_ms": tally.percentiles_ms(),
        "errors": dict(tally.errors),
    }


def _lines(load: Load, tally: Tally) -> Iterator[str]:
    bytes_per_s = size_text(int(tally.rate * load.size))
    rate = f"{tally.rate:,.0f}/s, {bytes_per_s}/s"
    yield f"{tally.changes:,} changes of {load.size} bytes in {tally.took_s:.1f} s: {rate}"
    clients = "1 client" if load.clients == 1 else f"{load.clients} clients"
    shape = f"{clients}, {load.window} submissions of {load.batch} under way for each"
    yield f"latency of a submission ({shape}):"
    yield "  " + "   ".join(f"{name} {value:.2f} ms" for name, value in tally.percentiles_ms().items())
    yield from histogram(tally)
    for name, count in tally.errors.most_common():
        yield f"failed: {count:,} with {name}"


def histogram(tally: Tally) -> Iterator[str]:
    """By powers of two of a millisecond."""
    counts = Counter(max(-4, int(np.floor(log2(max(latency_s, 1e-9) * 1000)))) for latency_s in tally.latencies_s)
    most = max(counts.values(), default=0)
    for power in range(min(counts, default=0), max(counts, default=-1) + 1):
        bar = "█" * round(BAR_WIDTH * counts[power] / most)
        yield f"  {2.0**power:>9g} ms  {bar:{BAR_WIDTH}}  {counts[power]:,}"
