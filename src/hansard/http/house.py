"""What the API has of the participant that it is part of. The server hands it in, so that this room needs none."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from hansard.batch import Batch
from hansard.participant.effect import Answer, AnswerConnect
from hansard.participant.participant import Participant

from .problem import Refusal

Answered = Callable[[Answer], None]
Connected = Callable[[AnswerConnect], None]
Ended = Callable[[int | None], None]
Told = Callable[[bytes], None]
Refused = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class House:
    core: Participant
    submit: Callable[[int, Batch, int, int, Answered], None]
    """Bucket, batch, microseconds to wait, level, and whom to call with what became of it."""
    connect: Callable[[str, int, int, Connected], None]
    """A name, the broken number that it had, microseconds to wait."""
    ended: Callable[[int, int, Ended], None]
    """A bucket, microseconds to wait, and whom to tell where it ends by its leader's word; None if there was none."""
    question: Callable[[bytes, Told, Refused], None]
    """What operators ask, as server/admin.py has it."""
    is_holding: Callable[[], bool]
    """Nothing is taken from clients now: too much waits, or the participant is about to stop."""
    marked_down: Callable[[], bool]
    lag_s: Callable[[], float]
    """How late the loop is."""
    synced: Callable[[], tuple[int, float]]
    """How often the journal was synced, and how long all of that took, in seconds."""

    @property
    def cluster(self) -> str:
        """Its id; empty until it is known."""
        return self.core.consensus.cluster.id

    @property
    def is_ready(self) -> bool:
        """It takes part, and there are buckets."""
        return self.core.here.member is not None and bool(self.core.distributor.buckets)

    async def end(self, bucket: int) -> int:
        """Behind everything of a bucket that was acknowledged to anybody."""
        answer: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()

        def ended(found: int | None) -> None:
            if not answer.done():
                answer.set_result(found)

        self.ended(bucket, END_US_MAX, ended)
        found = await answer
        if found is None:
            raise Refusal("not-reachable", "nobody leads its bucket now")
        return found

    async def ask(self, **question: Any) -> Any:
        """What an operator is told; a Refusal where it is refused."""
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        def told(found: bytes) -> None:
            if not answer.done():
                answer.set_result(found)

        def refused(reason: str) -> None:
            if not answer.done():
                answer.set_exception(Refusal("refused", reason))

        self.question(msgspec.json.encode(question), told, refused)
        try:
            async with asyncio.timeout(ASK_S_MAX):
                return msgspec.json.decode(await answer)
        except TimeoutError:
            detail = f"there was no answer within {ASK_S_MAX:g} s: nobody leads the atomic log, or it is slow"
            raise Refusal("not-reachable", detail) from None


ASK_S_MAX = 15.0
END_US_MAX = 5_000_000
