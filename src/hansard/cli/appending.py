"""`hansard log append`."""

import sys
from collections.abc import Callable, Iterator
from typing import cast

import hansard
from hansard.batch import BatchError
from hansard.embedded import HeldInterrupts, NewChange, Receipts

from .failure import INTERRUPTED, fail, known_errors
from .lines import BadLine, Line, Source, changes_of, fit_changes, line_groups
from .output import json_line, time_text, write_lines
from .progress import Progress


def append_one(directory: str, key: str | None, value: str | None, tags: list[str], *, as_json: bool) -> None:
    with hansard.open(directory) as log:
        print_receipts(log.append_many([(key, value, tags)]), as_json=as_json)


def append_lines(directory: str, *, as_json: bool) -> None:
    stdin = cast(Source, sys.stdin.buffer)
    with hansard.open(directory) as log, Progress("appending", "changes", hidden=sys.stdin.isatty()) as progress:
        Intake(lambda changes: _append(log, changes, as_json=as_json), progress).run(stdin)


def _append(log: hansard.Log, changes: list[NewChange], *, as_json: bool) -> int:
    keys, values, tags = zip(*changes, strict=True)
    receipts = log.append_columns(keys, values, tags)
    print_receipts(receipts, as_json=as_json)
    return len(receipts)


Store = Callable[[list[NewChange]], int]
"""Stores changes, all or none, prints their receipts, and says how many they are."""


class Intake:
    """Lines in, receipts out. Whatever ends it, what is stored has been reported."""

    def __init__(self, store: Store, progress: Progress) -> None:
        self._store_all, self._progress = store, progress
        self._stored = 0

    def run(self, source: Source) -> None:
        try:
            # Ctrl-C gets through while lines are awaited, not between storing some and printing their receipts.
            with HeldInterrupts() as hold:
                groups = line_groups(source)
                while (lines := hold.exposed(lambda: next(groups, None))) is not None:
                    self._take(lines)
        except BadLine as error:
            raise fail(f"{error} ({self._so_far})") from None
        except KeyboardInterrupt:
            raise fail(f"interrupted ({self._so_far})", INTERRUPTED) from None
        except BrokenPipeError:
            raise
        except known_errors() as error:
            raise fail(f"{error} ({self._so_far})") from error

    @property
    def _so_far(self) -> str:
        return "1 change is stored" if self._stored == 1 else f"{self._stored:,} changes are stored"

    def _take(self, lines: list[Line]) -> None:
        changes, bad = changes_of(lines)
        try:
            self._store(changes)
        except BatchError:
            changes, bad = fit_changes(lines)
            self._store(changes)
        if bad is not None:
            raise bad

    def _store(self, changes: list[NewChange]) -> None:
        """All or none: there are never more than a batch can hold."""
        if not changes:
            return
        stored = self._store_all(changes)
        self._stored += stored
        self._progress.advance(stored)


def print_receipts(receipts: Receipts, *, as_json: bool) -> None:
    """For people a line for each batch, for programs one for each change."""
    write_lines(_json_lines(receipts) if as_json else _lines(receipts))


def _json_lines(receipts: Receipts) -> Iterator[str]:
    for run in receipts.runs:
        time = time_text(run.timestamp)  # what is appended here has one time for each batch
        yield from (json_line({"offset": offset, "time": time}) for offset in run.offsets)


def _lines(receipts: Receipts) -> Iterator[str]:
    for run in receipts.runs:
        if run.change_count == 1:
            yield f"stored at offset {run.first}, {time_text(run.timestamp)}"
        else:
            last = run.first + run.change_count - 1
            yield f"stored at offsets {run.first} to {last}, {time_text(run.timestamp)}"
