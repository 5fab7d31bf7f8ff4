"""What is wrong is named, with where it is; and where nothing is wrong nothing is found."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import hansard
from hansard.batch import MAGIC, trust
from hansard.batch.batch import assemble
from hansard.pipeline import checks, manifest, place
from hansard.pipeline.archive import Archiver
from hansard.pipeline.findings import DAMAGED, DIFFERENT, DISORDER, DUPLICATE, MISPLACED, MISSING, SURPLUS, Finding
from hansard.pipeline.folder import Folder
from hansard.pipeline.members import Copy, odd_ones
from hansard.pipeline.source import Source
from hansard.pipeline.verify import Verified, Verifier
from hansard.testing import Cluster, cluster
from tests.cluster.wreckage import file, flip, segments
from tests.pipeline.rows import Row, frame_of, some_rows


def rewrite(path: Path, change: object) -> None:
    """A file with other rows, as somebody might have written it who knows Parquet."""
    table = pq.read_table(path)
    rows = table.to_pylist()
    assert callable(change)
    changed = change(rows)
    path.unlink()
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)  # Hadoop's, where Spark has written it
    pq.write_table(pa.Table.from_pylist(changed, table.schema), path)


class Planted:
    """One thing that is wrong in each of five files."""

    def __init__(self, paths: list[Path]) -> None:
        flipped, self.removed, swapped, doubled, moved = paths
        raw = bytearray(flipped.read_bytes())
        raw[len(raw) // 3] ^= 0x55
        flipped.write_bytes(raw)
        self.removed.unlink()
        rewrite(swapped, self.swap)
        rewrite(doubled, self.double)
        rewrite(moved, self.move)
        self.flipped = flipped

    def swap(self, rows: list[dict[str, object]]) -> list[dict[str, object]]:
        one, other = rows[2], rows[3]
        self.swapped = {(row["bucket"], row["offset"]) for row in (one, other)}
        one["offset"], other["offset"] = other["offset"], one["offset"]
        assert one["bucket"] == other["bucket"]
        return rows

    def double(self, rows: list[dict[str, object]]) -> list[dict[str, object]]:
        self.doubled = rows[4]["bucket"], rows[4]["offset"]
        return [*rows, dict(rows[4])]

    def move(self, rows: list[dict[str, object]]) -> list[dict[str, object]]:
        self.moved = 1 - int(str(rows[5]["bucket"])), rows[5]["offset"]
        rows[5]["bucket"] = self.moved[0]
        return rows


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(buckets=2, directory=tmp_path_factory.mktemp("town")) as three:
        with hansard.Client.connect(three.addresses) as client:
            for number in range(5):
                keys = [None if each % 9 == 8 else f"k{each}" for each in range(100)]
                client.submit_many(keys, [f"value-{number}-{each:03}" for each in range(100)])
        three.kill("c")
        file(three.directory / "c")
        three.start("c")
        three.settle()
        yield three


def kinds(found: Verified) -> set[tuple[str, str]]:
    return {(finding.kind, finding.place) for finding in found.findings}


def test_each_thing_that_is_wrong_with_an_archive_is_named(spark: SparkSession, town: Cluster, tmp_path: Path) -> None:
    source = Source.of(town.addresses)
    Archiver(spark, source, str(tmp_path), rows_per_run=100).catch_up()
    clean = Verifier(spark, source, str(tmp_path)).verify()
    assert clean.findings == [] and clean.copies == 6 and clean.rows == 500 and clean.files >= 5
    catalog = manifest.load(Folder(spark, str(tmp_path)))
    planted = Planted([tmp_path / path for path in sorted(catalog.files)[:5]])
    found = Verifier(spark, source, str(tmp_path)).verify()
    named = {(each.kind, each.place): each for each in found.findings if each.place.startswith("data/")}
    assert (DAMAGED, planted.flipped.relative_to(tmp_path).as_posix()) in named
    assert (MISSING, planted.removed.relative_to(tmp_path).as_posix()) in named
    assert len(named) == 5, "each file is named once"
    offsets = {(each.kind, each.bucket, each.first) for each in found.findings if each.place == "archive"}
    assert {(DIFFERENT, *swapped) for swapped in planted.swapped} <= offsets
    assert (DUPLICATE, *planted.doubled) in offsets
    assert (MISPLACED, *planted.moved) in offsets
    lost = sum(catalog.files[path].checksum.rows for path in sorted(catalog.files)[:2])
    assert sum(kind == MISSING for kind, _, _ in offsets) == lost, "what the lost files had, and nothing else"


def test_a_damaged_copy_of_a_member_is_named_and_mended(spark: SparkSession, town: Cluster) -> None:
    source = Source.of(town.addresses)
    assert Verifier(spark, source).verify() == Verified([], 6)
    segment = segments(town.directory / "c")[0]
    flip(segment, segment.stat().st_size * 2 // 3)
    found = Verifier(spark, source).verify()
    assert kinds(found) == {(DAMAGED, "c")} and found.findings[0].first is not None
    mended = Verifier(spark, source, repair=True).verify()
    assert mended == Verified([], 6, mended=mended.mended) and mended.mended >= 1
    swap_two(segment, b"value-2-0")
    found = Verifier(spark, source).verify()
    assert kinds(found) == {(DIFFERENT, "c")} and len(found.findings) == 2, "two changes, and no others"
    segment.unlink()
    found = Verifier(spark, source).verify()
    assert kinds(found) == {(DAMAGED, "c")} and "the file is missing" in found.findings[0].remark
    mended = Verifier(spark, source, repair=True).verify()
    assert mended.findings == [] and mended.mended >= 1


def swap_two(segment: Path, value: bytes) -> None:
    """The values of two changes that follow each other change places, and every checksum is right."""
    raw = segment.read_bytes()
    at = raw.index(value)
    start = raw.rindex(MAGIC, 0, at)
    batch = trust(raw, start)
    body, one, length = bytearray(batch.body), at - start - (batch.length - len(batch.body)), len("value-2-000")
    body[one : one + 2 * length] = body[one + length : one + 2 * length] + body[one : one + length]
    segment.write_bytes(raw[:start] + assemble(batch.header, bytes(body)).to_bytes() + raw[start + batch.length :])


def collected(frame: object) -> list[Finding]:
    return [Finding(*row) for row in frame.collect()]  # type: ignore[attr-defined]


def test_what_is_in_order_is_found_to_be(spark: SparkSession) -> None:
    rows = some_rows(300)
    frame = frame_of(spark, rows)
    steps = (
        checks.misplaced(frame, place.levels(range(4)), "log"),
        checks.duplicates(frame, "log"),
        checks.disorder(frame, "log"),
        checks.compared(frame, frame_of(spark, rows[::-1]), "one", "the other"),
    )
    assert [collected(step) for step in steps] == [[], [], [], []]


def test_rows_that_are_wrong_are_named(spark: SparkSession) -> None:
    rows = some_rows(300)

    def changed(number: int, **fields: object) -> Row:
        names = ("bucket", "offset", "timestamp", "key", "value", "tags", "connection", "series")
        return tuple(fields.get(name, value) for name, value in zip(names, rows[number], strict=True))

    other = frame_of(spark, [*rows[:50], changed(50, value=b"?"), *rows[51:70], *rows[71:]])
    found = {
        (each.kind, each.bucket, each.first)
        for each in collected(checks.compared(other, frame_of(spark, rows), "a", "b"))
    }
    assert found == {(DIFFERENT, *rows[50][:2]), (MISSING, *rows[70][:2])}
    found = {(each.kind, *each[2:4]) for each in collected(checks.compared(frame_of(spark, rows), other, "a", "b"))}
    assert found == {(DIFFERENT, *rows[50][:2]), (SURPLUS, *rows[70][:2])}
    late = frame_of(spark, [*rows[:20], changed(20, timestamp=1), *rows[21:]])
    assert (DISORDER, *rows[20][:2]) in {(each.kind, *each[2:4]) for each in collected(checks.disorder(late, "a"))}
    again = frame_of(spark, [*rows[:20], changed(20, series=0), *rows[21:]])
    assert (DISORDER, *rows[20][:2]) in {(each.kind, *each[2:4]) for each in collected(checks.disorder(again, "a"))}
    bucket = (rows[9][0] + 1) % 4
    moved = frame_of(spark, [*rows[:9], changed(9, bucket=bucket), *rows[10:]])
    assert [each[2:4] for each in collected(checks.misplaced(moved, place.levels(range(4)), "a"))] == [
        (bucket, rows[9][1])
    ]


def test_who_differs_from_most_is_the_odd_one_and_of_two_the_one_that_does_not_lead() -> None:
    same, else_ = {0: (1, 5), 1024: (2, 5)}, {0: (1, 5), 1024: (3, 5)}

    def copies(*blocks: dict[int, tuple[int, int]]) -> list[Copy]:
        return [Copy(name, "", each, []) for name, each in zip("abc", blocks, strict=False)]

    assert odd_ones(copies(same, same, same)) == []
    assert [(copy.node, block) for copy, block in odd_ones(copies(else_, same, same))] == [("a", 1024)]
    assert [(copy.node, block) for copy, block in odd_ones(copies(else_, same))] == [("b", 1024)]
    assert [(copy.node, block) for copy, block in odd_ones(copies(same, {0: (1, 5)}, same))] == [("b", 1024)]
