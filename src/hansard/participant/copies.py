"""The buckets that are on this disk, and a phaser for each that we have a part in.

    on the shelf   on disk, and nobody needs it now; it is told of when we arrive, and dropped when it is of no use
    loading        we have a part in it by the table, and its copy is being read
    running        its phaser is told every government that is appointed, and that one's acceptance

A copy is dropped when the bucket is steady without us, and has opened a later government than the last one in which
this copy counted: then it can never again be what a lost bucket goes on with.
"""

from collections.abc import Mapping

from msgspec import Struct

from hansard.distributor.bucket import Bucket, State
from hansard.distributor.fact import Copy as Brought
from hansard.distributor.records import has
from hansard.phaser import event as phaser
from hansard.phaser.effect import Achievement
from hansard.phaser.government import Government, Shape
from hansard.phaser.leader import Phase
from hansard.phaser.phaser import Phaser
from hansard.phaser.recovered import Recovered

from .effect import Drop, Load
from .here import Here
from .name import named


class Standing(Struct, frozen=True, gc=False):
    """What a copy on disk is good for."""

    counted: int
    """The last epoch in which nothing was acknowledged without it."""
    expanded: int
    """The last epoch in which it was a newcomer with the expanded government in its log."""
    end: int
    intact: bool = True


class Copy:
    __slots__ = ("bucket", "generation", "inbox", "intact", "phaser", "told")

    def __init__(self, bucket: int, generation: int, *, intact: bool) -> None:
        self.bucket = bucket
        self.generation = generation
        """Never used twice in this process."""
        self.intact = intact
        """Nothing on its disk is known to be damaged."""
        self.phaser: Phaser | None = None
        """None while it is loading."""
        self.inbox: list[phaser.Event] = []
        self.told = 0
        """The newest epoch that its phaser was appointed to."""


class Copies:
    def __init__(self, here: Here, shelf: Mapping[int, Standing]) -> None:
        self._here = here
        self._shelf = dict(shelf)
        self._generation = 0
        self.running: dict[int, Copy] = {}
        """Those that have a phaser, or will have one when it is loaded."""
        self.busy: dict[int, None] = {}
        """Those to whom something has happened."""
        self.clock_known = False
        """Nobody opens before: it could not say what time it is."""
        self.stopped: list[int] = []
        """Buckets whose phaser was given up; whoever waits for it waits for nothing."""

    def inventory(self) -> tuple[Brought, ...]:
        shelf = sorted(self._shelf.items())
        return tuple([Brought(n, copy.counted, copy.end, copy.intact, copy.expanded) for n, copy in shelf])

    def take_busy(self) -> list[Copy]:
        """Those to whom something has happened since they were last taken."""
        busy, self.busy = self.busy, {}
        return [copy for number in busy if (copy := self.running.get(number)) is not None and copy.inbox]

    def happen(self, bucket: int, event: phaser.Event) -> bool:
        """Says whether there is anybody to whom it happens. While a copy is loading nothing happens to it: what others
        say they say again."""
        copy = self.running.get(bucket)
        if copy is None or copy.phaser is None:
            return False
        copy.inbox.append(event)
        self.busy[bucket] = None
        return True

    def tick(self) -> None:
        """For all that wait for something; most buckets are at rest most of the time."""
        for number, copy in self.running.items():
            if copy.phaser is not None and not copy.phaser.idle:
                self.happen(number, phaser.Tick())

    def happen_to_all(self, event: phaser.Event) -> None:
        for number in self.running:
            self.happen(number, event)

    # What the table says.

    def follow(self, number: int) -> None:
        """The bucket's record may have changed."""
        here = self._here
        record, member = here.distributor.buckets[number], here.member
        copy = self.running.get(number)
        if copy is None:
            if member is not None and (member in record.members or member in record.newcomers):
                self._load(number)
            elif number in self._shelf:
                self._drop_if_useless(number, record)
        elif copy.phaser is not None:
            self._tell(copy, record)
            if member is not None and not has(record, member):
                self._stop(copy)
                self._drop_if_useless(number, record)

    def _load(self, number: int) -> None:
        self._generation += 1
        standing = self._shelf.get(number)
        self.running[number] = Copy(number, self._generation, intact=standing is None or standing.intact)
        self._here.effects.append(Load(number, self._generation))

    def loaded(self, number: int, generation: int, recovered: Recovered) -> None:
        copy, here = self.running.get(number), self._here
        if copy is None or copy.generation != generation or copy.phaser is not None or here.member is None:
            return  # we have departed meanwhile
        self._shelf.pop(number, None)
        buckets = len(here.distributor.buckets)
        copy.phaser = Phaser(named(here.member), number, here.settings.phaser, recovered, buckets=buckets)
        self.follow(number)

    def _tell(self, copy: Copy, record: Bucket) -> None:
        leader = record.leader
        if leader is None:
            return
        if record.epoch > copy.told:
            copy.told = record.epoch
            self.happen(copy.bucket, phaser.Appointed(self._government(record)))
        self.accept(copy, record)

    def accept(self, copy: Copy, record: Bucket) -> None:
        """If its report is in the log, and was for the newest epoch, a leader may open."""
        leading = copy.phaser.leading if copy.phaser is not None else None
        if leading is None or leading.phase is not Phase.REPORTING or not self.clock_known:
            return
        if leading.government.epoch == record.epoch == record.opened:
            self.happen(copy.bucket, phaser.Accepted(Achievement.OPENED, record.epoch))

    def _government(self, record: Bucket) -> Government:
        assert record.leader is not None
        return Government(
            record.epoch,
            named(record.leader),
            tuple([named(member) for member in record.members]),
            tuple([named(member) for member in record.newcomers]),
            Shape(record.shape),
            self._here.distributor.settings.memory_us,
        )

    # Giving up.

    def _stop(self, copy: Copy) -> None:
        del self.running[copy.bucket]
        self.stopped.append(copy.bucket)
        if copy.phaser is not None:
            standing = copy.phaser.standing
            self._shelf[copy.bucket] = Standing(standing.counted, standing.expanded, standing.end, copy.intact)

    def stop_all(self) -> None:
        """We have departed: whatever we lead or follow is others' now. What is on disk stays there."""
        for copy in list(self.running.values()):
            self._stop(copy)

    def _drop_if_useless(self, number: int, record: Bucket) -> None:
        standing = self._shelf[number]
        last = max(standing.counted, standing.expanded)
        if record.state is State.STEADY and not record.vacant and record.opened > last:
            del self._shelf[number]
            self._here.effects.append(Drop(number))
