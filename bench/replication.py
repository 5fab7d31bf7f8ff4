"""Replication over real sockets and disks: three participants, each a process, and a client, all on this machine.

A submission is answered when all three have synced it. Beside ours, in the same run and by turns, stand the sketch (see
sketch.py), the least that our own formats take (lean.py), the limits of disk and loopback, and, where they are
installed, etcd and NATS with three replicas that sync before they acknowledge. All is on loopback and in one temporary
directory, so on one disk. Values have 256 bytes.

Ours is there twice: as the skeleton, whose government comes from its command line, and as `hansard start`, a whole
cluster with one bucket. Each is measured in two ways: with a crowd of streams on one connection, each submission a
frame and a batch of its own (streams.py), and with a program that uses the client, which puts together what is
submitted at once. Targets are judged on the crowd: its frames are made before the time is taken, as the sketch's are,
and the servers have to put together what belongs together. Ratios are taken round by round, and the median counts.
Beside each figure is what the three servers together needed of the processors for a submission, which tells more where
the machine is not ours.

    python -m bench.replication                                everything, in some minutes
    python -m bench.replication --only star:64 sketch:64       some of it: a contestant, or one mode of it
    python -m bench.replication --only star:b100 --profile     and where the leader's time went
    python -m bench.replication --smoke                        whether it works at all, in seconds
"""

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap
from pathlib import Path
from pstats import Stats
from statistics import median
from typing import Final

from bench import etcd, lean, limits, nats
from bench.contest import CLIENT, STARTED, Runs, Schedule, run_peer, run_together
from bench.load import Figures, Load
from bench.peer import Missing
from bench.processes import ended_by_signal
from bench.stores import directory
from bench.table import NO_TARGET, Row, show
from hansard.phaser.government import Shape

SCHEDULE: Final = Schedule(warm_ups=2, rounds=15, pause_s=0.1)
SECONDS: Final = 0.4
"""Of each run: many short ones, since whatever else the machine does comes and goes in seconds."""
ONE: Final = "one"
MODES: Final[Mapping[str, tuple[str, Load]]] = {
    ONE: ("one submission outstanding", Load(1, 1, 1_000, SECONDS)),
    "64": ("64 single changes outstanding", Load(64, 1, 40_000, SECONDS)),
    "1000": ("1,000 single changes outstanding", Load(1_000, 1, 60_000, SECONDS)),
    "b100": ("batches of 100, 64 outstanding", Load(64, 100, 10_000, SECONDS)),
    "b1000": ("batches of 1,000, 16 outstanding", Load(16, 1_000, 1_500, SECONDS)),
}
SMOKE: Final[Mapping[str, Load]] = {
    ONE: Load(1, 1, 10, 30.0),
    "64": Load(64, 1, 640, 30.0),
    "1000": Load(1_000, 1, 2_000, 30.0),
    "b100": Load(64, 100, 128, 30.0),
    "b1000": Load(16, 1_000, 16, 30.0),
}
YARDSTICK: Final = "sketch"
SHAPES: Final = tuple(str(shape) for shape in Shape)
CLUSTERS: Final = tuple(STARTED + shape for shape in SHAPES)
TOGETHER: Final = (
    YARDSTICK,
    "forgetful",
    "pipe",
    lean.NAME,
    *[name for pair in zip(SHAPES, CLUSTERS, strict=True) for name in pair],
)
"""Who is compared with somebody has its turn right after."""
PEERS: Final = {"etcd": etcd.CLIENT, "nats": nats.CLIENT}
PEER_MODES: Final = (ONE, "64", "1000")
LIMITS: Final = "limits"
NAMES: Final = (LIMITS, *TOGETHER, *PEERS)

LATENCY_MOST: Final = 1.3
SINGLES_LEAST: Final = 15_000
SINGLES_RATIO_LEAST: Final = 1.5
BATCHES_RATIO_LEAST: Final = 0.7
STARTED_RATIO_LEAST: Final = 0.9

Wanted = dict[str, dict[str, Load]]
"""By contestant: its modes."""


def wanted_of(only: Sequence[str]) -> Wanted:
    """Of words such as "star" and "star:64"; of none, everything. Raises ValueError for what there is not."""
    wanted: Wanted = {}
    for word in only or NAMES:
        name, _, mode = word.partition(":")
        possible = {mode: load for mode, (_, load) in MODES.items() if name in TOGETHER or mode in PEER_MODES}
        if name not in NAMES or (mode and mode not in possible) or (mode and name == LIMITS):
            raise ValueError(f"{word} is none of {', '.join(NAMES)}, with or without one of :{', :'.join(MODES)}")
        wanted.setdefault(name, {}).update({mode: possible[mode]} if mode else possible)
    return wanted


def measure(only: Sequence[str] = (), *, profiled: bool = False) -> list[Row]:
    wanted = wanted_of(only)
    together = {name: wanted[name] for name in TOGETHER if name in wanted}
    rows: list[Row] = []
    runs: Runs = {}
    missing: list[Row] = []
    with ended_by_signal(), directory() as folder:
        if LIMITS in wanted:
            rows += limits.rows(folder)
        if together:
            profiles = {shape: folder / f"{shape}.profile" for shape in SHAPES} if profiled else {}
            runs |= run_together(together, SCHEDULE, folder, profiles)
            _show_profiles(profiles.values())
        for name in (name for name in PEERS if name in wanted):
            try:
                runs |= run_peer(name, wanted[name], SCHEDULE, folder)
            except Missing as error:
                missing.append(Row(name, str(error), NO_TARGET, ok=True))
            except (
                AssertionError,
                OSError,
                TimeoutError,
            ) as error:  # not to cost us our own figures
                missing.append(Row(name, f"failed: {error!r}", NO_TARGET, ok=True))
    rows += [row for shape in SHAPES for row in claims(shape, runs)]
    rows += [row for shape in SHAPES for row in started_claims(shape, runs)]
    rows += starmap(figures_row, runs.items())
    return rows + missing


def _show_profiles(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.exists():
            Stats(str(path)).sort_stats("tottime").print_stats(40)


def figures_row(of: tuple[str, str], rounds: Sequence[Figures]) -> Row:
    name, mode = of
    who = {
        YARDSTICK: "sketch",
        "forgetful": "sketch that writes over the same space",
        "pipe": "the same, all frames in one piece",
        lean.NAME: "the least with our batches, frames and journal",
        **{shape: f"{shape}, a crowd of streams" for shape in SHAPES},
        **{shape + CLIENT: f"{shape}, a program with the client" for shape in SHAPES},
        **{STARTED + shape: f"hansard start, {shape}, a crowd of streams" for shape in SHAPES},
        **{STARTED + shape + CLIENT: f"hansard start, {shape}, a program with the client" for shape in SHAPES},
        **{peer: f"{peer}, {client}" for peer, client in PEERS.items()},
    }[name]
    if mode == ONE:
        measured = f"p50 {latency(rounds, 0.5):.2f} ms, p99 {latency(rounds, 0.99):.2f} ms"
    else:
        measured = f"{median(each.rate for each in rounds):,.0f} /s"
    measured += f"; {median(each.processor_us for each in rounds):,.0f} us of CPU"
    return Row(f"{MODES[mode][0]}: {who}", measured, NO_TARGET, ok=True)


def latency(rounds: Sequence[Figures], share: float) -> float:
    return median(each.latency_ms(share) for each in rounds)


def claims(shape: str, runs: Runs) -> list[Row]:
    """What was promised, as far as all that it speaks of was measured."""
    rows: list[Row] = []
    if runs.keys() >= {(shape, ONE), (YARDSTICK, ONE)}:
        ours, sketched = runs[shape, ONE], runs[YARDSTICK, ONE]
        ratio = median(a.latency_ms(0.5) / b.latency_ms(0.5) for a, b in zip(ours, sketched, strict=True))
        claim = f"{shape}: p50 of one submission, to the sketch's"
        rows.append(Row(claim, f"{ratio:.2f} times", f"<= {LATENCY_MOST:.2f}", ratio <= LATENCY_MOST))
    if runs.keys() >= {(shape, ONE), ("etcd", ONE)}:
        ours_ms, theirs_ms = latency(runs[shape, ONE], 0.5), latency(runs["etcd", ONE], 0.5)
        claim = f"{shape}: p50 of one submission, to etcd's"
        rows.append(Row(claim, f"{ours_ms / theirs_ms:.2f} times", "< 1.00", ours_ms < theirs_ms))
    if runs.keys() >= {(shape, "64"), (YARDSTICK, "64")}:
        ratio = rate_ratio(runs[shape, "64"], runs[YARDSTICK, "64"])
        rate = median(each.rate for each in runs[shape, "64"])
        claim = f"{shape}: 64 single changes outstanding, and to the sketch"
        target = f">= {SINGLES_LEAST:,} /s or {SINGLES_RATIO_LEAST:.2f}"
        ok = rate >= SINGLES_LEAST or ratio >= SINGLES_RATIO_LEAST
        rows.append(Row(claim, f"{rate:,.0f} /s, {ratio:.2f}", target, ok))
    if runs.keys() >= {(shape, "b100"), (YARDSTICK, "b100")}:
        ratio = rate_ratio(runs[shape, "b100"], runs[YARDSTICK, "b100"])
        claim = f"{shape}: batches of 100, to the sketch"
        rows.append(Row(claim, f"{ratio:.2f}", f">= {BATCHES_RATIO_LEAST:.2f}", ratio >= BATCHES_RATIO_LEAST))
    return rows


def started_claims(shape: str, runs: Runs) -> list[Row]:
    """A whole cluster's participants beside the skeleton's: what placement, consensus and routing cost."""
    rows: list[Row] = []
    for mode, (what, _) in MODES.items():
        for client in ("", CLIENT):
            whole, bare = (STARTED + shape + client, mode), (shape + client, mode)
            if not runs.keys() >= {whole, bare}:
                continue
            if mode == ONE:
                pairs = zip(runs[bare], runs[whole], strict=True)
                ratio = median(a.latency_ms(0.5) / b.latency_ms(0.5) for a, b in pairs)
            else:
                ratio = rate_ratio(runs[whole], runs[bare])
            claim = f"{shape}{client}: hansard start to the skeleton, {what}"
            rows.append(Row(claim, f"{ratio:.2f}", f">= {STARTED_RATIO_LEAST:.2f}", ratio >= STARTED_RATIO_LEAST))
    return rows


def rate_ratio(ours: Sequence[Figures], theirs: Sequence[Figures]) -> float:
    return median(a.rate / b.rate for a, b in zip(ours, theirs, strict=True))


def smoke() -> Runs:
    """Every mode of all but the peers, a little of each: that all is answered, once and in order, is checked in the
    clients. How long it takes does not matter."""
    with directory() as folder:
        return run_together(dict.fromkeys(TOGETHER, SMOKE), Schedule(warm_ups=0, rounds=1, pause_s=0), folder)


def main() -> int:
    parser = ArgumentParser("python -m bench.replication", description=__doc__)
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.add_argument("--only", nargs="+", default=[], metavar="CONTESTANT[:MODE]")
    parser.add_argument("--profile", action="store_true", help="show where each leader of ours spent its time")
    parser.add_argument("--smoke", action="store_true", help="only see whether it works")
    arguments = parser.parse_args()
    if arguments.smoke:
        smoke()
        return 0
    try:
        rows = measure(arguments.only, profiled=arguments.profile)
    except ValueError as error:
        parser.error(str(error))
    show(rows)
    return 0 if all(row.ok for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
