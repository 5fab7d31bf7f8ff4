"""`make demo`: what Hansard promises, tried out in front of your eyes.

A child process writes changes and passes on each receipt. In the middle of it the demo kills the child, hard. Then it
opens the log again, compares what is there with what was acknowledged, and reads some of it by tag and by time.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import IO, NamedTuple

from crc32c import crc32c
from rich.console import Console

import hansard
from hansard.batch import Change
from hansard.cli.bar import count_bar
from hansard.cli.output import change_lines, size_text
from hansard.embedded.interrupts import HeldInterrupts

BATCH_CHANGES = 1_000
CHANGES_DEFAULT = 500_000
KILLED_AT = 0.6
"""The share of the changes after whose acknowledgement the child is killed."""
DEVICES = 5_000
REGIONS = ("region:eu", "region:us", "region:asia")
ALARM_EVERY = 20_011


class Acknowledged(NamedTuple):
    """One line of the child: a batch that it has the receipts for, and the checksum of what it had sent."""

    first: int
    change_count: int
    checksum: int
    timestamp: int


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hansard.demo", description="Shows what Hansard does.")
    parser.add_argument("--changes", type=int, default=CHANGES_DEFAULT, help="how many to write, were it not killed")
    parser.add_argument("--write", metavar="DIR", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write:
        write(arguments.write, arguments.changes)
        return
    try:
        with tempfile.TemporaryDirectory(prefix="hansard-demo-") as directory:
            kept = Demo(Console(highlight=False), directory).run(max(arguments.changes, 4 * BATCH_CHANGES))
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(0 if kept else 1)


# The child.


def write(directory: str, changes: int) -> None:
    """Appends batches, and prints a line for each when it is on disk."""
    with hansard.open(directory) as log:
        for start in range(0, changes, BATCH_CHANGES):
            keys, values, tags = columns(start)
            receipts = log.append_columns(keys, values, tags)
            first, timestamp = receipts[0]
            print(first, len(receipts), checksum(keys, values), timestamp, flush=True)


def columns(start: int) -> tuple[list[bytes], list[bytes], list[tuple[str, ...]]]:
    """A batch of changes such as a fleet of devices might send."""
    numbers = range(start, start + BATCH_CHANGES)
    keys = [b"device/%04d" % (number * 7919 % DEVICES) for number in numbers]
    values = [b'{"reading": %d, "charge": %d}' % (number, number % 101) for number in numbers]
    return keys, values, [tags_of(number) for number in numbers]


def tags_of(number: int) -> tuple[str, ...]:
    region = REGIONS[number % len(REGIONS)]
    return (region, "alarm") if number % ALARM_EVERY == ALARM_EVERY - 1 else (region,)


def checksum(keys: Sequence[bytes | None], values: Sequence[bytes | None]) -> int:
    return crc32c(b"\n".join([text or b"" for pair in zip(keys, values, strict=True) for text in pair]))


# The parent.


class Demo:
    def __init__(self, console: Console, directory: str) -> None:
        self._console = console
        self._path = str(Path(directory) / "devices")

    def _say(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)

    def run(self, changes: int) -> bool:
        """Whether all that was acknowledged is there."""
        say = self._say
        say("[bold]1. A process writes changes into a log, and is killed in the middle of it.[/bold]")
        acknowledged = self._write_and_kill(changes)
        say("[bold]2. The log is opened again.[/bold]")
        started = time.monotonic()
        with hansard.open(self._path) as log:
            say(f"   Open, and recovered, after {1000 * (time.monotonic() - started):.0f} ms.")
            kept = self.compare(log, acknowledged)
            if kept:
                say("[bold]3. It is read: by tag, by time, by key.[/bold]")
                self._read(log, acknowledged)
        if kept:
            say("   (A kill is kind to a disk. That a power cut loses nothing either is what the tests show, on a")
            say("   simulated disk that loses and tears whatever was not synced.)")
            say("[bold]Where to go next[/bold]")
            say("   docs/start.md              five minutes with a log of your own, in Python and on the command line")
            say("   docs/guides/embedded.md    all that it can do")
            say("   .venv/bin/hansard log -h   the same from a shell")
        return kept

    def _write_and_kill(self, changes: int) -> list[Acknowledged]:
        command = [sys.executable, "-m", "hansard.demo", "--write", self._path, "--changes", str(changes)]
        acknowledged: list[Acknowledged] = []
        count, started = 0, 0.0
        with child(command) as (process, lines), progress(self._console, changes) as show:
            for line in lines:
                started = started or time.monotonic()
                acknowledged.append(line)
                count += line.change_count
                show(count)
                if count >= KILLED_AT * changes:
                    break
            else:
                raise SystemExit(f"the process that writes has ended by itself, with exit code {process.wait()}")
            seconds = time.monotonic() - started
            process.kill()
            # What the child had written to the pipe before it died was acknowledged as well.
            acknowledged += lines
            process.wait()
        total = sum(batch.change_count for batch in acknowledged)
        rate = (count - acknowledged[0].change_count) / seconds if acknowledged and seconds else 0
        self._say(f"   {total:,} changes acknowledged, each on disk before its receipt: {rate:,.0f} a second.")
        self._say(f"   Process {process.pid} was killed (SIGKILL) while it wrote the next ones.")
        return acknowledged

    def compare(self, log: hansard.Log, acknowledged: list[Acknowledged]) -> bool:
        found = intact = 0
        sent = there = 0
        for batch in acknowledged:
            changes = list(log.read(since=batch.first, until=batch.first + batch.change_count))
            actual = checksum([change.key for change in changes], [change.value for change in changes])
            sent, there = chained(sent, batch.checksum), chained(there, actual)
            found += len(changes)
            intact += batch.change_count if actual == batch.checksum else 0
        total = sum(batch.change_count for batch in acknowledged)
        self._say(f"   acknowledged {total:>9,}   checksum {sent:08x}")
        self._say(f"   found        {found:>9,}   checksum {there:08x}")
        if not total or found != total or intact != total:
            self._say(f"   [bold red]{total - intact:,} acknowledged changes are missing or damaged.[/bold red]")
            return False
        more = log.info().end - total
        unasked = f" {more:,} more are there whose receipts the kill cut off." if more else ""
        self._say(f"   [green]Nothing that was acknowledged is lost.[/green]{unasked}")
        return True

    def _read(self, log: hansard.Log, acknowledged: list[Acknowledged]) -> None:
        info = log.info()
        middle = acknowledged[len(acknowledged) // 2]
        self._show("tagged alarm, the last four", log.read(tags=["alarm"], order="desc", limit=4))
        self._show(
            "tagged alarm and region:eu", log.read(tags=["alarm", "region:eu"], match="all", order="desc", limit=4)
        )
        moment = hansard.Receipt(middle.first, middle.timestamp).time
        self._show(f"since {moment:%H:%M:%S.%f}, the first four", log.read(since=moment, limit=4))
        second = moment + timedelta(milliseconds=100)
        started = time.monotonic()
        count = sum(batch.num_rows for batch in log.scan_arrow(since=moment, until=second))
        took = 1000 * (time.monotonic() - started)
        self._say(f"   {count:,} changes in the tenth of a second after that, as Arrow, in {took:.0f} ms.")
        self._show("of device/0042, the last two", log.read(key="device/0042", order="desc", limit=2))
        self._say(f"   All in all {info.end - info.start:,} changes in {size_text(info.byte_count)} on disk.")

    def _show(self, what: str, changes: Iterator[Change]) -> None:
        started = time.monotonic()
        found = list(changes)
        took = 1000 * (time.monotonic() - started)
        self._say(f"   Changes {what} ({took:.0f} ms):")
        width = self._console.width if self._console.is_terminal else None
        for line in change_lines(found, width, indent="     "):
            self._console.print(line, markup=False, soft_wrap=True)


def chained(checksum_so_far: int, next_checksum: int) -> int:
    return crc32c(next_checksum.to_bytes(4, "big"), checksum_so_far)


@contextmanager
def child(command: list[str]) -> Iterator[tuple[subprocess.Popen[str], Iterator[Acknowledged]]]:
    """In a session of its own, so that Ctrl-C reaches only the demo, which then ends the child."""
    process: subprocess.Popen[str] | None = None
    try:
        # An interrupt within Popen would leave a child that nobody knows, and so nobody ends.
        with HeldInterrupts():
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert process.stdout is not None
        yield process, receipts_from(process.stdout)
    finally:
        if process is not None:
            process.kill()
            process.communicate()


def receipts_from(stream: IO[str]) -> Iterator[Acknowledged]:
    """Whole lines only: the last one may be cut off by the kill."""
    for line in stream:
        if line.endswith("\n"):
            yield Acknowledged(*map(int, line.split()))


@contextmanager
def progress(console: Console, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal; elsewhere nothing, the lines before and after say enough."""
    with count_bar(console, "changes acknowledged") as bar:
        task = bar.add_task("  ", total=total)
        yield lambda count: bar.update(task, completed=count)


if __name__ == "__main__":
    main()
