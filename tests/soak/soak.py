"""Producers and followers against a cluster whose participants are killed every few seconds, while its buckets double
twice and one participant is drained. One producer and one follower have nothing but HTTP. In the end every receipt's
change is in the log once, in the order of its key, and every follower has seen every change once by its bookmarks.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Final

from hansard.cli.local import LocalCluster
from hansard.client import AsyncClient, Change
from hansard.client.errors import ClientError, NotStored, OutcomeUnknown
from hansard.client.operator import Operator
from hansard.demo.audit import Audit, Broken, Watch

PARTICIPANTS: Final = 4
BUCKETS: Final = 2
PRODUCERS: Final = 3
KEYS: Final = 8
"""Of each producer, each with one submission under way at a time."""
BATCH: Final = 20
"""Every fourth key's changes come so many at a time."""
PACE_S: Final = 0.02
TIMEOUT_S: Final = 60.0
KILL_S: Final = (0.5, 2.5)
"""From one kill to the next."""
DOWN_S: Final = (0.0, 1.0)
REBORN_S: Final = (1.0, 4.0)
"""From one life of the follower that comes again by its bookmark to the next."""
LIFE_CHANGES: Final = 4_000
END_S_MAX: Final = 90.0
TAGS: Final = ("even", "odd")


class Soak:
    def __init__(self, directory: Path, seconds: float, seed: int = 0) -> None:
        self.seconds = seconds
        self.audit = Audit()
        self.happened: Counter[str] = Counter()
        """So that nobody takes a run for a test in which nothing happened."""
        self._random = Random(seed)
        self._cluster = LocalCluster(directory, buckets=BUCKETS)
        self._producing = True
        self._watches = (
            Watch(self.audit, "a follower"),
            Watch(self.audit, "a follower of a tag", lambda number: number % 2 == 1),
            Watch(self.audit, "a follower that comes again"),
            Watch(self.audit, "a follower that comes again over HTTP"),
        )

    async def run(self) -> None:
        """Raises Broken, or what else went wrong, in a group."""
        with self._cluster:
            await asyncio.to_thread(self._cluster.start, PARTICIPANTS, None)
            everything, odd, again, web = self._watches
            async with asyncio.TaskGroup() as group:
                followers = [
                    group.create_task(self._follow(everything, "soak")),
                    group.create_task(self._follow(odd, "odd")),
                    group.create_task(self._follow_again(again)),
                    group.create_task(self._follow_again(web, over_http=True)),
                ]
                producers = [group.create_task(self._produce(number)) for number in range(PRODUCERS)]
                await self._torment()
                self._producing = False
                await asyncio.wait(producers)
                await self._until(self._caught_up, "followers do not catch up")
                for follower in followers:
                    follower.cancel()
            await self._check()

    # Those who write.

    async def _produce(self, number: int) -> None:
        over_http = number == PRODUCERS - 1
        async with await self._client(over_http=over_http) as client, asyncio.TaskGroup() as group:
            for key in range(KEYS):
                batch = BATCH if key % 4 == 3 else 1
                group.create_task(self._count_up(client, f"{number}/{key}", batch))

    async def _count_up(self, client: AsyncClient, stem: str, batch: int) -> None:
        """In one key, until nobody knows what became of a change: that one may come late, so another key goes on."""
        for life in count():
            key, number, known = f"{stem}/{life}", 0, True
            while self._producing and known:
                known = await self._submit(client, key, range(number, number + batch))
                number += batch
                await asyncio.sleep(PACE_S * batch * self._random.random())
            if not self._producing:
                return

    async def _submit(self, client: AsyncClient, key: str, numbers: range) -> bool:
        """Whether it is known what has become of it."""
        values = [json.dumps({"n": number}) for number in numbers]
        tags = [[TAGS[number % 2], "soak"] for number in numbers]
        try:
            if len(numbers) == 1:
                await client.submit(key, values[0], tags[0])
            else:
                await client.submit_many([key] * len(numbers), values, tags)
        except NotStored:
            self.happened["refused"] += 1
            return True
        except (OutcomeUnknown, ClientError):
            self.happened["unknown"] += 1
            return False
        for number in numbers:
            self.audit.acknowledge(key, number)
        return True

    async def _client(self, *, over_http: bool = False) -> AsyncClient:
        addresses = self._cluster.urls if over_http else self._cluster.addresses
        return await AsyncClient.connect(self._random.sample(addresses, len(addresses)), timeout_s=TIMEOUT_S)

    # Those who read.

    async def _follow(self, watch: Watch, tag: str) -> None:
        async with await self._client() as client:
            async for change in client.follow(tags=[tag]):
                _see(watch, change)

    async def _follow_again(self, watch: Watch, *, over_http: bool = False) -> None:
        """Again and again, with nothing but the text of the bookmark of the time before: after some changes, in the
        middle of what has come, or after some time."""
        token: str | None = None
        while True:
            async with await self._client(over_http=over_http) as client:
                follow, left = client.follow(since=token, tags=["soak"]), self._random.randrange(1, LIFE_CHANGES)
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._random.uniform(*REBORN_S)):
                        async for change in follow:
                            _see(watch, change)
                            token, left = str(follow.bookmark), left - 1
                            if not left:
                                break
            self.happened["came again"] += 1

    # What happens to them.

    async def _torment(self) -> None:
        """Kills without end, and between them, at their time, what takes longer."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        later = [(0.25, self._double), (0.45, self._drain), (0.65, self._double)]
        while (share := (loop.time() - began_s) / self.seconds) < 1:
            if later and share >= later[0][0]:
                await later.pop(0)[1]()
            await asyncio.sleep(self._random.uniform(*KILL_S) * min(1.0, self.seconds / 30))
            await self._kill()
        for _, happen in later:  # a machine that has much to do does not get to all of it in time
            await happen()

    async def _kill(self) -> None:
        """The next one only when this one takes part again, and has what it missed."""
        name = self._random.choice(list(self._cluster.children))
        await asyncio.to_thread(self._cluster.kill, name)
        self.happened["killed"] += 1
        await asyncio.sleep(self._random.uniform(*DOWN_S))
        await asyncio.to_thread(self._cluster.restart, name)
        await self._until(self._is_whole, f"copies are missing since {name} was killed")

    async def _double(self) -> None:
        async with self._operator() as operator:
            buckets = len((await operator.ask(ask="table"))["buckets"])
            await operator.order({"type": "double", "to": 2 * buckets}, wait_s=END_S_MAX)
        self.happened["doubled"] += 1

    async def _drain(self) -> None:
        async with self._operator() as operator:
            drained = await operator.order({"type": "drain", "node": "b"}, wait_s=END_S_MAX)
            assert drained["standing"] == "done", drained
            await operator.order({"type": "undrain", "node": "b"})
        self.happened["drained"] += 1

    def _operator(self) -> Operator:
        return Operator(self._cluster.addresses, timeout_s=TIMEOUT_S)

    async def _is_whole(self) -> bool:
        async with self._operator() as operator:
            with suppress(ClientError):
                status = await operator.ask(ask="status")
                return not status["thinned"] and not status["lost"] and len(status["participants"]) == PARTICIPANTS
        return False

    async def _until(self, condition: Callable[[], Awaitable[bool]], otherwise: str) -> None:
        deadline_s = asyncio.get_running_loop().time() + END_S_MAX
        while not await condition():
            if asyncio.get_running_loop().time() > deadline_s:
                raise Broken(otherwise)
            await asyncio.sleep(0.1)

    # In the end.

    async def _caught_up(self) -> bool:
        return not any(watch.behind() for watch in self._watches) and not any(
            watch.missing() for watch in self._watches
        )

    async def _check(self) -> None:
        """All of the log, once more from its beginning."""
        watch = Watch(self.audit, "who reads it all")
        async with await self._client() as client:
            async for change in client.read():
                _see(watch, change)
        missing = watch.missing()
        if missing:
            raise Broken(f"{len(missing)} acknowledged changes are not in the log, {missing[0]} first")


def _see(watch: Watch, change: Change) -> None:
    try:
        watch.see((change.key or b"").decode(), json.loads(change.value or b"")["n"])
    except Broken as broken:
        place = f"bucket {change.bucket}, offset {change.offset}, connection {change.connection}, {change.series}"
        raise Broken(f"{broken} ({place})") from None
