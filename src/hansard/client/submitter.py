"""All buckets as a client submits to them: each change goes into the lane of the bucket where its key lives.

When a bucket is split, everything of it that is not settled is cut anew in one go (recut.py), before anything else is
put into any of the halves: so nothing overtakes what was submitted before it, and per key the order stays.

A stream that cannot go on (stream.py) is left to what it still has in flight. What is submitted afterwards to its
bucket goes under a new connection number, unless the numbers are a name's: then only who has the name knows what is to
become of it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import numpy as np

from hansard.batch import Batch, build, key_hash, portion
from hansard.batch.keyhash import key_hashes

from .atlas import Atlas
from .callers import Shares
from .change import Checked
from .columns import Columns
from .delivery import Delivery
from .errors import ClientClosed, NotReachable, StreamEnded
from .gate import Gate
from .lane import AnyCourier, Lane
from .numbering import Numbering, Tally
from .receipts import Receipt
from .recut import descendants, recut
from .settings import Settings
from .stream import Stream
from .submission import Submission, parcel, parted


class Portion(NamedTuple):
    """What of one call goes to one bucket."""

    bucket: int
    places: Sequence[int]
    """Of its changes in the call, rising."""
    content: Columns | Batch
    weight: int
    """Bytes as the gate counts them."""


class Submitter:
    """`couriers` makes the one that carries a stream. `renew` asks for a connection number to go on with; None where
    there is none to be asked for. `is_skeleton`: there is one bucket, and no table."""

    def __init__(
        self,
        atlas: Atlas,
        numbering: Numbering,
        settings: Settings,
        couriers: Callable[[Stream], AnyCourier],
        renew: Callable[[], Awaitable[int]] | None = None,
        *,
        is_skeleton: bool = False,
    ) -> None:
        self._atlas = atlas
        self._numbering = numbering
        self._settings = settings
        self._couriers = couriers
        self._renew = renew
        self._is_skeleton = is_skeleton
        self._loop = asyncio.get_running_loop()
        self._gate = Gate(settings.gathered_changes, settings.gathered_bytes)
        self._tally = Tally()
        self.lanes: dict[int, Lane] = {}
        self._former: list[Lane] = []
        """Of streams that have ended, as long as they have something in flight."""
        self._renewing: asyncio.Task[None] | None = None
        self._turns = asyncio.Lock()
        """First come, first served."""
        self._queued = 0
        """Who waits for a new connection number, or was there when it came and has not gone on yet."""
        self.by_caller: bool | None = None
        """Whether the caller gives the numbers; None until the first submission."""
        self.halved: Callable[[int], None] = lambda _: None
        """Told of each bucket that was split."""
        self._is_closed = False

    @property
    def connection(self) -> int:
        return self._numbering.connection

    async def close(self) -> None:
        self._is_closed = True
        self._gate.shut(ClientClosed())
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait([self._renewing])
        for lane in (*self.lanes.values(), *self._former):
            lane.stream.close(ClientClosed())
            await lane.courier.close()

    # Lanes.

    def lane(self, bucket: int) -> Lane:
        lane = self.lanes.get(bucket)
        if lane is None:
            lane = self.lanes[bucket] = self._made(bucket, self._numbering)
        return lane

    def _made(self, bucket: int, numbering: Numbering) -> Lane:
        level = self._atlas.level(bucket)
        stream = Stream(bucket, numbering, self._settings, self._gate.leave, self._tally, level)
        stream.by_caller = self.by_caller
        if not self._is_skeleton:
            stream.is_granted = True
            stream.split = lambda to: self.split(bucket, to)
        return Lane(stream, self._couriers(stream), self._settings)

    def stored_end(self, bucket: int) -> int:
        """After the last change that this client has stored there: whoever shows less is behind."""
        lane = self.lanes.get(bucket)
        return lane.courier.stored_end if lane is not None else 0

    def reroute(self) -> None:
        """The table has changed."""
        for bucket, lane in self.lanes.items():
            lane.courier.reroute(self._atlas.leader(bucket))

    def split(self, bucket: int, to: int) -> None:
        """It lives under so many buckets by now."""
        level = self._atlas.level(bucket)
        self._atlas.split(bucket, to)
        self.halved(bucket)
        whole = self.lanes.get(bucket)
        if whole is None:
            return
        if whole.stream.ended is not None:  # what is in flight there gets its answers, and neither half goes on with it
            for each, _ in descendants(bucket, level, to):
                self.lane(each).stream.ended = whole.stream.ended
            return
        submissions, missing = whole.stream.surrender(), whole.stream.chain.missing
        sent = [submission for submission in submissions if submission.numbered]
        unsent = [submission for submission in submissions if not submission.numbered]
        halves: dict[int, list[Submission]] = {}
        for some in (sent, unsent):  # what is not sent yet comes after what is
            for lane in recut([submission.built() for submission in some], bucket, level, to):
                parts = halves.setdefault(lane.bucket, [])
                parts += [parted(some[cut.whole], cut.batch, cut.places) for cut in lane.cuts]
        for number, parts in halves.items():
            if number != bucket:
                self.lanes[number] = self._made(number, whole.stream.numbering)
            half = self.lanes[number]
            half.stream.begin_again(self._atlas.level(number), parts, missing)
            if parts:
                half.courier.announce()

    # Going on after the end of a stream.

    def _open_lane(self, bucket: int) -> Lane | None:
        """None where its stream has ended, or others who waited for a new one come first."""
        lane = self.lane(bucket)
        return lane if lane.stream.ended is None and not self._queued else None

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """One after the other, and nobody passes who comes later."""
        self._queued += 1
        try:
            try:
                async with asyncio.timeout(self._settings.timeout_s):
                    await self._turns.acquire()
            except TimeoutError:
                raise NotReachable("there was no new connection number to go on with") from None
            try:
                yield
            finally:
                self._turns.release()
        finally:
            self._queued -= 1

    async def _opened(self, bucket: int) -> Lane:
        """The bucket's lane, with a new stream if it has to be."""
        while True:
            lane = self.lane(bucket)
            ended = lane.stream.ended
            if ended is None:
                return lane
            if self._is_closed:
                raise ClientClosed
            if self._renew is None:
                raise ended.again()
            if self._renewing is None:
                self._renewing = self._loop.create_task(self._renewed())
                self._renewing.add_done_callback(self._began)
            renewing = self._renewing
            await asyncio.wait([renewing])
            if renewing.cancelled():
                raise ClientClosed
            renewing.result()

    async def _renewed(self) -> None:
        assert self._renew is not None
        await self.begin_anew(await self._renew())

    async def begin_anew(self, connection: int, *, everywhere: bool = False) -> None:
        """Under another number, in all buckets whose streams have ended, and in those to which nothing was sent yet; or
        everywhere."""
        self._numbering = Numbering(connection)
        for lane in self.lanes.values() if everywhere else ():
            lane.stream.end("another connection number was asked for")
        for bucket in [bucket for bucket, lane in self.lanes.items() if lane.stream.ended is not None]:
            self._former.append(self.lanes.pop(bucket))
        over = [lane for lane in self._former if lane.stream.is_idle]
        self._former = [lane for lane in self._former if not lane.stream.is_idle]
        for lane in over:
            await lane.courier.close()

    def _began(self, task: "asyncio.Task[None]") -> None:
        self._renewing = None
        if not task.cancelled():
            task.exception()  # who waits for it is told

    # Submitting.

    def offer(self, change: Checked) -> "asyncio.Future[Receipt] | None":
        """A single change where nothing is in its way, as nearly always; None if it is for `submit`."""
        if self._is_closed or self._queued or self.by_caller is not False:
            return None
        lane = self.lanes.get(0 if self._is_skeleton else self._atlas.home(key_hash(change.key)))
        if lane is None or lane.stream.ended is not None or not self._gate.admits(1, change.byte_count):
            return None
        return self._put(lane, change)

    async def submit(self, change: Checked) -> Receipt:
        self._check_open(by_caller=False)
        if not self._gate.admits(1, change.byte_count):
            await self._gate.enter(1, change.byte_count, self._loop.time() + self._settings.timeout_s)
        bucket = self._atlas.home(key_hash(change.key)) if not self._is_skeleton else 0
        lane = self._open_lane(bucket)
        if lane is not None:
            return await self._put(lane, change)
        is_in = False
        try:
            async with self._turn():
                lane = await self._opened_home(change)
                is_in = True
                future = self._put(lane, change)
        finally:
            if not is_in:
                self._gate.leave(1, change.byte_count)
        return await future

    def _put(self, lane: Lane, change: Checked) -> "asyncio.Future[Receipt]":
        future: asyncio.Future[Receipt] = self._loop.create_future()
        lane.add(change, future, self._loop.time())
        return future

    async def _opened_home(self, change: Checked) -> Lane:
        """Of the bucket where the key lives when it is open: it may have been split meanwhile."""
        while True:
            bucket = self._atlas.home(key_hash(change.key)) if not self._is_skeleton else 0
            lane = await self._opened(bucket)
            if self._is_skeleton or self._atlas.home(key_hash(change.key)) == bucket:
                return lane

    async def submit_batch(self, batch: Batch, *, by_caller: bool) -> Sequence[Receipt]:
        """Cut by buckets, and each part with a fate of its own."""
        return await self._submit(len(batch), batch.length, lambda: self._cut(batch), by_caller=by_caller)

    async def submit_columns(self, columns: Columns) -> Sequence[Receipt]:
        """The same for columns. What goes to one bucket is in one batch, together with what others submit."""
        count, byte_count = len(columns.keys), columns.byte_count
        return await self._submit(count, byte_count, lambda: self._cut_columns(columns), by_caller=False)

    async def _submit(
        self, count: int, byte_count: int, cut: Callable[[], Sequence[Portion]], *, by_caller: bool
    ) -> Sequence[Receipt]:
        self._check_open(by_caller=by_caller)
        if not self._gate.admits(count, byte_count):
            await self._gate.enter(count, byte_count, self._loop.time() + self._settings.timeout_s)
        is_in = False
        try:
            portions = cut()
            if all(self._open_lane(each.bucket) for each in portions):
                is_in = True
                future = self._put_portions(count, portions, by_caller=by_caller)
            else:
                async with self._turn():
                    portions = cut()  # there may be other buckets by now
                    while ended := [each.bucket for each in portions if self.lane(each.bucket).stream.ended]:
                        await self._opened(ended[0])
                        portions = cut()
                    is_in = True
                    future = self._put_portions(count, portions, by_caller=by_caller)
        finally:
            if not is_in:
                self._gate.leave(count, byte_count)
        return await future

    def _put_portions(
        self, count: int, portions: Sequence[Portion], *, by_caller: bool
    ) -> "asyncio.Future[Sequence[Receipt]]":
        future: asyncio.Future[Sequence[Receipt]] = self._loop.create_future()
        delivery, now = Delivery(count, future), self._loop.time()
        for bucket, places, content, weight in portions:
            lane = self.lane(bucket)
            if isinstance(content, Columns):
                lane.extend(content, delivery, places, now)
                continue
            callers = Shares()
            callers.add(delivery, places)
            submission = parcel(now + self._settings.timeout_s, content, callers)
            submission.weight = weight
            if by_caller and content.header.connection and not self._is_skeleton:
                submission.number_as(content)
            lane.put(submission)
        return future

    def _cut_columns(self, columns: Columns) -> list[Portion]:
        count = len(columns.keys)
        if self._is_skeleton:
            return [self._portion(0, range(count), columns)]
        homes = self._atlas.homes(key_hashes(columns.keys))
        first = int(homes[0])
        if (homes == first).all():
            return [self._portion(first, range(count), columns)]
        order = homes.argsort(kind="stable")  # by bucket, and in each as they came
        places, homes = order.tolist(), homes[order]
        arranged = columns.arranged(places)
        starts = [0, *((homes[1:] != homes[:-1]).nonzero()[0] + 1).tolist()]
        return [
            self._portion(bucket, places[start:end], arranged.run(start, end))
            for bucket, start, end in zip(homes[starts].tolist(), starts, [*starts[1:], count], strict=True)
        ]

    def _portion(self, bucket: int, places: Sequence[int], columns: Columns) -> Portion:
        """What is as large as a batch should be does not gather; what is larger than one can be is said now."""
        is_large = len(places) > self._settings.batch_changes or columns.byte_count > self._settings.batch_bytes
        content = build(columns.keys, columns.values, columns.tags) if is_large else columns
        return Portion(bucket, places, content, columns.byte_count)

    def _cut(self, batch: Batch) -> list[Portion]:
        """The parts of a batch, by bucket."""
        if batch.header.connection != self.connection:  # it has waited at the gate meanwhile
            raise StreamEnded(batch.header.connection, "another connection number was asked for")
        homes = self._atlas.homes(batch.key_hashes) if not self._is_skeleton else np.zeros(len(batch), np.int64)
        buckets, left = np.unique(homes).tolist(), batch.length
        if len(buckets) == 1:
            return [Portion(buckets[0], range(len(batch)), batch, batch.length)]
        portions = []
        for bucket in buckets:
            places = (homes == bucket).nonzero()[0]
            weight = left if bucket == buckets[-1] else batch.length * len(places) // len(batch)
            left -= weight  # together, what has entered the gate
            portions.append(Portion(bucket, places.tolist(), portion(batch, places), weight))
        return portions

    def _check_open(self, *, by_caller: bool) -> None:
        if self._is_closed:
            raise ClientClosed
        if self._is_skeleton and (lane := self.lane(0)).stream.ended is not None:
            raise lane.stream.ended.again()
        if not self.connection:
            return
        if self.by_caller is None:
            self.by_caller = by_caller
            if self._is_skeleton:
                self.lane(0).stream.by_caller = by_caller
        elif self.by_caller != by_caller:
            raise ValueError("a stream is numbered by the client (submit, submit_many) or by the caller (submit_batch)")
