"""What follows from the log of a bucket, and from nothing else: the streams, the decrees, and the applications' states.

What an entry does is *pending* when it is appended, and *settled* when it is known to be committed; a cut drops what
is pending. What is settled is a function of the committed log, alike on all members. It is stored now and then as a
`State`, so that a restart replays little, and handed to newcomers, and to both halves of a split.

An application is applied to what is settled only, because nothing can be taken back from it. So the batches that are
not settled are held for it; without an application none are.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

from hansard.application import Application, HistoryGone, Host, Image
from hansard.application.image import named
from hansard.batch import Batch

from . import streams
from .decree import Decree, decree_in
from .government import Government
from .recovered import State
from .settings import Settings

_MEMORY_US: Final = Government(0, "", ("",)).memory_us
_IMAGE_BYTES_PER_BATCH: Final = 4096
"""To store so much of an application's state costs about as much as to apply a batch again."""


class Derived:
    """Invariant: all is derived from the log between `state_from` and its end, on top of the state there."""

    __slots__ = (
        "decree",
        "decrees",
        "due",
        "due_bytes",
        "held",
        "hosts",
        "image_bytes",
        "results",
        "state_from",
        "streams",
    )

    def __init__(self, applications: Sequence[Application] = (), bucket: int = 0, founded: int = 1) -> None:
        self.hosts = [Host(application, bucket, founded) for application in applications]
        names = [streams.NAME, *[host.name for host in self.hosts]]
        assert len({*names}) == len(names), f"each has a name of its own: {names}"
        self.streams = streams.Streams(_MEMORY_US)
        self.decree: Decree | None = None
        """The last one in the committed log."""
        self.decrees: deque[tuple[int, Decree]] = deque()
        """Those after it, with their offsets."""
        self.held: deque[tuple[Batch, Decree | None]] = deque()
        """What is not settled, for the applications; with the decree that it is."""
        self.results: dict[int, bytes] = {}
        """What the applications said to the changes that were settled last, by offset; the first one that said
        anything."""
        self.state_from: int | None = None
        """All is complete from this offset on; None where there is no state to begin with."""
        self.due = 0
        """Batches since the state was last stored, which a restart has to replay."""
        self.due_bytes = 0
        self.image_bytes = 0
        """What the applications' states took when they were last stored or sent."""

    @property
    def latest_decree(self) -> Decree | None:
        return self.decrees[-1][1] if self.decrees else self.decree

    @property
    def level(self) -> int:
        """The number of buckets, as the settled log has it."""
        return self.decree.buckets if self.decree is not None else 1

    def host(self, name: str) -> Host | None:
        return next((host for host in self.hosts if host.name == name), None)

    # From the log.

    def append(self, batch: Batch) -> None:
        """What is before the state is in it; but an application that was attached later has to see it."""
        offset = batch.header.base_offset
        self.due += 1
        self.due_bytes += batch.length
        if self.state_from is None:
            return
        if offset < self.state_from:
            if self.hosts:
                self._apply(batch, decree_in(batch))
            return
        self.streams.append(batch)
        decree = decree_in(batch)
        if decree is not None:
            self.decrees.append((offset, decree))
        if self.hosts:
            self.held.append((batch, decree))

    def settle(self, end: int) -> None:
        """Everything before this is committed."""
        while self.decrees and self.decrees[0][0] < end:
            offset, self.decree = self.decrees.popleft()
            self.streams.commit(offset)
            self.streams.memory_us = self.decree.government.memory_us
        self.streams.commit(end)
        self.results = {}
        while self.held and self.held[0][0].header.end_offset <= end:
            self.results |= self._apply(*self.held.popleft())

    def _apply(self, batch: Batch, decree: Decree | None) -> dict[int, bytes]:
        """A decree says how many buckets there are from it on: so a split is at the same place of the log for all."""
        results: dict[int, bytes] = {}
        for host in self.hosts:
            if host.offset <= batch.header.base_offset:
                results = host.apply(batch) | results
                if decree is not None:
                    host.rise(decree.buckets)
        return results

    def cut(self, end: int) -> None:
        """Everything from an offset on is unrolled. It was not settled."""
        self.streams.cut(end)
        while self.decrees and self.decrees[-1][0] >= end:
            self.decrees.pop()
        while self.held and self.held[-1][0].header.base_offset >= end:
            self.held.pop()

    # From a state, and to it.

    def begin(self) -> None:
        """The log is there from its beginning, and there is nothing to go on from."""
        self.state_from = 0

    def clear(self) -> None:
        """The log is thrown away, and another state will come."""
        self.state_from, self.decree = None, None
        self.decrees.clear()
        self.held.clear()
        self.streams.restore(streams.Image(0, ()))
        for host in self.hosts:
            host.clear()

    def install(self, state: State, start: int) -> None:
        """Go on from a state, where the log begins at `start`. An application that the state knows nothing of sees the
        log from its beginning; HistoryGone where that is not there."""
        self.clear()
        self.state_from, self.decree = state.offset, state.decree
        if state.decree is not None:
            self.streams.memory_us = state.decree.government.memory_us
        table = named(state.images, streams.NAME)
        if table is not None:
            self.streams.join(table.version, table.entries)
        else:
            self.streams.restore(state.streams)
        self.image_bytes = 0
        for host in self.hosts:
            image = named(state.images, host.name)
            if image is not None:
                host.restore(image)
                self.image_bytes += image.byte_count
            elif start:
                raise HistoryGone(host.name, host.bucket, start)

    def state(self, offset: int, timestamp: int) -> State:
        """All that is settled."""
        images = [host.image() for host in self.hosts]
        self.image_bytes = sum([image.byte_count for image in images])
        table = Image(streams.NAME, streams.VERSION, offset, self.level, self.streams.entries())
        return State(offset, timestamp, self.decree, images=(table, *images))

    def is_due(self, settings: Settings) -> bool:
        """Whether the state is to be stored: the larger it is, the rarer, because that costs by its length."""
        rarer = len(self.streams.settled) // 4 + self.image_bytes // _IMAGE_BYTES_PER_BATCH
        too_many = self.due >= settings.checkpoint_batches + rarer
        return too_many or self.due_bytes >= max(settings.checkpoint_bytes, self.image_bytes)

    def stored(self) -> None:
        self.due = self.due_bytes = 0
