"""Reading one bucket at any of its members, and at another one when that one is gone or has none of it.

What is asked for is asked for again until there is an answer: reading changes nothing.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from random import Random
from typing import Any, Final, Literal, NamedTuple

from hansard.batch import Text, tag_name
from hansard.bookmark import Bookmark
from hansard.wire import request as wire
from hansard.wire.errors import WireError

from .atlas import Atlas
from .change import key_bytes
from .correspondence import GRACE_S, Correspondence
from .errors import NotReadable, Refused, WrongType
from .recut import descendants
from .roster import Backoff

Match = Literal["any", "all"]
Order = Literal["asc", "desc"]

REFUSALS_MAX: Final = 3
"""So many participants are asked before a refusal is believed."""


class Filter(NamedTuple):
    """What is wanted of a log, whichever part of it."""

    tags: tuple[bytes, ...] = ()
    every: bool = False
    key: bytes | None = None
    descending: bool = False
    since_us: int = -1
    until_us: int = -1


def filter_of(tags: Collection[str], match: Match, key: Text | None, order: Order) -> Filter:
    """A reader's arguments, checked."""
    if isinstance(tags, str):
        raise WrongType("tags", f"a list of tags is wanted, not a str: write [{tags!r}]")
    if match not in ("any", "all"):
        raise ValueError(f"match is 'any' or 'all' of the tags, not {match!r}")
    if order not in ("asc", "desc"):
        raise ValueError(f"order is 'asc' or 'desc', not {order!r}")
    return Filter(tuple([tag_name(tag) for tag in tags]), match == "all", key_bytes(key), order == "desc")


class Span(NamedTuple):
    """Which part of a bucket is read, and how much of it."""

    offset: int
    end: int = -1
    changes_max: int = 1_000
    wait_s: float = 0.0
    linear: bool = False
    bytes_max: int = 1 << 20


async def at_once(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    """All of it, and what the first one that failed has raised: the others are of no use then."""
    if len(work) == 1:
        await work[0]
        return
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


class Reader:
    """`timeout_s`: for somebody to answer. It may be unlimited."""

    def __init__(
        self, atlas: Atlas, correspondence: Correspondence, backoffs: Callable[[], Backoff], random: Random
    ) -> None:
        self.atlas = atlas
        self._correspondence = correspondence
        self._backoffs = backoffs
        self._random = random
        self._places: dict[int, str] = {}
        """Where each bucket was read last."""
        self.stored_end: Callable[[int], int] = lambda _: 0
        """How far a bucket goes at the least, as our own receipts say."""

    async def read(self, bucket: int, span: Span, wanted: Filter, timeout_s: float) -> wire.Page | wire.Gone:
        """A page that settles something, or says that there is nothing."""
        loop, backoff = asyncio.get_running_loop(), self._backoffs()
        deadline = loop.time() + span.wait_s + timeout_s
        problem, refusals, tried = "nobody answered", 0, 0
        while True:
            address = self._place(bucket, tried)
            attempt_s = min(deadline - loop.time(), span.wait_s + timeout_s / 2 + GRACE_S)
            if attempt_s <= 0:
                raise NotReadable(f"bucket {bucket}", problem)
            tried += 1
            try:
                answer = await self._correspondence.ask(address, _request(bucket, span, wanted), attempt_s)
            except (OSError, WireError, UnicodeError) as error:
                problem = f"{address}: {str(error) or type(error).__name__}"
                self._places.pop(bucket, None)
            else:
                match answer:
                    case wire.Page() | wire.Gone():
                        if span.linear:  # that was the leader, who has enough to do
                            self._places.pop(bucket, None)
                        return answer
                    case wire.Elsewhere():
                        problem = f"{address} has no copy of it"
                        self._places[bucket] = answer.address
                        if tried < REFUSALS_MAX:
                            continue
                    case wire.Refused():
                        problem, refusals = answer.reason, refusals + 1
                        self._places.pop(bucket, None)
                        if refusals >= REFUSALS_MAX:
                            raise Refused(answer.reason)
                    case _:
                        problem = f"{address}: {type(answer).__name__}"
                        self._places.pop(bucket, None)
            await asyncio.sleep(min(backoff.next_s(), max(0.0, deadline - loop.time())))

    def _place(self, bucket: int, tried: int) -> str:
        """Where it was read before, or any member; after a few attempts anybody, who says where it is."""
        known = self._places.get(bucket)
        if known is None:
            members = self.atlas.members(bucket) if tried < REFUSALS_MAX else []
            known = self._places[bucket] = self._random.choice(members or self.atlas.everybody())
        return known

    async def starts(self, log_id: str, timeout_s: float, wanted: Filter) -> Bookmark:
        """Where each bucket begins by now."""
        return await self.since(log_id, Filter(wanted.tags, wanted.every, since_us=0), timeout_s)

    async def since(self, log_id: str, wanted: Filter, timeout_s: float, *, linear: bool = False) -> Bookmark:
        """The first change of each bucket that is not before a time. What else is wanted is said for those who may not
        ask for everything."""
        span = Span(0, changes_max=0, linear=linear)
        offsets: dict[int, int] = {}

        async def look(bucket: int, level: int) -> None:
            page = await self.read(bucket, span, wanted, timeout_s)
            assert isinstance(page, wire.Page), "where a log begins is not before its beginning"
            offsets[bucket] = page.end
            if page.level > level:
                for half, least in descendants(bucket, level, page.level):
                    if half != bucket:
                        await look(half, least)

        await at_once([look(bucket, self.atlas.level(bucket)) for bucket in self.atlas.buckets])
        return Bookmark(log_id, offsets)

    def leave(self, bucket: int) -> None:
        """Read it somewhere else the next time."""
        self._places.pop(bucket, None)


def _request(bucket: int, span: Span, wanted: Filter) -> Callable[[int], wire.Read]:
    return lambda id: wire.Read(
        id,
        bucket,
        span.offset,
        int(span.wait_s * 1_000_000),
        bytes_max=span.bytes_max,
        changes_max=span.changes_max,
        tags=wanted.tags,
        every=wanted.every,
        linear=span.linear,
        key=wanted.key,
        since_us=wanted.since_us,
        until_us=wanted.until_us,
        end=span.end,
        descending=wanted.descending,
    )
