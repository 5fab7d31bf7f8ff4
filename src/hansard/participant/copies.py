"""The buckets that are on this disk, and a phaser for each that we have a part in.

    on the shelf   on disk, and nobody needs it now; it is told of when we arrive, and dropped when it is of no use
    loading        we have a part in it by the table, and its copy is being read
    running        its phaser is told every government that is appointed, and that one's acceptance

A copy is dropped when the bucket is steady without us, and has opened a later government than the last one in which
this copy counted: then it can never again be what a lost bucket goes on with.

A copy from before a split has what both halves have. When the table that says so comes, it is forked for every bucket
that was split off since, before anything else happens to it: what it acknowledges later is its own half's alone.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hansard.application import Application
from hansard.distributor.bucket import Bucket, State
from hansard.distributor.fact import Copy as Brought
from hansard.distributor.records import has
from hansard.phaser import event as phaser
from hansard.phaser.effect import Achievement
from hansard.phaser.government import Government, Shape
from hansard.phaser.hearing import idle
from hansard.phaser.leader import Phase
from hansard.phaser.outcome import ReadOnly
from hansard.phaser.phaser import Phaser
from hansard.phaser.recovered import Recovered
from hansard.phaser.recovered import Standing as Found

from .effect import Drop, Fork, Load, Pressure
from .here import Here
from .message import Bucketed
from .name import named

PHASER_TICK_US: Final = 100_000


class Standing(Struct, frozen=True, gc=False):
    """What a copy on disk is good for."""

    counted: int
    """The last epoch in which nothing was acknowledged without it."""
    expanded: int
    """The last epoch in which it was a newcomer with the expanded government in its log."""
    end: int
    intact: bool = True
    promised: int = 0
    """The last epoch that it has promised to follow."""
    level: int = 1
    """It has what is in the bucket where there are this many."""


def shelved(number: int, found: Found, *, intact: bool = True) -> Standing:
    """A copy as its disk has it. A fork has its parent's note until it has one of its own, and is not less for that."""
    level = max(found.buckets, 1 << number.bit_length())
    return Standing(found.counted, found.expanded, found.end, intact, found.promised, level)


class Copy:
    __slots__ = ("bucket", "generation", "halted", "hindrance", "imports", "inbox", "intact", "level", "phaser", "told")

    def __init__(self, bucket: int, generation: int, level: int, *, intact: bool) -> None:
        self.bucket = bucket
        self.level = level
        self.generation = generation
        """Never used twice in this process."""
        self.intact = intact
        """Nothing on its disk is known to be damaged."""
        self.phaser: Phaser | None = None
        """None while it is loading."""
        self.halted = False
        """It cannot be loaded, because it is damaged."""
        self.hindrance: ReadOnly | None = None
        """What its phaser was told to refuse everything with."""
        self.inbox: list[phaser.Event] = []
        self.told = 0
        """The newest epoch that its phaser was appointed to."""
        self.imports = phaser.Imports(allowed=False)
        """What it was told of that."""


class Copies:
    def __init__(
        self, here: Here, shelf: Mapping[int, Standing], applications: Sequence[Callable[[], Application]] = ()
    ) -> None:
        self._here = here
        self._shelf = dict(shelf)
        self._applications = applications
        """What makes those of one bucket."""
        self._generation = 0
        self._ticked_us = here.now_us
        self.running: dict[int, Copy] = {}
        """Those that have a phaser, or will have one when it is loaded."""
        self.busy: dict[int, None] = {}
        """Those to whom something has happened."""
        self.clock_known = False
        """Nobody opens before: it could not say what time it is."""
        self.stopped: list[int] = []
        """Buckets whose phaser was given up; whoever waits for it waits for nothing."""
        self.given_up: dict[int, None] = {}
        """Buckets whose copy here is not there, or damaged so that it cannot be mended."""

    def inventory(self) -> tuple[Brought, ...]:
        return tuple(
            [
                Brought(n, copy.counted, copy.end, copy.intact, copy.expanded, copy.level, copy.promised)
                for n, copy in sorted(self._shelf.items())
            ]
        )

    def has(self, number: int) -> bool:
        """Whether there is a copy, in use or not."""
        return number in self.running or number in self._shelf

    def take_busy(self) -> list[Copy]:
        """Those to whom something has happened since they were last taken."""
        busy, self.busy = self.busy, {}
        taken: list[Copy] = []
        for number in busy:
            copy = self.running.get(number)
            if copy is not None and copy.inbox:
                taken.append(copy)
        return taken

    def happen(self, bucket: int, event: phaser.Event) -> bool:
        """Says whether there is anybody to whom it happens. While a copy is loading nothing happens to it: what others
        say they say again."""
        copy = self.running.get(bucket)
        if copy is None or copy.phaser is None:
            return False
        copy.inbox.append(event)
        self.busy[bucket] = None
        return True

    def received(self, message: Bucketed) -> None:
        """What comes from the other side of a split that we have not heard of is not for our copy as it is. It will be
        said again."""
        bucket = message.bucket
        copy = self.running.get(bucket)
        if copy is None or copy.phaser is None or message.to != self._here.me or message.level > copy.level:
            return
        copy.inbox.append(phaser.Received(message.sender, message.message))
        self.busy[bucket] = None

    def tick(self) -> None:
        """For all that wait for something; most buckets are at rest most of the time."""
        if self._here.now_us - self._ticked_us < PHASER_TICK_US:
            return
        self._ticked_us = self._here.now_us
        for number, copy in self.running.items():
            if copy.phaser is not None and not idle(copy.phaser):
                self.happen(number, phaser.Tick())

    def happen_to_all(self, event: phaser.Event) -> None:
        for number in self.running:
            self.happen(number, event)

    # What the table says.

    def follow(self, number: int) -> None:
        """The bucket's record may have changed."""
        here = self._here
        record, member = here.distributor.buckets[number], here.member
        if member is None:
            return  # the table may be old, and the copy needed by a later one
        self._let_go(number, record)
        self._divide(number, record)
        copy = self.running.get(number)
        if copy is None:
            if member in record.members or member in record.newcomers:
                self._load(number, record)
            elif number in self._shelf:
                self._drop_if_useless(number, record)
        elif copy.phaser is not None:
            self._tell(copy, record)
            if not has(record, member):
                self._stop(copy)
                self._drop_if_useless(number, record)

    def _divide(self, number: int, record: Bucket) -> None:
        """If others were split off from it since our copy was made, it is forked for them."""
        copy, standing = self.running.get(number), self._shelf.get(number)
        if copy is not None and copy.phaser is not None:
            standing = shelved(number, copy.phaser.standing, intact=copy.intact)
        if number in self.given_up and (copy is None or copy.phaser is None):
            return  # nobody can say what it has
        level = copy.level if copy is not None else standing.level if standing is not None else record.level
        if level >= record.level:
            return
        buckets, effects = self._here.distributor.buckets, self._here.effects
        for other in range(number + level, len(buckets), level):
            there = other in self.running or other in self._shelf or not buckets[other].level
            if standing is not None and not there:
                self._shelf[other] = replace(standing, level=buckets[other].level)
                effects.append(Fork(number, other))
        if number in self._shelf:
            self._shelf[number] = replace(self._shelf[number], level=record.level)
        if copy is not None:
            copy.level = record.level
            self.happen(number, phaser.Doubled(record.level))

    def _load(self, number: int, record: Bucket) -> None:
        self._generation += 1
        standing = self._shelf.get(number)
        intact = standing is None or standing.intact
        self.running[number] = Copy(number, self._generation, record.level, intact=intact)
        if record.opened and self._here.member in record.full and not _has_all(standing, record):
            self.give_up(number)
        else:
            self._here.effects.append(Load(number, self._generation))

    def loaded(self, number: int, generation: int, recovered: Recovered) -> None:
        copy, here = self.running.get(number), self._here
        if copy is None or copy.generation != generation or copy.phaser is not None or here.member is None:
            return  # we have departed meanwhile
        self._shelf.pop(number, None)
        mine = (here.me, number, here.settings.phaser, recovered)
        applications = [make() for make in self._applications]
        table = here.distributor
        founded = len(table.buckets) if table.importing else max(1, len(table.ends))
        copy.phaser = Phaser(*mine, buckets=copy.level, founded=founded, applications=applications)
        self.follow(number)

    def halt(self, number: int, generation: int) -> None:
        """It cannot be loaded as it is."""
        copy = self.running.get(number)
        if copy is not None and copy.generation == generation:
            copy.halted = True

    def load_again(self, number: int) -> None:
        """What was in the way is mended."""
        copy = self.running.get(number)
        if copy is not None and copy.halted and number not in self.given_up:
            copy.halted = False
            self._here.effects.append(Load(number, copy.generation))

    def _tell(self, copy: Copy, record: Bucket) -> None:
        imports = self._imports(copy.bucket, record)
        if imports != copy.imports:
            copy.imports = imports
            self.happen(copy.bucket, imports)
        if record.leader is None:
            return
        if record.epoch > copy.told:
            copy.told = record.epoch
            self.happen(copy.bucket, phaser.Appointed(self._government(record)))
        self.accept(copy, record)

    def _imports(self, number: int, record: Bucket) -> phaser.Imports:
        """Whether it is being imported, and how far its log has to come before it opens for the first time."""
        table = self._here.distributor
        end = table.ends[number] if not record.opened and number < len(table.ends) else 0
        return phaser.Imports(table.importing, end)

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

    def give_up(self, number: int) -> None:
        """This copy cannot be mended. It is said of it that it is not intact, and it will be fetched anew."""
        self.given_up[number] = None
        if number in self.running:
            self.running[number].intact = False
        if number in self._shelf:
            self._shelf[number] = replace(self._shelf[number], intact=False)

    def _let_go(self, number: int, record: Bucket) -> None:
        """What is given up goes from the disk once others lead the bucket without it: they have everything."""
        member, standing = self._here.member, self._shelf.get(number)
        damaged = number in self.given_up or (standing is not None and not standing.intact)
        if not damaged or record.leader is None or member in (*record.full, *record.members):
            return
        copy = self.running.get(number)
        if copy is None or copy.halted:
            self._shelf.pop(number, None)
            self.given_up.pop(number, None)
            self._here.effects.append(Drop(number, damaged=True))
            if copy is not None:
                copy.halted, copy.intact = False, True
                self._here.effects.append(Load(number, copy.generation))

    def _stop(self, copy: Copy) -> None:
        del self.running[copy.bucket]
        self.stopped.append(copy.bucket)
        if copy.phaser is not None:  # which may not have heard yet that the bucket was split
            standing = shelved(copy.bucket, copy.phaser.standing, intact=copy.intact)
            self._shelf[copy.bucket] = replace(standing, level=copy.level)
            if copy.phaser.desk.backlog.pressed:  # it will not say any more that clients need not hold back
                self._here.effects.append(Pressure(copy.bucket, high=False))

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


def _has_all(standing: Standing | None, record: Bucket) -> bool:
    """Whether a copy on disk is one of a full member of the last opened government: whoever is one has noted it."""
    if standing is None:
        return False
    grown = record.expanded == record.opened and standing.expanded >= record.opened
    return standing.counted >= record.opened or grown
