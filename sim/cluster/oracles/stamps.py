"""What is seen is stamped within a second of the median of the voters' clocks, whatever one machine's clock says.

It is held against the clocks of those who voted in the last seconds: that is how long an answer about the time is good
for. Where their number is even, either of the two in the middle will do. A leader that has not been told the time for a
while goes on by its own steady clock, so it may be off by what that one drifts meanwhile. A stamp is never lower than
the one before it in the bucket; where that is what keeps it high, it is not looked at. And as long as only two voters
are heard, of whom one is wrong, nobody can say which one; who believed the wrong one then goes on with that until more
of them are heard, and who was told it by them until it is told another.
"""

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from hansard.bookmark import parent
from hansard.consensus.content import Council, Entry, Fact
from hansard.distributor.bucket import Bucket as Record
from hansard.participant.clock import FRESH
from hansard.phaser import effect as phaser
from hansard.phaser import event

from .oracle import Oracle

if TYPE_CHECKING:
    from sim.cluster.bucket import Copy
    from sim.cluster.node import Node
    from sim.cluster.world import World

TOLERANCE_US: Final = 1_000_000
RECENT_US: Final = 5_000_000
DRIFT: Final = 0.045
"""Between two steady clocks, and a little more."""


class Stamps(Oracle):
    promise = "stamps are near the voters' time"

    def __init__(self) -> None:
        self._councils: deque[tuple[int, tuple[str, ...]]] = deque()
        """Who votes, until when; the last of them still does."""
        self._told_us: dict[str, int] = {}
        """When each node was last told the time."""
        self._heard_us: dict[tuple[str, str], int] = {}
        """When each node last heard each other one's clock."""
        self._undecided_us = -RECENT_US
        """When nobody could say last which of two clocks was wrong."""
        self._unsettled = False
        """Whether no majority has been heard since."""
        self._misled: set[str] = set()
        """Who was told the time last while that was so."""
        self._last: dict[int, int] = {}
        """The last stamp in each bucket that anybody has seen."""
        self._doubtful: dict[tuple[int, int, int], str] = {}
        """By bucket, offset and checksum: they count if anybody is shown them."""

    def committed(self, world: "World", index: int, entry: Entry, fact: Fact | None, before: Sequence[Record]) -> None:
        for number, (old, new) in enumerate(zip(before, world.table.distributor.buckets, strict=True)):
            if new.born and not old.level:
                self._last[number] = self._last.get(parent(number), 0)
        if isinstance(entry.content, Council):
            if self._councils:
                self._councils[-1] = (world.clock.now_us, self._councils[-1][1])
            self._councils.append((0, tuple([voter.node for voter in entry.content.voters])))

    def started(self, node: "Node") -> None:
        """What it had heard was only in memory."""
        self._heard_us = {pair: at_us for pair, at_us in self._heard_us.items() if pair[0] != node.name}
        self._misled.discard(node.name)

    def told_time(self, node: "Node", sender: str, cluster_us: int) -> None:
        self._told_us[node.name] = self._heard_us[node.name, sender] = node.world.clock.now_us
        self.undecided(node.world)
        if self._unsettled and cluster_us:
            self._misled.add(node.name)
        elif cluster_us:
            self._misled.discard(node.name)

    def _range(self, world: "World") -> tuple[int, int]:
        """What any of the recent councils would have taken for the time."""
        now_us = world.clock.now_us
        while len(self._councils) > 1 and self._councils[0][0] < now_us - RECENT_US:
            self._councils.popleft()
        times: list[int] = []
        for _, voters in self._councils:
            for right in {True, self._recently_right(world)}:
                clocks = sorted([self._wall_us(world.by_name[name], right) for name in voters])
                times += clocks[(len(clocks) - 1) // 2 : len(clocks) // 2 + 1]
        return min(times), max(times)

    def _recently_right(self, world: "World") -> bool:
        """Whether the wrong clock was right a short while ago."""
        wrong = world.plan.wrong_clock
        return wrong is None or world.clock.now_us > wrong.at_us + RECENT_US

    def _wall_us(self, node: "Node", now: bool) -> int:
        wrong = node.world.plan.wrong_clock
        if now or wrong is None or node.world.wrong is not node:
            return node.wall_us
        return node.wall_us - wrong.by_us * (node.world.clock.now_us >= wrong.at_us)

    def bucket_turned(self, copy: "Copy", events: Sequence[event.Event], effects: Sequence[phaser.Effect]) -> None:
        instance, world = copy.phaser, copy.world.cluster
        assert instance is not None
        for effect in effects:
            if isinstance(effect, phaser.Committed):
                self._seen(copy)
            elif isinstance(effect, phaser.Persist) and instance.leading is not None:
                for write in effect.writes:
                    if isinstance(write, phaser.Put) and write.batch.header.epoch == instance.term:
                        self._stamped(copy, world, write)

    def _stamped(self, copy: "Copy", world: "World", put: phaser.Put) -> None:
        header, bucket = put.batch.header, copy.world.number
        earliest_us, latest_us = self._range(world)
        silent_us = world.clock.now_us - self._told_us.get(copy.node.name, 0)
        slack_us = TOLERANCE_US + int(silent_us * DRIFT)
        stamp = header.last_timestamp
        kept = stamp <= self._last.get(bucket, 0)
        away = stamp < earliest_us - slack_us or (stamp > latest_us + slack_us and not kept)
        if away and not self.undecided(world) and copy.node.name not in self._misled:
            off = (stamp - (latest_us if stamp > latest_us else earliest_us)) / 1e6
            what = f"{copy.name} stamps {put.batch} of bucket {bucket} {off:.3f} s away from the voters' time"
            self._doubtful[bucket, header.base_offset, header.crc] = what

    def undecided(self, world: "World") -> bool:
        """Now, or a short while ago. Whoever leads the voters knows the clocks that it has heard lately."""
        now_us, leader = world.clock.now_us, world.log_leader
        if leader is not None and leader.core is not None and world.wrong is not None:
            fresh_us = now_us - int(0.9 * FRESH * world.plan.settings.clock_us)
            voters = leader.core.time.voters  # by its own log: a council counts before it is committed
            heard = [name for name in voters if self._heard_us.get((leader.name, name), -1) >= fresh_us]
            there = {leader.name, *heard} & {*voters}
            if world.wrong.name in there and len(there) <= 2:
                self._unsettled = True
            elif 2 * len(there) > len(voters):
                self._unsettled = False
        if self._unsettled:
            self._undecided_us = now_us
        return now_us - self._undecided_us < RECENT_US

    def _seen(self, copy: "Copy") -> None:
        sequence, bucket = copy.world.sequence, copy.world.number
        if not sequence.batches:
            return
        last = sequence.batches[-1].header
        self._last[bucket] = max(self._last.get(bucket, 0), last.last_timestamp)
        for place, offset, crc in [one for one in self._doubtful if one[0] == bucket]:
            shown = sequence.at(offset)
            if shown is not None:
                what = self._doubtful.pop((place, offset, crc))
                if shown.header.crc == crc:
                    raise self.broken(what)
