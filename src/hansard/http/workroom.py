"""Where long work is done while the loop serves others: a thread, which takes a portion and then a breath.

Python runs one thread at a time. A thread that computes lets others in after a few milliseconds, but not in the middle
of a call into C, and a loop that has to ask for its turn after every look at its sockets gets little done. So whatever
goes through many changes takes a portion of them, and then lets go by itself.
"""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from time import sleep
from typing import Final, TypeVar

Made = TypeVar("Made")

PORTION: Final = 256
"""Changes, and a millisecond or two of work. Whoever has no more than this at hand does it in the loop."""
LARGE_BYTES: Final = 32 << 10
"""The same by size."""
BREATH_S: Final = 0.0001
"""Long enough for the loop to get its turn, and short beside a portion."""


class Workroom:
    """One thread: those who have much to do come one after the other, and the loop competes with one at the most."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(1, "hansard-http")

    async def do(self, work: Callable[[], Made]) -> Made:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def portions(count: int) -> Iterator[slice]:
    """Of so many things a few at a time. In the loop only where there is one portion."""
    for first in range(0, count, PORTION):
        if first:
            sleep(BREATH_S)
        yield slice(first, first + PORTION)
