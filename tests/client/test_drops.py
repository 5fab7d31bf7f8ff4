"""Over real sockets, with participants that refuse, hang up and change places at random: stored once and in order.

test_interleavings.py has many more orders of events; here are the courier, the links and the loop as well.
"""

import asyncio
from collections.abc import Callable
from random import Random

import pytest

from hansard.client import AsyncClient, Receipt, Settings
from hansard.wire.submission import Answer, Busy, Expired, NotLeader, Submit, Unknown
from tests.client.fake import LOOPS, Bucket, FakeParticipant, Hangup, run

PARTICIPANTS = 3
TURNS = 40


class Play:
    """Three participants with one bucket, of which one leads, and now and then another."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.bucket = Bucket()
        self.trouble = random.choice((0.05, 0.2, 0.4))
        self.participants = [FakeParticipant(bucket=self.bucket, otherwise=self.as_participant(n)) for n in range(3)]
        self.leading = 0
        self.late: list[Submit] = []
        """What was on a connection that ended: it may yet be taken."""

    def as_participant(self, number: int) -> Callable[[Submit, Bucket], Answer | None]:
        def act(submit: Submit, bucket: Bucket) -> Answer | None:
            random = self.random
            if self.late and random.random() < 0.3:
                bucket.store(self.late.pop(0))
            if random.random() < self.trouble / 4:
                self.leading = random.randrange(PARTICIPANTS)
            if number != self.leading:
                address = self.participants[self.leading].address
                return NotLeader(submit.id, None, random.choice((address, address, None)), 1)
            if random.random() >= self.trouble:
                return bucket.store(submit)
            return self.refused(submit, bucket)

        return act

    def refused(self, submit: Submit, bucket: Bucket) -> Answer:
        match self.random.randrange(7):
            case 0:
                return Busy(submit.id)
            case 1:
                return Expired(submit.id)
            case 2:
                return Unknown(submit.id)
            case 3:
                bucket.store(submit)
                raise Hangup
            case 4:
                self.late.append(submit)
                raise Hangup
            case 5:
                self.participants[self.leading].hang_up()
                return bucket.store(submit)
            case _:
                raise Hangup


async def play(seed: int) -> None:
    random = Random(seed)
    scene = Play(random)
    one, two, three = scene.participants
    settings = Settings(backoff_min_s=0.0001, backoff_max_s=0.002, window_batches=random.randint(1, 8))
    async with one, two, three:
        addresses = [participant.address for participant in scene.participants]
        async with await AsyncClient.connect(addresses, connection=7, settings=settings, random=random) as client:
            tasks: list[asyncio.Task[Receipt]] = []
            for _ in range(TURNS):
                for _ in range(random.choice((1, 1, 2, 5))):
                    tasks.append(asyncio.ensure_future(client.submit("k", str(len(tasks)))))
                for _ in range(random.choice((0, 1, 3, 10))):
                    await asyncio.sleep(0)
            receipts = await asyncio.gather(*tasks)
        values = scene.bucket.values
        assert values == [b"%d" % n for n in range(len(tasks))]
        for n, receipt in enumerate(receipts):
            assert receipt.offset == n


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("ten", range(10))
def test_each_change_is_stored_once_and_in_order(ten: int, loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    for seed in range(10 * ten, 10 * ten + 10):
        run(play(seed), loop)
