"""`hansard log read` and `tail`."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import hansard
from hansard.batch import Change

from .output import change_lines, json_change, json_line, terminal_width, write_lines

SCREEN_CHANGES = 200
"""Printed at a time, with columns of one width."""


def read(directory: str, *, as_json: bool, **wanted: Any) -> None:
    with hansard.open(directory, read_only=True) as log:
        print_changes(log.read(**wanted), as_json=as_json)


def tail(directory: str, count: int, *, as_json: bool, **wanted: Any) -> None:
    with hansard.open(directory, read_only=True) as log:
        newest_first = list(log.read(limit=count, order="desc", **wanted))
    print_changes(reversed(newest_first), as_json=as_json)


def print_changes(changes: Iterator[Change], *, as_json: bool) -> None:
    width = terminal_width()
    while some := list(islice(changes, SCREEN_CHANGES)):
        write_lines(json_lines(some) if as_json else change_lines(some, width))


def json_lines(changes: Sequence[Change]) -> Iterator[str]:
    return (json_line(json_change(change)) for change in changes)
