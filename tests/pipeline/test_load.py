"""An archive, or a checkpoint, becomes new changes of a cluster: each once, those of a key in their order."""

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

import msgspec
import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from hansard.bookmark import Bookmark
from hansard.checkpoint import Subject
from hansard.cli.main import app
from hansard.client import Change, Client
from hansard.pipeline import cargo
from hansard.pipeline.archive import Archiver
from hansard.pipeline.cargo import Cargo, OfArchive
from hansard.pipeline.checkpoint import Checkpointer
from hansard.pipeline.load import Loader, LoadError, Progress, Settled, Stored
from hansard.pipeline.source import Source
from hansard.testing import Cluster, cluster

Story = dict[bytes | None, list[tuple[bytes | None, tuple[str, ...]]]]
"""Of each key what became of it."""


class Ended(BaseException):
    """As if the process were gone."""


class Kept(NamedTuple):
    """What a log was, before its cluster was gone."""

    archive: str
    changes: list[Change]
    when: datetime
    middle: Bookmark
    state: dict[bytes | None, bytes | None]
    """By its checkpoint."""


def own(changes: Iterable[Change]) -> list[Change]:
    return [change for change in changes if not any(tag.startswith("hansard:") for tag in change.tags)]


def story(changes: Iterable[Change]) -> Story:
    """But for the records of tools."""
    found: Story = defaultdict(list)
    for change in own(changes):
        found[change.key].append((change.value, change.tags))
    return found


@pytest.fixture(scope="module")
def kept(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    root, folder = str(tmp_path_factory.mktemp("archive")), str(tmp_path_factory.mktemp("checkpoints"))
    with cluster(participants=1, buckets=2) as town, Client.connect(town.addresses) as client:
        keys = [None if number % 10 == 9 else f"k{number % 60}" for number in range(200)]

        def submit(word: str) -> None:
            values = [None if number % 7 == 6 else f"{word}{number}" for number in range(200)]
            client.submit_many(keys, values, [["t:a", word] if number % 3 else ["t:b"] for number in range(200)])

        submit("one")
        town.double()
        submit("two")
        when, middle = datetime.now(UTC), client.bookmark()
        source = Source.of(town.addresses)
        Checkpointer(spark, source, folder, subject=Subject.of(["t:a"])).run()
        client.submit("k1", "later", ["t:a"])
        Checkpointer(spark, source, folder, subject=Subject.of(["t:a"])).run()
        submit("three")
        Archiver(spark, source, root).catch_up()
        state = {change.key: change.value for change in client.bootstrap(tags=["t:a"]).state()}
        return Kept(root, own(client.read()), when, middle, state)


@pytest.fixture(scope="module")
def three() -> Iterator[Cluster]:
    with cluster(buckets=4) as running:
        yield running


@pytest.fixture
def client(three: Cluster) -> Iterator[Client]:
    with Client.connect(three.addresses, timeout_s=60) as client:
        yield client


def small(spark: SparkSession, kept: Kept) -> OfArchive:
    """In several batches, so that there is something between them."""
    return msgspec.structs.replace(cargo.of_archive(spark, kept.archive), rows_per_batch=250)


def test_what_was_settled_first_counts_and_of_a_batch_its_first_record() -> None:
    """Two who came at once have both written what they would bring, and both stored the first batch."""
    first, other = (OfArchive(root="/x", log="l", since="", until="", rows_per_batch=size) for size in (5, 9))
    with cluster(participants=1, buckets=2) as town, Client.connect(town.addresses) as client:
        progress, late = Progress(client, "both"), Progress(client, "both")
        assert progress.settled is None and progress.rows == []
        progress.write(Settled(asked="all", place="", cargo=first))
        late.write(Settled(asked="all", place="", cargo=other))
        for record in (Stored(batch=0, rows=7), Stored(batch=0, rows=7), Stored(batch=1, rows=3)):
            late.write(record)
        for each in (progress, late, Progress(client, "both")):
            each.read()
            assert each.settled is not None and each.settled.cargo == first
            assert each.rows == [7, 3]
        assert Progress(client, "bot").settled is None, "another name"


def test_killed_between_data_and_record_and_between_batches_it_goes_on_and_stores_each_change_once(
    spark: SparkSession, kept: Kept, three: Cluster, client: Client
) -> None:
    start, target = client.bookmark(), Source.of(three.addresses)

    def load(end_at: str = "", settle: Callable[[], Cargo] = lambda: small(spark, kept)) -> int:
        def reached(step: str) -> None:
            if step == end_at:
                raise Ended

        return Loader(spark, target, "kills", "all", settle, reached).load().ours

    batches = small(spark, kept).batches
    assert batches > 2
    for end_at in ("stored", f"batch 2 of {batches}"):
        with pytest.raises(Ended):
            load(end_at)
    three.kill("b")
    grown = msgspec.structs.replace(small(spark, kept), rows_per_batch=10)
    assert 0 < load(settle=lambda: grown) < len(kept.changes), "what was settled counts, and some was there"
    three.start("b")
    assert story(client.read(since=start)) == story(kept.changes)
    assert load() == 0
    with pytest.raises(LoadError, match="something else was begun \\(all\\)"):
        Loader(spark, target, "kills", "some", lambda: grown).load()
    assert story(client.read(since=start)) == story(kept.changes)


def test_killed_within_a_batch_it_stores_what_is_not_there_yet(
    spark: SparkSession, kept: Kept, three: Cluster, client: Client
) -> None:
    start = client.bookmark()
    whole = msgspec.structs.replace(cargo.of_archive(spark, kept.archive), tasks=16)
    job = Loader(spark, Source.of(three.addresses), "within", "all", lambda: whole)
    over = threading.Event()

    def cancel() -> None:
        while not over.is_set() and not own(client.page(since=start, limit=1000).changes):
            pass
        spark.sparkContext.cancelAllJobs()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    try:
        with pytest.raises((PySparkException, Py4JJavaError)):
            job.load()
    finally:
        over.set()
        canceller.join()
    assert 0 < len(own(client.read(since=start))) < len(kept.changes)
    assert job.load().ours == len(kept.changes)
    assert story(client.read(since=start)) == story(kept.changes)


def test_up_to_a_time_or_a_bookmark_and_of_some_tags(
    spark: SparkSession, kept: Kept, three: Cluster, client: Client
) -> None:
    before = [change for change in kept.changes if change.time < kept.when]
    bounds: list[tuple[dict[str, Any], list[Change]]] = [
        ({"until": kept.when}, before),
        ({"until": kept.middle, "tags": ["t:b"]}, [change for change in before if "t:b" in change.tags]),
        ({"since": kept.when, "tags": ["t:a"]}, [c for c in kept.changes if c.time >= kept.when and "t:a" in c.tags]),
    ]
    for number, (given, wanted) in enumerate(bounds):
        start, chosen = client.bookmark(), cargo.of_archive(spark, kept.archive, **given)
        Loader(spark, Source.of(three.addresses), f"bounds{number}", "", partial(copy, chosen)).load()
        assert story(client.read(since=start)) == story(wanted), given
        assert wanted


def test_a_checkpoint_is_found_in_the_log_or_in_an_archive_and_its_state_is_loaded(
    spark: SparkSession, kept: Kept, three: Cluster, client: Client
) -> None:
    known = cargo.checkpoints_in(spark, kept.archive, Subject.of(["t:a"]))
    assert [each.number for each in known] == [2, 1]
    first = cargo.newest(known, kept.middle)
    assert first is not None and first.number == 1, "the second is after that"
    assert cargo.newest(known, datetime(2020, 1, 1, tzinfo=UTC)) is None
    start = client.bookmark()
    words = [kept.archive, "--checkpoint", "--tag", "t:a", "--at", three.addresses[0], "--json"]
    for now in (len(kept.state), 0):
        done = CliRunner().invoke(app, ["pipeline", "load", *words])
        assert done.exit_code == 0, done.output
        told = json.loads(done.stdout)
        assert (told["changes"], told["stored_now"]) == (len(kept.state), now)
    there = own(client.read(since=start))
    assert {change.key: change.value for change in there} == kept.state and len(there) == len(kept.state)
    split: Cargo = msgspec.structs.replace(cargo.of_checkpoint(known[0]), batches=3)
    start = client.bookmark()
    Loader(spark, Source.of(three.addresses), "split", "", lambda: split).load()
    there = own(client.read(since=start))
    assert {change.key: change.value for change in there} == kept.state and len(there) == len(kept.state)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give one of them"),
        (["/x", "--match", "some"], "--match is any or all"),
        (["--checkpoint", "--since", "2026-01-01T00:00:00Z"], "no --since"),
        (["/x", "--of", "127.0.0.1:1"], "are about a --checkpoint"),
        (["/x", "--checkpoint", "--of", "127.0.0.1:1"], "give one of them"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_starts(words: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["pipeline", "load", *words])
    assert done.exit_code == 2 and said in done.output, done.output
