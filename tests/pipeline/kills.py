"""Jobs that are killed again and again, while the cluster takes writes and loses participants; what is left is exact.

    python -m tests.pipeline.kills --kills 20 --seed 7

What is compared with the log is read by pyarrow, by the manifests: nothing of Spark is trusted here.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import msgspec
import pyarrow.parquet as pq

import hansard
from hansard.bookmark import Bookmark
from hansard.testing import Cluster, cluster
from tests.pipeline.rows import EPOCH, Row, in_log

STEPS = ("written", "described", "committed", "held")
CHILD_S = 900
OTHERS = "others"
"""On what is written while something is loaded."""


def child(job: str, root: Path, town: Cluster, *options: str) -> int:
    """Its exit code."""
    words = [sys.executable, "-m", "tests.pipeline.child", job, str(root), ",".join(town.addresses), *options]
    done = subprocess.run(words, capture_output=True, text=True, timeout=CHILD_S, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr[-2000:]
    return done.returncode


def in_archive(root: Path) -> tuple[list[Row], Bookmark]:
    """All rows, and the bookmark that they reach, in plain Python."""
    files: dict[str, None] = {}
    until = Bookmark("", {})
    for path in sorted((root / "manifests").glob("*.json")):
        manifest = msgspec.json.decode(path.read_bytes())["manifest"]
        files |= dict.fromkeys(file["path"] for file in manifest["adds"])
        for gone in manifest["drops"]:
            del files[gone]
        until = Bookmark.parse(manifest["until"])
    rows: list[Row] = []
    for name in files:
        for row in pq.ParquetFile(root / name).read().to_pylist():
            time_us = round((row["timestamp"] - EPOCH).total_seconds() * 1_000_000)
            values = (row["key"], row["value"], tuple(row["tags"]), row["connection"], row["series"])
            rows.append((row["bucket"], row["offset"], time_us, *values))
    return sorted(rows, key=lambda row: (row[0], row[1])), until


@contextmanager
def written_to(client: hansard.Client, pause_s: float = 0.05, tag: str = "") -> Iterator[None]:
    """Somebody submits, all the time."""
    over = Event()

    def write() -> None:
        number = 0
        while not over.wait(pause_s):
            keys = [f"k{each % 50}" if each % 8 else None for each in range(20)]
            with suppress(hansard.client.PartlyStored, hansard.client.NotStored, hansard.client.OutcomeUnknown):
                values = [f"{number}-{each}" if each % 5 else None for each in range(20)]
                client.submit_many(keys, values, [[tag] if tag else []] * 20)
            number += 1

    writer = Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join(60)


def deaths(kills: int, dice: random.Random) -> Iterator[list[str]]:
    """The first between data and manifest."""
    for number in range(kills):
        if number == 0 or dice.random() < 0.5:
            yield ["--at", STEPS[number % len(STEPS)] if number else "described"]
        else:
            yield ["--after", f"{dice.uniform(0.0, 4.0):.3f}"]


def archive_under_fire(
    root: Path, kills: int, dice: random.Random, finish: Callable[[Path, Cluster], None] | None = None
) -> tuple[str, list[Row], int]:
    """The log's id, all that it had, and how many died."""
    died = 0
    with cluster(buckets=4) as town, hansard.Client.connect(town.addresses) as client:
        client.submit_many([f"k{each}" for each in range(50)], list(range(50)))
        with written_to(client):
            for number, how in enumerate(deaths(kills, dice)):
                victim = dice.choice("abc") if number % 3 == 1 else ""
                if victim:
                    town.kill(victim)
                died += child("archive", root, town, *how) != 0
                if victim:
                    town.start(victim)
                if number == kills // 2 and kills > 4:
                    town.double()
        if finish is None:
            assert child("archive", root, town) == 0
        else:
            finish(root, town)
        log, (rows, until) = in_log(client), in_archive(root)
        assert [row[1:] for row in by_home(rows)] == [row[1:] for row in by_home(log)], "not what the log has"
        assert until == client.bookmark()
        return client.log_id, log, died


def by_home(rows: list[Row]) -> list[Row]:
    """In an order that does not depend on buckets, which may have been split since a row was archived."""
    return sorted(rows, key=lambda row: (row[3] or b"", row[1]))


def restore_under_fire(
    root: Path,
    log: str,
    rows: list[Row],
    kills: int,
    dice: random.Random,
    finish: Callable[[Path, Cluster], None] | None = None,
) -> int:
    """Into 16 buckets; how many died."""
    died = 0
    with cluster(buckets=16, importing=log) as town:
        for number in range(kills):
            how = ["--at", "sent"] if number % 2 == 0 else ["--after", f"{dice.uniform(0.0, 3.0):.3f}"]
            died += child("restore", root, town, *how) != 0
            if number % 3 == 1:
                town.kill("b")
                town.start("b")
        if finish is None:
            assert child("restore", root, town) == 0
        else:
            finish(root, town)
        town.settle()
        with hansard.Client.connect(town.addresses) as client:
            found = in_log(client)
        assert [row[1:] for row in by_home(found)] == [row[1:] for row in by_home(rows)], "not what was archived"
    return died


def load_under_fire(root: Path, rows: list[Row], kills: int, dice: random.Random) -> int:
    """Into a cluster in which others write; how many died."""
    died = 0
    with cluster(buckets=8) as town, hansard.Client.connect(town.addresses) as client:
        with written_to(client, tag=OTHERS):
            for number in range(kills):
                how = ["--at", "stored"] if number % 2 == 0 else ["--after", f"{dice.uniform(0.0, 2.0):.3f}"]
                victim = dice.choice("abc") if number % 3 == 1 else ""
                if victim:
                    town.kill(victim)
                died += child("load", root, town, *how) != 0
                if victim:
                    town.start(victim)
            assert child("load", root, town) == 0
        loaded = [row for row in in_log(client) if not any(tag.startswith((OTHERS, "hansard:")) for tag in row[5])]
        assert of_each_key(loaded) == of_each_key(rows), "not what was archived, or not in its order"
    return died


def of_each_key(rows: list[Row]) -> dict[bytes | None, list[tuple[object, ...]]]:
    """What became of it, in order."""
    found: dict[bytes | None, list[tuple[object, ...]]] = {}
    for row in sorted(rows, key=lambda row: int(row[1])):
        found.setdefault(row[3], []).append(row[4:6])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill jobs of the pipeline, and look whether their results are exact.")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    dice = random.Random(given.seed)
    with tempfile.TemporaryDirectory(prefix="hansard-kills-") as folder:
        root = Path(folder)
        log, rows, died = archive_under_fire(root, given.kills - 2 * (given.kills // 4), dice)
        print(f"archive: {died} died, {len(rows):,} changes are there once", flush=True)
        died = restore_under_fire(root, log, rows, given.kills // 4, dice)
        print(f"restore: {died} died, {len(rows):,} changes are there once", flush=True)
        died = load_under_fire(root, rows, given.kills // 4, dice)
        print(f"load: {died} died, {len(rows):,} changes are there once")


if __name__ == "__main__":
    main()
