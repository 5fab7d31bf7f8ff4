"""A page as it is answered: JSON, JSON lines or an Arrow stream, and what is said of it in headers."""

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from hansard.bookmark import Bookmark
from hansard.client.page import Change, Page

from . import forms
from .access import Guest
from .arrow import MEDIA_TYPE as ARROW
from .arrow import stream_of
from .content import JSON, LINES, LINES_TOO, shown, shown_value
from .problem import Refusal
from .receipts import time_text
from .workroom import portions

LINK_BYTES_MAX: Final = 4 << 10
"""Of headers that say where to go on: bookmarks of many buckets are long, and clients and proxies refuse long ones."""


def acceptable(accept: str) -> str:
    """The first of those that are accepted which there is."""
    names = [part.partition(";")[0].strip().lower() for part in accept.split(",") if part.strip()]
    for name in names or [JSON]:
        if name in {JSON, LINES, LINES_TOO, ARROW}:
            return name
        if name in {"*/*", "application/*"}:
            return JSON
    raise Refusal("not-acceptable", f"there is {JSON}, {LINES} and {ARROW}")


def places_after(page: Page, order: Literal["asc", "desc"] = "asc") -> list[Bookmark]:
    """Of each change of a page the place after it, in its order. The last one is the page's."""
    # All buckets that there are by now: one that was split off meanwhile begins where its parent was.
    at = page.previous.split(page.bookmark.log_id, tuple(page.bookmark.offsets))
    found = []
    for change in page.changes[:-1]:
        at = at.advanced({change.bucket: change.offset + (order == "asc")})
        found.append(at)
    return [*found, page.bookmark] if page.changes else []


def form_of(change: Change, guest: Guest, mark: str | UnsetType = UNSET) -> forms.Change:
    limited = guest.limited
    named = change.connection and not limited
    return forms.Change(
        id=guest.id_for(change.offset, change.key),
        bucket=None if limited else change.bucket,
        offset=None if limited else change.offset,
        timestamp=time_text(change.timestamp),
        key=shown(change.key),
        value=shown_value(change.value),
        tags=guest.own(change.tags),
        connection=str(change.connection) if named else None,
        series=change.series if named else None,
        bookmark=mark,
    )


def body_of(
    kind: str,
    page: Page,
    guest: Guest,
    order: Literal["asc", "desc"] | None,
    ends: tuple[str, bool, bool, Mapping[str, str]],
) -> bytes:
    """`order`: each change with the bookmark after it, in this order."""
    marks: list[str | UnsetType] = [UNSET] * len(page.changes)
    if order is not None:
        marks = [guest.bookmark(mark) for mark in places_after(page, order)]
    if kind == ARROW:
        rows = [_row(change, guest) for portion in portions(len(page.changes)) for change in page.changes[portion]]
        return stream_of(rows, None if order is None else [mark for mark in marks if isinstance(mark, str)])
    pieces = []
    for portion in portions(len(page.changes)):
        pairs = zip(page.changes[portion], marks[portion], strict=True)
        changes = [form_of(change, guest, mark) for change, mark in pairs]
        if kind == JSON:
            pieces.append(msgspec.json.encode(changes)[1:-1])
        else:
            pieces += [msgspec.json.encode(change) + b"\n" for change in changes]
    if kind != JSON:
        return b"".join(pieces)
    bookmark, at_start, at_end, links = ends
    rest = forms.Page(changes=[], at_start=at_start, at_end=at_end, bookmark=bookmark, links=forms.Links(**links))
    return msgspec.json.encode(rest).replace(b"[]", b"[%b]" % b",".join(pieces), 1)


def places_of(kind: str, bookmark: str, begin: str, links: Mapping[str, str]) -> dict[str, str]:
    """Where to go on, in headers: what is too long for them stands in the body where that is JSON, and follows from the
    bookmarks where it is not."""
    link = ", ".join([f'<{path}>; rel="{name}"' for name, path in links.items()])
    found = {"Link": link} if len(link) <= LINK_BYTES_MAX else {}
    if kind != JSON or len(bookmark) <= LINK_BYTES_MAX:
        found["Hansard-Bookmark"] = bookmark
    if kind != JSON:
        found["Hansard-Begin"] = begin
    return found


def _row(change: Change, guest: Guest) -> tuple[Any, ...]:
    limited = guest.limited
    named = change.connection and not limited
    return (
        guest.id_for(change.offset, change.key),
        None if limited else change.bucket,
        None if limited else change.offset,
        change.timestamp,
        change.key,
        change.value,
        guest.own(change.tags),
        str(change.connection) if named else None,
        change.series if named else None,
    )
