"""Checkpoints of a real cluster, against a plain computation over its log: while it takes writes and loses
participants, while makers of checkpoints die at every step, overtake each other, and come again."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hansard.bookmark import Bookmark
from hansard.checkpoint import RECORDS, Docket, End, Subject, umbrella
from hansard.client import Change, Client
from hansard.client.checkpoints import filed_of
from hansard.pipeline.checkpoint import Busy, Checkpointer, Went
from hansard.pipeline.expiry import Policy, expired
from hansard.pipeline.source import Source
from hansard.testing import Cluster, cluster

STEPS = ("started", "written", "described", "ended", "swept")
State = dict[bytes | None, Change]


class Killed(BaseException):
    """Nobody catches it, and nothing is said in the log: as kill -9 leaves it."""


@pytest.fixture(scope="module")
def three() -> Iterator[Cluster]:
    with cluster(buckets=2) as running:
        yield running


@pytest.fixture
def client(three: Cluster) -> Iterator[Client]:
    with Client.connect(three.addresses, token=three.token, timeout_s=30) as client:
        yield client


class Maker:
    """Makes checkpoints of one prefix of tags that no other test has."""

    def __init__(self, spark: SparkSession, three: Cluster, root: Path) -> None:
        self._given = {"spark": spark, "source": Source.of(three.addresses, three.token), "root": str(root)}

    def __call__(self, *tags: str, **more: Any) -> Went:
        subject = Subject.of(tags) if tags else None
        return Checkpointer(subject=subject, **{**self._given, **more}).run()


@pytest.fixture
def make(spark: SparkSession, three: Cluster, tmp_path: Path) -> Maker:
    return Maker(spark, three, tmp_path)


def folded(changes: list[Change]) -> State:
    """Key by key, in the order of the log: nothing of Spark's."""
    found: State = {}
    for change in sorted(changes, key=lambda change: change.offset):
        if change.key is not None:
            found[change.key] = change
    return {key: change for key, change in found.items() if change.value is not None}


def check(client: Client, tag: str, *, at: Bookmark | None = None) -> int:
    """What somebody finds who starts now is what the log says; how many keys that is."""
    boot = client.bootstrap(tags=[tag])
    state = boot.state()
    assert boot.checkpoint is not None and at in (None, boot.checkpoint.bookmark)
    wanted = folded(list(client.read(until=boot.checkpoint.bookmark, tags=[tag])))
    assert len(state) == len(wanted)
    found = {change.key: change for change in state}
    assert {key: each._replace(bucket=0) for key, each in found.items()} == {
        key: each._replace(bucket=0) for key, each in wanted.items()
    }
    rest = list(client.read(since=boot.checkpoint.bookmark, tags=[tag]))
    assert [next(boot) for _ in rest] == rest
    return len(state)


def churn(client: Client, tags: list[str], count: int, seed: int, keys: int = 40) -> None:
    dice = random.Random(seed)
    named = [f"{tags[0]}/{dice.randrange(keys)}" for _ in range(count)]
    values = [None if dice.random() < 0.2 else f"{seed}-{number}" for number in range(count)]
    client.submit_many(named, values, [[dice.choice(tags)] for _ in range(count)])


def story(client: Client, name: str) -> tuple[list[str], Docket]:
    """What the records of a subject say, in their order."""
    filed = [each for each in map(filed_of, client.read(key=name, tags=[RECORDS])) if each is not None]
    return [type(each.record).__name__.lower() for each in filed], Docket.of(filed)


def killing(step: str) -> Callable[[str], None]:
    def reached(now: str) -> None:
        if now == step:
            raise Killed

    return reached


def test_a_base_and_its_deltas_are_what_the_log_says_while_participants_die_and_buckets_are_split(
    make: Maker, three: Cluster, client: Client, tmp_path: Path
) -> None:
    churn(client, ["base:a"], 300, 1, keys=200)
    first = make("base:a")
    assert check(client, "base:a", at=first.bookmark) > 50
    assert len(first.made[0].end.layers) == 1 and not first.made[0].end.layers[0].deleted
    stop = threading.Event()

    def write() -> None:
        number = 10
        with Client.connect(three.addresses, token=three.token, timeout_s=30) as other:
            while not stop.wait(0.1):
                churn(other, ["base:a", "base:other"], 5, number, keys=200)
                number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        client.submit("base:a/0", "new", ["base:a"])
        three.kill(1)
        second = make("base:a")
        three.start(1)
        three.double()
        third = make("base:a")
    finally:
        stop.set()
        writer.join()
    assert len(second.made[0].end.layers) <= 2 and second.made[0].end.number == 2
    check(client, "base:a", at=third.bookmark)
    assert third.changes > 0
    fourth = make("base:a")
    fifth = make("base:a")
    assert fifth.changes <= 10 and fifth.made[0].end.layers == fourth.made[0].end.layers, "nothing has changed"
    assert check(client, "base:a", at=fifth.bookmark)
    assert story(client, Subject.of(["base:a"]).name)[0] == ["start", "end"] * 5


def test_all_tags_with_a_prefix_are_made_in_one_run_and_stay_in_step(make: Maker, client: Client) -> None:
    churn(client, ["each:a", "each:b"], 200, 1)
    client.submit("shared", "of both", ["each:a", "each:b"])
    first = make(prefix="each:")
    assert {made.subject for made in first.made} == {Subject.of([f"each:{name}"]).name for name in "ab"}
    for tag in ("each:a", "each:b"):
        assert check(client, tag, at=first.bookmark) > 5
    make("each:a")
    churn(client, ["each:a"], 5, 2)
    churn(client, ["each:c"], 20, 3)
    second = make(prefix="each:")
    assert len(second.made) == 3 and second.changes < 100, "from where all of them were before"
    for tag in ("each:a", "each:b", "each:c"):
        check(client, tag, at=second.bookmark)
    (b,) = [made for made in second.made if made.subject.endswith("each:b")]
    assert b.end.layers == next(made for made in first.made if made.subject == b.subject).end.layers, "untouched"


def test_one_that_is_killed_at_each_step_comes_again_under_its_name_and_the_result_is_exact(
    make: Maker, client: Client, tmp_path: Path
) -> None:
    tag = "killed:a"
    for number, step in enumerate([*STEPS, *STEPS[:3]]):
        churn(client, [tag], 30, number)
        with pytest.raises(Killed):
            make(tag, name="nightly", reached=killing(step))
        ends = story(client, Subject.of([tag]).name)[1].ends
        assert len(ends) == {"ended": 1, "swept": 2}.get(step, 2 if number > len(STEPS) - 1 else 0), step
        if ends:
            check(client, tag)
    went = make(tag, name="nightly", policy=Policy(keep=1, grace_s=0))
    check(client, tag, at=went.bookmark)
    told, docket = story(client, Subject.of([tag]).name)
    assert told.count("start") == len(STEPS) + 4 and not docket.in_vain and docket.holder is None
    builds = {path.parent.name for path in tmp_path.glob("*/builds/*/folder=*")}
    assert builds == {layer.path.split("/")[1] for layer in went.made[0].end.layers}, "nothing is left of the dead"


def test_of_two_one_works_a_dead_one_is_overtaken_and_a_paused_one_finds_its_work_done(
    make: Maker, client: Client, tmp_path: Path
) -> None:
    tag, name = "race:a", Subject.of(["race:a"]).name
    churn(client, [tag], 50, 1)
    with pytest.raises(Killed):
        make(tag, lasts_s=1.5, reached=killing("started"))
    with pytest.raises(Busy) as busy:
        make(tag)
    assert 0 < busy.value.wait_s <= 1.5
    paused, go_on, late = threading.Event(), threading.Event(), []

    def pause(step: str) -> None:
        if step == "described":
            paused.set()
            assert go_on.wait(120)

    churn(client, [tag], 20, 2)
    slow = threading.Thread(target=lambda: late.append(once_free(make, tag, lasts_s=1.5, reached=pause)))
    slow.start()
    assert paused.wait(120)
    first = once_free(make, tag)
    go_on.set()
    slow.join()
    assert first.made[0].is_ours and not late[0].made[0].is_ours
    assert late[0].made[0].end == first.made[0].end and late[0].bookmark == first.bookmark
    told, docket = story(client, name)
    assert told.count("end") == 2 and len(docket.ends) == 1 and len(docket.in_vain) == 1
    assert [each.record.id for each in docket.overtaken][-1] == docket.in_vain[0].record.id
    one, other = docket.ends[0].record, docket.in_vain[0].record
    assert [(each.rows, each.digest) for each in one.layers] == [(each.rows, each.digest) for each in other.layers]
    check(client, tag, at=first.bookmark)
    make(tag, policy=Policy(keep=1, grace_s=0))
    left = {path.name for path in tmp_path.glob("*/builds/*")}
    assert other.id not in left and check(client, tag)


def once_free(make: Maker, tag: str, **more: Any) -> Went:
    deadline = time.monotonic() + 120
    while True:
        try:
            return make(tag, **more)
        except Busy:
            assert time.monotonic() < deadline, "it is never over"


def test_what_somebody_may_still_read_or_finish_stays() -> None:
    from tests.checkpoint.test_docket import docket, end, start  # noqa: PLC0415

    second = 1_000_000
    found = {
        "a": docket(
            (0, start("1", 1)),
            (1 * second, end("1", 1)),
            (2 * second, end("2", 2, "1")),
            (3 * second, end("3", 3, "2")),
            (4 * second, start("4", 4)),
            (4 * second, start("5", 4)),
        )
    }
    listed = [f"builds/{id}" for id in "0123456"]

    def gone(now_s: float, **policy: Any) -> str:
        paths = expired(listed, found, "/x", Policy(**policy), int(now_s * second))
        return "".join(path.removeprefix("builds/") for path in paths)

    assert gone(100, keep=1, grace_s=0) == "0126", "4 and 5 may still end, 0 and 6 are nobody's"
    assert gone(100, keep=2, grace_s=0) == "016"
    assert gone(5, keep=1, grace_s=2.5) == "016", "2 was the newest until 3 came at 3 s"
    assert gone(5, keep=1, age_s=3.5, grace_s=0) == "016" and gone(5, keep=1, age_s=5, grace_s=0) == "06"
    elsewhere = expired(listed, found, "/y", Policy(keep=9), 0)
    assert len(elsewhere) == 5, "records of another place keep nothing here"


def test_one_that_cannot_go_on_says_so_and_nobody_waits_for_it(make: Maker, client: Client) -> None:
    def broken(step: str) -> None:
        if step == "written":
            raise OSError("the disk is full")

    churn(client, ["left:a"], 5, 1)
    with pytest.raises(OSError, match="full"):
        make("left:a", reached=broken)
    assert story(client, Subject.of(["left:a"]).name)[0] == ["start", "left"]
    assert isinstance(make("left:a").made[0].end, End)
    assert story(client, umbrella("nobody:"))[0] == []
