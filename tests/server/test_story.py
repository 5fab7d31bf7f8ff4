"""What the log of a process tells of its cluster: real participants in virtual time, and a story beside one of them."""

import logging
from collections.abc import Iterator

import pytest

from hansard.consensus.cluster import ClusterId
from hansard.consensus.effect import Led, Left, Outdated, Refused, Strange, Superseded
from hansard.distributor.bucket import Bucket
from hansard.distributor.command import Double, Drain
from hansard.distributor.member import Member
from hansard.participant.effect import Bereft, Thinned
from hansard.participant.event import Event, Leave
from hansard.server.logs import fields
from hansard.server.story import LEADERLESS_US, Story
from hansard.server.turnover import LISTED_MAX, Turn, turned
from tests.participant.cluster import SECOND, Cluster, Node

NOTICES = (Thinned, Bereft, Led, Strange, Refused, Left, Superseded, Outdated)
A, B, C = Member("a", 1), Member("b", 1), Member("c", 1)


class Told(logging.Handler):
    """The lines of the story, and what is said beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    @property
    def lines(self) -> list[str]:
        return [record.getMessage() for record in self.records]

    def fields(self, line: str) -> dict[str, object]:
        return next(fields(record) for record in self.records if record.getMessage() == line)

    def severity(self, line: str) -> int:
        return next(record.levelno for record in self.records if record.getMessage() == line)

    def take(self) -> list[str]:
        lines = self.lines
        self.records.clear()
        return lines


@pytest.fixture
def told() -> Iterator[Told]:
    handler, logger = Told(), logging.getLogger("hansard")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(before)


class Narrated(Cluster):
    """The story of one of them, as its shell would have it told."""

    def __init__(self, whose: str) -> None:
        super().__init__()
        self.whose = whose
        self.story = Story(whose, lambda: self.now_us)

    def _turn(self, node: Node, events: list[Event]) -> None:
        seen = len(self.told)
        super()._turn(node, events)
        if node.name == self.whose and node.core is not None:
            for name, effect in self.told[seen:]:
                if name == self.whose and isinstance(effect, NOTICES):
                    self.story.tell(effect)
            self.story.look(node.core)


def formed(buckets: int = 2) -> Narrated:
    cluster = Narrated("a")
    cluster.add("a", "b", "c")
    cluster.found(buckets, participants=3)
    cluster.steady()
    cluster.run(2)
    return cluster


def test_a_beginning_is_told_once_and_in_order(told: Told) -> None:
    formed()
    assert told.lines == [
        "a leads the atomic log, in term 1",
        "a#1 takes part in cluster joined, alone: no buckets yet",
        "b#1 has arrived, at b:1",
        "c#1 has arrived, at c:1",
        "bucket 0 is open: a leads b c",
        "bucket 1 is open: b leads c a",
    ]
    assert told.fields("b#1 has arrived, at b:1") == {"participant": "b", "incarnation": 1, "address": "b:1"}
    opened = {"bucket": 0, "epoch": 1, "leader": "a", "turn": "opened"}
    assert told.fields("bucket 0 is open: a leads b c") == opened


def test_nothing_is_told_of_changes(told: Told) -> None:
    cluster = formed()
    told.take()
    for number in range(20):
        cluster.answer(cluster.submit("a", f"k{number}".encode()))
    cluster.run(2)
    assert told.take() == []


def test_a_lease_that_ends_is_told_with_what_follows_and_that_all_is_well_again(told: Told) -> None:
    cluster = formed()
    told.take()
    cluster.crash("c")
    cluster.run(5)
    assert told.lines == [
        "c#1 has departed: nothing was heard of it for longer than its lease",
        "bucket 0 goes on without c: a leads b",
        "bucket 1 goes on without c: b leads a",
        "2 buckets have fewer copies than wanted: 0, 1",
    ]
    assert {told.severity(told.lines[0]), told.severity(told.lines[3])} == {logging.WARNING}
    assert told.fields(told.lines[0]) == {"participant": "c", "incarnation": 1, "why": "silent"}
    told.take()
    cluster.start("c")
    cluster.steady()
    cluster.run(2)
    lines = told.take()
    assert lines[0] == "c#2 has arrived, at c:1"
    assert lines[-1] == "all buckets have all their copies again"
    assert [sum(f"bucket {number} has another copy" in line for line in lines) for number in (0, 1)] == [1, 1]


def test_who_goes_by_itself_and_who_is_given_up_are_told_apart(told: Told) -> None:
    cluster = formed()
    cluster.add("d")
    cluster.run(2)
    told.take()
    cluster.happen("b", Leave("b"))
    cluster.run(2)
    assert "b#1 has left, as it wanted to" in told.take()
    cluster.crash("d")
    cluster.happen("a", Leave("d"))
    cluster.run(0.2)
    assert "d#1 has departed: it was given up by order" in told.take()


def test_many_buckets_are_told_in_one_line(told: Told) -> None:
    cluster = formed(16)
    assert [line for line in told.take() if "bucket" in line][1:] == [
        "16 buckets are open: a leads 6, b leads 5, c leads 5"
    ]
    cluster.crash("c")
    cluster.run(5)
    lines = told.take()
    assert lines[1].startswith("16 buckets go on with fewer copies: a leads ")
    assert lines[2] == "16 buckets have fewer copies than wanted: 0, 1, 2, 3 ..." and len(lines) == 3


def test_a_drain_and_a_doubling_are_told_as_what_becomes_of_the_buckets(told: Told) -> None:
    cluster = formed()
    cluster.add("d")
    cluster.run(10)
    told.take()
    cluster.order(Drain("c"))
    cluster.run(10)
    moved = [line for line in told.take() if "has moved" in line]
    assert moved and all("in place of c" in line for line in moved)
    cluster.order(Double(4))
    cluster.run(20)
    split = [line for line in told.take() if "split off" in line]
    assert sorted(line.partition(":")[0] for line in split) == [
        f"bucket {number} is split off, one of 4" for number in range(4)
    ]


def test_a_lost_bucket_is_named_with_who_could_bring_it_back(told: Told) -> None:
    cluster = Narrated("a")
    cluster.add("a", "b")
    cluster.found(2, participants=2, replication=1)
    cluster.steady()
    cluster.add("c")
    cluster.run(5)
    mine = next(number for number in range(2) if cluster.leader(number) == "b")
    told.take()
    cluster.crash("b")
    cluster.run(5)
    (line,) = [line for line in told.lines if "lost" in line]
    assert line == f"bucket {mine} is lost: nobody is there who has all of it; b could bring it back"
    assert told.severity(line) == logging.ERROR
    told.take()
    cluster.start("b")
    cluster.run(10)
    assert any(line.startswith(f"bucket {mine} is back: b leads") for line in told.take())


def test_a_start_sums_up_what_is_there_and_does_not_tell_it_all_again(told: Told) -> None:
    cluster = formed()
    cluster.crash("a")
    cluster.run(0.2)
    told.take()
    cluster.story = Story("a", lambda: cluster.now_us)
    cluster.start("a")
    cluster.run(2)
    lines = told.take()
    summary = [line for line in lines if "takes part" in line]
    assert len(summary) == 1 and "with b, c: 2 buckets, of which it leads" in summary[0]
    assert not [line for line in lines if "has arrived" in line]


# What has no cluster around it.


def test_the_moment_between_two_leaders_is_not_told_and_a_long_one_is_once(told: Told) -> None:
    cluster = formed()
    story, core = cluster.story, cluster.core("a")
    told.take()
    story.tell(Led("", 2))
    cluster.now_us += SECOND
    story.look(core)
    story.tell(Led("b", 2))
    assert told.take() == ["b leads the atomic log, in term 2"]
    story.tell(Led("", 3))
    for _ in range(3):
        cluster.now_us += LEADERLESS_US
        story.look(core)
    assert [line.partition(":")[0] for line in told.take()] == ["nobody leads the atomic log"]


def test_what_is_said_again_and_again_is_told_once(told: Told) -> None:
    story = Story("a", lambda: 0)
    for _ in range(5):
        story.tell(Strange("x", "x:1", ClusterId("other")))
        story.tell(Strange("y", "y:1", ClusterId("other")))
        story.tell(Refused("another a is there"))
    assert told.lines == [
        "x at x:1 belongs to another cluster (other) and is not listened to",
        "y at y:1 belongs to another cluster (other) and is not listened to",
        "cannot come in: another a is there; trying on",
    ]


def governed(*members: Member, epoch: int = 1, **more: object) -> Bucket:
    """Open, under the first of them."""
    given = {"epoch": epoch, "leader": members[0], "members": members, "opened": epoch, "full": members, "level": 4}
    return Bucket(**{**given, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "now", "turn"),
    [
        (governed(A, B), governed(A, B), None),
        (Bucket(level=4), governed(A, B), Turn.OPENED),
        (governed(A, B), governed(A, B, epoch=2, opened=1), Turn.APPOINTED),
        (governed(A, B), governed(A, B, epoch=2, opened=1, newcomers=(C,)), Turn.COPYING),
        (governed(A, B), governed(A, B, epoch=2, newcomers=(C,)), Turn.COPYING),
        (governed(A, B), governed(A, B, C, epoch=2, expanded=2), Turn.COPIED),
        (governed(A, B), governed(B, C, epoch=3), Turn.MOVED),
        (governed(A, B), governed(B, epoch=2, vacant=(1,)), Turn.THINNED),
        (governed(A, B, C), governed(A, B, epoch=2), Turn.MOVED),
        (governed(A, B), governed(B, A, epoch=2), Turn.LED),
        (governed(A, B), governed(A, B, epoch=2), Turn.RENEWED),
        (governed(A, B), governed(A, B, epoch=2, born=2, level=8), Turn.SPLIT),
        (governed(A, B), governed(A, B, epoch=2, leader=None, opened=1), None),
        (governed(A, B, leader=None), governed(A, epoch=2), Turn.REVIVED),
    ],
)
def test_of_a_bucket_one_thing_is_told(before: Bucket, now: Bucket, turn: Turn | None) -> None:
    assert turned(before, now) is turn


def test_few_are_fewer_than_an_ordinary_cluster_has() -> None:
    assert LISTED_MAX < 8, "what happens to all eight buckets of a new cluster is one line"
