"""Bringing a log to a cluster that was founded to take it: batch by batch, as they were, in the order of each bucket.

Whoever is interrupted begins again at the beginning: what is there already is recognised. `hansard load` does this from
one file, and the pipeline's restore from an archive.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from hansard.batch import Batch, covering
from hansard.wire import request as wire
from hansard.wire import submission

from .errors import ClientError
from .operator import NobodyAnswers, Operator

WAIT_US: Final = 5_000_000
PATIENCE_S: Final = 60.0
RETRY_S: Final = 0.1
SPARE_CONNECTIONS: Final = 100_000
"""Numbers that may have been given out in the old cluster and were not used yet: they are not given out again."""


class Failed(ClientError):
    """What cannot be had, or cannot be brought."""


class Inward:
    def __init__(self, operator: Operator, addresses: list[str | None]) -> None:
        self._operator = operator
        self._addresses = addresses
        """Of each bucket where its leader was last."""
        self._ends: dict[int, tuple[int, int]] = {}
        """Of each bucket where it ends, and the last time in it."""

    async def bring(self, bucket: int, batch: Batch, follows: int) -> None:
        buckets = len(self._addresses)

        def request(id: int) -> wire.Import:
            return wire.Import(id, bucket, batch, WAIT_US, buckets, follows)

        async def attempt(address: str) -> tuple[Any, str]:
            answer = await self._operator.exchange_at(address, request)
            if isinstance(answer, submission.Invalid | submission.Gap):
                raise Failed(f"bucket {bucket} does not take what is loaded: {_why(answer)}")
            return answer, getattr(answer, "address", None) or address

        address = self._addresses[bucket] or self._operator.addresses[0]
        stored = (submission.Stored, submission.StoredInPart, submission.Repeated)
        _, address = await insist(self._operator, address, attempt, stored, f"bucket {bucket} does not take it")
        self._addresses[bucket] = address
        self._ends[bucket] = (batch.closed().header.end_offset, batch.header.last_timestamp)

    def resume(self, bucket: int, end: int, timestamp: int) -> None:
        """Somebody else has brought it so far."""
        self._ends[bucket] = (end, timestamp)

    async def cover(self, bucket: int, end: int) -> None:
        """Offsets at the end that are nobody's: bookmarks may be after them."""
        last, timestamp = self._ends.get(bucket, (0, 0))
        if last < end:
            await self.bring(bucket, covering(last, end, 0, timestamp), last)


def _why(answer: submission.Invalid | submission.Gap) -> str:
    if isinstance(answer, submission.Gap):
        return f"it has only come to offset {answer.expected}; load it again from the beginning"
    return answer.reason


async def insist(
    operator: Operator, address: str, attempt: Callable[[str], Any], wanted: tuple[type, ...], otherwise: str
) -> tuple[Any, str]:
    """Until there is an answer of a wanted kind, wherever; and where that was."""
    deadline_s = asyncio.get_running_loop().time() + PATIENCE_S
    problem = ""
    while asyncio.get_running_loop().time() < deadline_s:
        try:
            answer, address = await attempt(address)
            if isinstance(answer, wanted):
                return answer, address
            if isinstance(answer, wire.Refused):
                raise Failed(f"{otherwise}: {answer.reason}")
            problem = type(answer).__name__
        except NobodyAnswers as error:
            problem = str(error)
            operator.addresses = [*operator.addresses[1:], operator.addresses[0]]
            address = operator.addresses[0]
        await asyncio.sleep(RETRY_S)
    raise Failed(f"{otherwise} within {PATIENCE_S:g} s: {problem}")
