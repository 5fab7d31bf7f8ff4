"""What a reader asks for, and the pages that answer it."""

from collections.abc import Collection
from copy import copy
from typing import Literal, NamedTuple

import numpy as np

from hansard.batch import Batch, Change, Text, key_hash, key_mask, select, tag_name
from hansard.batch.errors import BadInput
from hansard.bookmark import Bookmark
from hansard.storage.errors import Corrupt
from hansard.storage.reading import Page as StoredPage
from hansard.storage.reading import Query
from hansard.storage.store import Store

from .places import BUCKET, Place, first_offset, offset_of

Match = Literal["any", "all"]
Order = Literal["asc", "desc"]

PAGE_CHANGES = 10_000
PAGE_BYTES = 8 << 20
SCAN_CHANGES = 1_000_000
SCAN_BYTES = 4 << 20
"""A scan of everything goes by bytes, an extent at a time: what was handed on is not held."""
"""A reader that takes changes one by one is slower than the disk: more at a time would only wait in memory."""


class Page(NamedTuple):
    changes: list[Change]
    bookmark: Bookmark
    """To go on: as `since` of the next page, or as `until` where the order is descending."""
    at_start: bool
    """Nothing that is retained comes before what this page covers."""
    at_end: bool
    """Nothing had come after it when it was read."""


class Selection(NamedTuple):
    """Changes at offsets from `first` up to, not including, `end`, that have the tags and the key."""

    first: int
    end: int
    tags: frozenset[bytes] = frozenset()
    every: bool = False
    key: bytes | None = None
    descending: bool = False
    limit: int | None = None
    doubt: Corrupt | None = None
    """Damage that may hide the end of the log, for a selection that goes up to it."""

    def raise_doubt(self) -> None:
        """To be called when all that can be read has been."""
        if self.doubt is not None and self.limit != 0:
            raise copy(self.doubt)

    @property
    def is_done(self) -> bool:
        return self.first >= self.end or self.limit == 0

    def after(self, page: StoredPage) -> "Selection":
        """What is left when a page of it has been read."""
        limit = None if self.limit is None else self.limit - page.change_count
        if self.descending:
            return self._replace(end=page.first, limit=limit)
        return self._replace(first=page.end, limit=limit)


def selection(
    store: Store,
    *,
    since: Place | None,
    until: Place | None,
    tags: Collection[str] | None,
    match: Match,
    key: Text | None,
    limit: int | None,
    order: Order,
) -> Selection:
    """A reader's arguments, checked. The log's end is the one of now: what comes later is not part of the selection."""
    if isinstance(tags, str):
        raise BadInput("tags", f"a list of tags is wanted, not a str: write [{tags!r}]")
    if match not in ("any", "all"):
        raise BadInput("match", f"'any' or 'all' of the tags, not {match!r}")
    if order not in ("asc", "desc"):
        raise BadInput("order", f"'asc' or 'desc', not {order!r}")
    if limit is not None and limit < 0:
        raise BadInput("limit", f"is {limit}; leave it out to read everything")
    if key is not None and not isinstance(key, Text):
        raise BadInput("key", f"must be bytes or str, not {type(key).__name__}")
    end = store.bounds(BUCKET)[1]
    doubt = store.log(BUCKET).doubt if until is None else None
    if doubt is not None and order == "desc":
        raise copy(doubt)
    return Selection(
        first=first_offset(store, since),
        end=end if until is None else min(end, offset_of(store, until)),
        tags=frozenset(tag_name(tag) for tag in tags or ()),
        every=match == "all",
        key=key.encode() if isinstance(key, str) else key,
        descending=order == "desc",
        limit=limit,
        doubt=doubt,
    )


def read_page(store: Store, wanted: Selection, changes_max: int, bytes_max: int) -> StoredPage:
    """The next changes of a selection: some of them, none only if it ends with this page or the page ends early."""
    assert not wanted.is_done
    most = changes_max if wanted.limit is None else min(changes_max, wanted.limit)
    query = Query(wanted.first, wanted.end, wanted.tags, wanted.every, wanted.descending, bytes_max=bytes_max)
    if wanted.key is None:
        return store.read(BUCKET, query._replace(changes_max=most))
    return _with_key(store.read(BUCKET, query), wanted.key, most)


def _with_key(page: StoredPage, key: bytes, changes_max: int) -> StoredPage:
    """The page's changes of one key; it ends where it has enough of them."""
    hash_, batches, left = key_hash(key), list[Batch](), changes_max
    for batch in page.batches:
        mask = key_mask(batch, key, hash_)
        places = np.flatnonzero(mask)
        if len(places) > left:
            mask[places[:-left] if page.descending else places[left:]] = False
        if len(places):
            batches.append(select(batch, mask))
        left -= min(len(places), left)
        if not left:
            break
    page = page._replace(batches=batches)
    if left:
        return page
    if page.descending:
        first = int(batches[-1].offsets[0])
        return page._replace(first=first, at_start=page.at_start and first <= page.first)
    end = int(batches[-1].offsets[-1]) + 1
    return page._replace(end=end, at_end=page.at_end and end >= page.end)
