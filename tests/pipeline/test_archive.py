"""The archive has each change once, whoever is ended wherever, and however the log is split meanwhile."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from pyspark.sql import SparkSession

import hansard
from hansard.bookmark import WrongLog
from hansard.pipeline import compaction, manifest, read
from hansard.pipeline.archive import Archiver
from hansard.pipeline.folder import Folder
from hansard.pipeline.manifest import ArchiveError, Catalog
from hansard.pipeline.source import Source
from hansard.testing import Cluster, cluster
from tests.pipeline.rows import in_frame, in_log


class Ended(BaseException):
    """As if the process were gone."""


@pytest.fixture(scope="module")
def town() -> Iterator[Cluster]:
    with cluster(buckets=4) as three:
        yield three


@pytest.fixture(scope="module")
def client(town: Cluster) -> Iterator[hansard.Client]:
    with hansard.Client.connect(town.addresses) as client:
        yield client


def submit(client: hansard.Client, word: str, count: int = 60) -> None:
    keys = [None if number % 10 == 9 else f"k{number}" for number in range(count)]
    values = [None if number % 7 == 6 else f"{word}{number}" for number in range(count)]
    client.submit_many(keys, values, [["t:a", word] if number % 2 else ["t:b"] for number in range(count)])


def archiver(spark: SparkSession, town: Cluster, root: Path, end_at: str = "", **options: Any) -> Archiver:
    def reached(step: str) -> None:
        if step == end_at:
            raise Ended

    return Archiver(spark, Source.of(town.addresses), str(root), reached=reached, **options)


def test_ended_at_each_step_and_begun_again_it_has_everything_once(
    spark: SparkSession, town: Cluster, client: hansard.Client, tmp_path: Path
) -> None:
    folder = Folder(spark, str(tmp_path))
    for step in ("written", "described", "committed"):
        submit(client, step)
        with pytest.raises(Ended):
            archiver(spark, town, tmp_path, step).catch_up()
        holds = {hold["name"]: hold["offsets"] for hold in client.ask({"ask": "holds"})["holds"]}
        held = holds[archiver(spark, town, tmp_path).hold_name]
        until = manifest.load(folder).until
        if until is not None:  # else it is where the log begins
            assert all(at <= (until.offset(int(bucket)) or 0) for bucket, at in held.items())
    orphaned = len(list(tmp_path.glob("data/*")))
    archiver(spark, town, tmp_path).catch_up()
    assert in_frame(read(spark, archive=str(tmp_path))) == in_log(client)
    assert orphaned == 3 and compaction.sweep(folder) == 2, "of the two that were ended between data and manifest"
    assert in_frame(read(spark, archive=str(tmp_path))) == in_log(client)
    assert len(list(tmp_path.glob("data/*"))) == manifest.load(folder).number


def test_of_two_at_once_one_wins_and_the_other_goes_on_after_it(
    spark: SparkSession, town: Cluster, client: hansard.Client, tmp_path: Path
) -> None:
    submit(client, "both")
    others: list[Catalog] = []

    def reached(step: str) -> None:
        if step == "described" and not others:
            others.append(archiver(spark, town, tmp_path).catch_up().catalog)
            submit(client, "later")

    went = Archiver(spark, Source.of(town.addresses), str(tmp_path), reached=reached).catch_up()
    assert (others[0].number, went.catalog.number, went.rows) == (1, 2, 60)
    assert in_frame(read(spark, archive=str(tmp_path))) == in_log(client)
    assert compaction.sweep(Folder(spark, str(tmp_path))) == 0, "the loser has removed its own"


def test_while_it_takes_writes_loses_a_participant_and_is_doubled(spark: SparkSession, tmp_path: Path) -> None:
    over = Event()
    with cluster(buckets=2) as town, hansard.Client.connect(town.addresses) as client:

        def write() -> None:
            number = 0
            while not over.is_set():
                with suppress(hansard.client.PartlyStored, hansard.client.NotStored, hansard.client.OutcomeUnknown):
                    submit(client, f"w{number}", 20)
                number += 1
                over.wait(0.1)  # the log is to be read in plain Python at the end

        writer = Thread(target=write)
        writer.start()
        try:
            job = archiver(spark, town, tmp_path, rows_per_file=100)
            job.catch_up()
            before = client.bookmark()
            town.kill("c")
            job.catch_up()
            town.double()
            town.start("c")
            joined = in_frame(read(spark, archive=str(tmp_path), endpoints=town.addresses))
            job.catch_up()
        finally:
            over.set()
            writer.join(30)
        assert job.catch_up().rows > 0
        log = in_log(client)
        assert {row[0] for row in log} == {0, 1, 2, 3} and len(log) > 100
        assert in_frame(read(spark, archive=str(tmp_path))) == log
        assert set(joined) <= set(log) and len(set(joined)) == len(joined) > 40
        since = in_frame(read(spark, archive=str(tmp_path), endpoints=town.addresses, since=before))
        assert since == in_log(client, since=before) and 0 < len(since) < len(log)


def test_archive_and_tail_are_one_whatever_is_asked_of_them(
    spark: SparkSession, town: Cluster, client: hansard.Client, tmp_path: Path
) -> None:
    submit(client, "one")
    one = client.bookmark()
    job = archiver(spark, town, tmp_path, rows_per_run=200)
    job.catch_up()
    when = datetime.now(UTC)
    submit(client, "two")
    job.catch_up()
    assert manifest.load(Folder(spark, str(tmp_path))).number > 1
    submit(client, "three")
    three = client.bookmark()
    submit(client, "four")

    def joined(**wanted: Any) -> list[tuple[Any, ...]]:
        return in_frame(read(spark, archive=str(tmp_path), endpoints=",".join(town.addresses), **wanted))

    everything = in_log(client)
    assert joined() == everything
    assert joined(since=one, until=three) == in_log(client, since=one, until=three)
    assert joined(since=three) == in_log(client, since=three)
    assert joined(until=when.isoformat()) == in_log(client, until=when)
    assert joined(tags=["two", "t:a"], match="all", key="k3", since=str(one)) == in_log(
        client, tags=["two", "t:a"], match="all", key="k3", since=one
    )
    assert joined(buckets=[1, 2]) == [row for row in everything if row[0] in (1, 2)]
    with pytest.raises(WrongLog):
        joined(since=hansard.Bookmark("another", {0: 1}))
    with pytest.raises(ArchiveError, match="there is no archive at"):
        read(spark, archive=str(tmp_path / "nothing"))


def test_small_files_are_merged_and_nothing_else_changes(
    spark: SparkSession, town: Cluster, client: hansard.Client, tmp_path: Path
) -> None:
    archiver(spark, town, tmp_path, rows_per_run=200).catch_up()
    folder = Folder(spark, str(tmp_path))
    before, rows = manifest.load(folder), in_frame(read(spark, archive=str(tmp_path)))
    merged, made = compaction.compact(spark, folder, files_min=2)
    after = manifest.load(folder)
    assert merged == len(before.files) > made == len(after.files)
    assert after.rows == before.rows and after.until == before.until and after.number == before.number + 1
    assert in_frame(read(spark, archive=str(tmp_path))) == rows
    assert compaction.compact(spark, folder, files_min=2) == (0, 0)
    assert compaction.sweep(folder) == 0, "somebody may still read by an older manifest"
    assert compaction.sweep(folder, grace_s=0) == merged
    assert in_frame(read(spark, archive=str(tmp_path))) == rows


def test_files_that_are_not_what_their_manifest_says_are_not_merged(
    spark: SparkSession, town: Cluster, client: hansard.Client, tmp_path: Path
) -> None:
    archiver(spark, town, tmp_path, rows_per_run=200).catch_up()
    folder = Folder(spark, str(tmp_path))
    one, other = sorted(tmp_path.glob("data/*/*/*.parquet"))[:2]
    one.write_bytes(other.read_bytes())
    one.with_name(f".{one.name}.crc").unlink(missing_ok=True)  # Hadoop's, where Spark has written it
    with pytest.raises(ArchiveError, match="are not what their manifests say"):
        compaction.compact(spark, folder, files_min=2)
    assert manifest.load(folder).replaced == {}
