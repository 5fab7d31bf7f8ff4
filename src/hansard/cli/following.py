"""What `hansard read` and `hansard tail` do."""

import re
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal

from .failure import fail
from .output import change_lines, json_line, json_text, terminal_width, time_text, write_lines
from .reach import Reach

if TYPE_CHECKING:
    from hansard.client import Change

SCREEN_CHANGES: Final = 200
"""Printed at a time, with columns of one width."""
COMMIT_S: Final = 1.0
"""Where a name is, is noted so often, and at the end."""
PAGE_CHANGES: Final = 1_000
USAGE: Final = 2
AGO: Final = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

Wish = dict[str, Any]


def wish(since: str | None, until: str | None, tags: list[str] | None, match: str, key: str | None) -> Wish:
    """What a client is asked for."""
    found: Wish = {"since": place(since), "until": place(until), "tags": tags or (), "match": match, "key": key}
    return {name: value for name, value in found.items() if value not in (None, ())}


def place(text: str | None, now: datetime | None = None) -> Any:
    """A bookmark stays as it is; everything else is a time."""
    if text is None or text.startswith("b1"):
        return text
    ago = AGO.fullmatch(text)
    if ago is not None:
        return (now or datetime.now(UTC)) - timedelta(seconds=float(ago[1]) * UNITS[ago[2]])
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise fail(f"{text!r} is no place: give a bookmark, a time as 2030-01-31T12:00:00Z, or 15m", USAGE) from None
    return time if time.tzinfo is not None else time.astimezone()


def read(
    where: Reach, wanted: Wish, limit: int | None, order: Literal["asc", "desc"], *, print_bookmark: bool, as_json: bool
) -> None:
    with where.client() as client:
        if order == "desc" or limit is not None:
            changes, bookmark = _pages(client, wanted, limit, order)
            show(changes, as_json=as_json)
            place_after = bookmark() or client.bookmark()
        else:
            reading = client.read(**wanted)
            show(reading, as_json=as_json)
            place_after = reading.bookmark
        if print_bookmark:
            sys.stderr.write(f"{place_after}\n")


def _pages(client: Any, wanted: Wish, limit: int | None, order: str) -> tuple[Iterator["Change"], Any]:
    """Page by page, up to so many; and what tells the bookmark after the last page."""
    last: list[Any] = []

    def changes() -> Iterator["Change"]:
        left, asked = limit, dict(wanted)
        while left is None or left > 0:
            page = client.page(**asked, order=order, limit=min(PAGE_CHANGES, left or PAGE_CHANGES))
            last[:] = [page.bookmark]
            yield from page.changes
            left = None if left is None else left - len(page.changes)
            if page.at_start if order == "desc" else page.at_end:
                return
            asked["until" if order == "desc" else "since"] = page.bookmark

    return changes(), lambda: last[0] if last else None


def tail(where: Reach, wanted: Wish, count: int, name: str, *, as_json: bool) -> None:
    with where.client() as client:
        if "since" not in wanted and not name:
            page = client.page(**wanted, order="desc", limit=max(1, count))
            wanted["since"] = client.bookmark() if not page.changes or not count else page.bookmark
        follow = client.follow(**wanted, name=name)
        committed_s = time.monotonic()
        try:
            for change in follow:
                show([change], as_json=as_json)
                if name and time.monotonic() - committed_s > COMMIT_S:
                    follow.commit()
                    committed_s = time.monotonic()
        finally:
            if name:
                follow.commit()


def show(changes: Iterable["Change"], *, as_json: bool) -> None:
    width, coming = terminal_width(), iter(changes)
    while some := list(islice(coming, SCREEN_CHANGES)):
        write_lines([json_line(json_change(change)) for change in some] if as_json else change_lines(some, width))


def json_change(change: "Change") -> dict[str, Any]:
    return {
        "bucket": change.bucket,
        "offset": change.offset,
        "time": time_text(change.timestamp),
        "key": json_text(change.key),
        "value": json_text(change.value),
        "tags": change.tags,
    }
