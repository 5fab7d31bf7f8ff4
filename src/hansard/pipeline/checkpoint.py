"""The job `checkpoint`: of a set of tags, or of each tag with a prefix at once, the latest change of each key.

One run, and what is left if it ends there:

    1  the records of all checkpoints are read; the end of the log is where this one will be
    2  `start` is written and read back: the first in the log works, the others leave it to that one
    3  what has changed since the last checkpoint is read, and the latest of each key written, together with layers that
       are not much larger, to a folder of this run
    4  the files are synced, read back and described
    5  `end` is written for each subject and read back: the first of its number counts
    6  the hold moves to the new bookmark; what no checkpoint needs any more is removed

After 2 there is a start for which others wait until its time is over; after 3 and 4 there are files besides, which no
record names; after 5 there is a checkpoint.

Who overtakes another one takes over its work: the same bookmark on the same base, under a folder of its own. So if both
finish, both have made the same, and whichever `end` comes first counts. Who comes again under its name need not wait.

A run for each tag with a prefix has records of its own besides those of its subjects. They say up to where all of them
were looked at: so a tag that turns up later has nothing before that.
"""

import os
import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from crc32c import crc32c
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from hansard.bookmark import Bookmark
from hansard.checkpoint import Docket, End, Filed, Layer, Left, Start, Subject, umbrella
from hansard.checkpoint.docket import expiry_us
from hansard.client import Client
from hansard.client.errors import ClientError, Gone

from . import layers
from .building import Build, Wrote
from .expiry import Policy, sweep
from .folder import Folder
from .layers import folder_of
from .place import later
from .reading import joined
from .records import Register
from .source import Source

LASTS_S: Final = 3600.0
HOLD_S: Final = 7 * 86_400.0
ID_BYTES: Final = 6


class CheckpointError(Exception):
    """Why there is no checkpoint, and what to do."""


class Busy(CheckpointError):
    """Somebody else is at work on the same."""

    def __init__(self, holder: Filed[Start], now_us: int) -> None:
        super().__init__(holder, now_us)
        self.holder = holder
        self.wait_s = max(0.0, (expiry_us(holder) - now_us) / 1e6)

    def __str__(self) -> str:
        who = self.holder.record.who
        return f"{who} is at work on it; if it does not finish, it can be overtaken in {self.wait_s:.0f} s"


class Made(NamedTuple):
    """What has become of one subject."""

    subject: str
    end: End
    is_ours: bool
    """False: somebody else's `end` came first, which says the same."""


class Claim(NamedTuple):
    """What somebody who starts goes on from."""

    number: int
    base: str
    since: Bookmark
    layers: tuple[Layer, ...]


class Went(NamedTuple):
    made: list[Made]
    bookmark: Bookmark
    changes: int
    """Read from the log or the archive, at the most."""
    removed: int
    """Folders that no checkpoint needs any more."""


@dataclass(frozen=True, slots=True)
class Checkpointer:
    spark: SparkSession
    source: Source
    root: str
    subject: Subject | None = None
    prefix: str = ""
    """Instead of a subject: each tag that begins so."""
    name: str = ""
    """Under which it may come again before its time is over."""
    lasts_s: float = LASTS_S
    """After so long somebody else may overtake it."""
    archive: str = ""
    """Where to read what the log does not retain any more."""
    hold_s: float = HOLD_S
    policy: Policy = field(default_factory=Policy)
    reached: Callable[[str], None] = lambda _: None
    """Told of each step when it is done: for progress, and for tests that end it there."""

    @property
    def work(self) -> str:
        """What this run's own records are under."""
        return self.subject.name if self.subject is not None else umbrella(self.prefix)

    def run(self) -> Went:
        """Busy if somebody else is at work on the same."""
        with self.source.client() as client:
            return Run(self, client).go()


class Run:
    def __init__(self, job: Checkpointer, client: Client) -> None:
        self.job = job
        self.client = client
        self.id = secrets.token_hex(ID_BYTES)
        self.who = job.name or f"{socket.gethostname()}/{os.getpid()}"
        self.register = Register(client)
        self.folder = Folder(job.spark, f"{job.root.rstrip('/')}/{client.log_id}")
        self._claims: dict[str, Claim] = {}
        """What each was when we started: all that we make follows from that, whatever others do meanwhile."""

    def go(self) -> Went:
        job, docket = self.job, self.register.docket(self.job.work)
        until = self._until(docket)
        self._start({job.work: docket}, until)
        self._check_granted(docket)
        job.reached("started")
        try:
            known = self._known()
            self._start({name: each for name, each in known.items() if name != job.work}, until)
            return self._built(known, earliest([claim.since for claim in self._claims.values()]), until)
        except (CheckpointError, PySparkException, OSError, KeyboardInterrupt) as error:
            # Nobody has to wait for us. What was begun for others' sake is over with its time.
            self.register.write(
                {
                    job.work: Left(
                        id=self.id, number=self._claims[job.work].number, why=str(error)[:500] or "interrupted"
                    )
                }
            )
            raise

    # Who works.

    def _until(self, docket: Docket) -> Bookmark:
        """Who overtakes somebody does the same work."""
        holder = docket.holder
        if holder is not None and holder.record.base == _id_of(docket):
            return Bookmark.parse(holder.record.bookmark)
        return self.client.bookmark()

    def _start(self, dockets: Mapping[str, Docket], until: Bookmark, after: str = "") -> None:
        job, records = self.job, {}
        for name, docket in dockets.items():
            self._claims[name] = claim = Claim(
                docket.next_number, _id_of(docket), self._place(docket), self._layers(docket)
            )
            records[name] = Start(
                id=self.id,
                number=claim.number,
                who=self.who,
                named=bool(job.name),
                base=claim.base,
                bookmark=str(until),
                after=after,
                lasts_us=int(job.lasts_s * 1e6),
            )
        self.register.write(records)

    def _check_granted(self, docket: Docket) -> None:
        if self.id not in docket.granted:
            if docket.holder is not None:
                raise Busy(docket.holder, self.register.now_us)
            raise CheckpointError("somebody else has just made one: try again for a newer one")

    def _granted(self, known: Mapping[str, Docket]) -> dict[str, Docket]:
        """Of the others each is made by whoever was first there."""
        return {name: docket for name, docket in known.items() if self.id in docket.granted}

    # From where.

    def _known(self) -> dict[str, Docket]:
        """Subjects that are to be brought up to date."""
        if self.job.subject is not None:
            return {self.job.work: self.register.docket(self.job.work)}
        start = Subject.of(["x"]).name.removesuffix("x") + self.job.prefix
        return {name: docket for name, docket in self.register.dockets.items() if name.startswith(start)}

    def _place(self, docket: Docket) -> Bookmark:
        """Up to where it is known what a subject has."""
        newest = docket.newest
        if newest is not None and newest.record.location == self.folder.root:
            return Bookmark.parse(newest.record.bookmark)
        after = [start.record.after for start in docket.starts if start.record.after]
        return Bookmark.parse(after[0]) if after else Bookmark(self.client.log_id, {0: 0})

    def _changes(self, since: Bookmark, until: Bookmark) -> DataFrame:
        job = self.job
        tags = job.subject.tags if job.subject is not None else ()
        if any("," in tag for tag in tags):
            tags = ()  # the source takes them in one text; what is not wanted is left out afterwards
        if job.archive:
            return joined(job.spark, job.archive, job.source, since, until)
        try:
            self.client.page(since=since, until=until, limit=1)
        except Gone as error:
            raise CheckpointError(
                f"the log does not retain what this checkpoint needs ({error.args[0]}): give it an archive that has it "
                "(--archive), and run it often enough, or hold longer (--hold-for)"
            ) from error
        match = job.subject.match if job.subject is not None else "any"
        return job.source.changes(job.spark, since, until, tags=tags, match=match)

    # What is made.

    def _built(self, known: dict[str, Docket], since: Bookmark, until: Bookmark) -> Went:
        job = self.job
        self._hold(since)
        changes = self._changes(since, until)
        subject = job.subject
        rows = layers.of_subject(changes, subject) if subject is not None else layers.of_each(changes, job.prefix)
        granted = self._granted(known)
        bases = {folder_of(name): self._claims[name].layers for name in granted}
        build = Build(job.spark, self.folder, self.id, shared=subject is None)
        apart = [folder_of(name) for name in known if name not in granted]
        wrote = build.write(layers.latest(rows), bases, apart, job.reached)
        if subject is None:
            granted |= self._met({each.subject for each in wrote.values() if each.subject} - set(known), since, until)
            granted[job.work] = self.register.docket(job.work)
        ends = {name: self._end(self._claims[name], wrote.get(folder_of(name)), until) for name in granted}
        job.reached("described")
        self.register.write(ends)
        job.reached("ended")
        made = [self._made(name, end) for name, end in ends.items() if name != umbrella(job.prefix)]
        self._hold(until)
        removed = sweep(self.folder, self.client, job.policy)
        job.reached("swept")
        distance = sum([max(0, at - (since.offset(bucket) or 0)) for bucket, at in until.offsets.items()])
        return Went(made, until, distance, removed)

    def _met(self, found: set[str], since: Bookmark, until: Bookmark) -> dict[str, Docket]:
        """Tags that nobody has seen before: there is nothing of them before the place where this run begins."""
        fresh = {name: self.register.docket(name) for name in sorted(found)}
        self._start(fresh, until, after=str(since))
        return self._granted(fresh)

    def _layers(self, docket: Docket) -> tuple[Layer, ...]:
        """Those that there are here: who makes checkpoints at another place begins anew."""
        newest = docket.newest
        return newest.record.layers if newest is not None and newest.record.location == self.folder.root else ()

    def _end(self, claim: Claim, wrote: Wrote | None, until: Bookmark) -> End:
        found = claim.layers
        if wrote is not None:
            found = (*found[: wrote.kept], *([wrote.layer] if wrote.layer.rows else []))
        return End(
            id=self.id,
            number=claim.number,
            who=self.who,
            base=claim.base,
            bookmark=str(later(until, claim.since)),  # it may have been made by itself, and be further
            location=self.folder.root,
            layers=found,
        )

    def _made(self, name: str, end: End) -> Made:
        counted = [each.record for each in self.register.docket(name).ends if each.record.number == end.number]
        assert counted, f"{name}: an end was written, and none of its number is there"
        return Made(name, counted[0], counted[0].id == end.id)

    def _hold(self, at: Bookmark) -> None:
        if self.job.hold_s:
            name = f"checkpoint-{crc32c(self.job.work.encode()):08x}"
            question = {"ask": "hold", "name": name, "lasts_s": self.job.hold_s, "bookmark": str(at)}
            with suppress(ClientError):  # a place that is not retained any more: who reads there says so
                self.client.ask(question)


def _id_of(docket: Docket) -> str:
    return docket.newest.record.id if docket.newest is not None else ""


def earliest(places: list[Bookmark]) -> Bookmark:
    """In each bucket the earliest of these."""
    buckets = {bucket for place in places for bucket in place.offsets}
    return Bookmark(
        places[0].log_id, {bucket: min([place.offset(bucket) or 0 for place in places]) for bucket in buckets}
    )
