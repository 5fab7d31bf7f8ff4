"""What a reader asks for."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from hansard.batch import Text
from hansard.bookmark import Bookmark

from .reading import Match, Order

Place = Bookmark | datetime | str
"""A str is a bookmark's token."""


class Wish(NamedTuple):
    since: Place | None = None
    until: Place | None = None
    tags: Collection[str] = ()
    match: Match = "any"
    key: Text | None = None
    buckets: Collection[int] | None = None
    order: Order = "asc"
