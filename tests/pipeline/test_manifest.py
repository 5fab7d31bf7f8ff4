"""The series of manifests: one writer each, no gap, and nothing counts that none of them names."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession

from hansard.bookmark import Bookmark
from hansard.pipeline import manifest
from hansard.pipeline.folder import Folder
from hansard.pipeline.manifest import ArchiveError, Catalog, Checksum, File


def at(offset: int) -> Bookmark:
    return Bookmark("log", {0: offset})


def file(number: int, rows: int = 10, word: str = "aa") -> File:
    return File(
        path=f"data/run={number:010}-{word}/day=2026-11-17/part-0.parquet",
        byte_count=100,
        day="2026-11-17",
        first_us=0,
        last_us=9,
        buckets={0: (0, rows, rows)},
        checksum=Checksum(rows, number, number),
    )


def grown(folder: Folder, count: int) -> Catalog:
    catalog = manifest.load(folder)
    for number in range(catalog.number + 1, catalog.number + count + 1):
        after = manifest.commit(folder, catalog, at(number), number, [file(number)], since=at(0))
        assert after is not None
        catalog = after
    return catalog


def test_what_was_committed_is_loaded_with_and_without_the_beginning(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, str(tmp_path))
    assert manifest.load(folder) == Catalog()
    catalog = grown(folder, 3)
    assert manifest.load(folder) == catalog and catalog.rows == 30 and catalog.until == at(3)
    catalog = grown(folder, manifest.WHOLE_EVERY)
    (tmp_path / manifest.name_of(1)).unlink()  # a later one says everything
    assert manifest.load(folder) == catalog and len(catalog.files) == manifest.WHOLE_EVERY + 3
    with pytest.raises(ArchiveError, match=r"0000000001\.json is not there"):
        manifest.load(folder, all_of_them=True)


def test_of_two_with_one_number_one_counts(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, str(tmp_path))
    before = grown(folder, 2)
    won = manifest.commit(folder, before, at(5), 5, [file(3, word="aa")])
    assert manifest.commit(folder, before, at(6), 5, [file(3, word="bb")]) is None
    assert manifest.load(folder) == won
    paths = [file(3, word="aa").path, file(3, word="bb").path, file(4, word="cc").path, "data/other.txt"]
    assert manifest.orphans(paths, manifest.load(folder), 0) == [file(3, word="bb").path]


def test_replaced_files_go_after_a_while_and_whole_manifests_remember_them(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, str(tmp_path))
    catalog = grown(folder, 2)
    merged = file(3, 20)
    after = manifest.commit(folder, catalog, at(2), 1_000, [merged], [file(1).path, file(2).path])
    assert after is not None and list(after.files) == [merged.path]
    paths = [file(1).path, file(2).path, merged.path]
    grown(folder, manifest.WHOLE_EVERY)
    loaded = manifest.load(folder)
    assert manifest.orphans(paths, loaded, 1_000) == []
    assert manifest.orphans(paths, loaded, 1_001) == paths[:2]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda raw: raw[:-9], "is no manifest, or is damaged"),
        (lambda raw: raw.replace(b'"byte_count":100', b'"byte_count":101'), "its checksum is not that of its content"),
        (lambda raw: raw.replace(b'archive":1', b'archive":2'), "is of format 2"),
    ],
)
def test_a_damaged_manifest_is_named(
    spark: SparkSession, tmp_path: Path, damage: Callable[[bytes], bytes], said: str
) -> None:
    folder = Folder(spark, str(tmp_path))
    grown(folder, 2)
    path = tmp_path / manifest.name_of(2)
    damaged = damage(path.read_bytes())
    path.unlink()
    path.write_bytes(damaged)
    with pytest.raises(ArchiveError, match=f"0000000002.json.*{said}"):
        manifest.load(folder)


def test_a_series_with_a_hole_is_named(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, str(tmp_path))
    grown(folder, 3)
    (tmp_path / manifest.name_of(2)).unlink()
    with pytest.raises(ArchiveError, match=r"0000000002\.json is not there, and later ones are"):
        manifest.load(folder)


def test_one_that_does_not_fit_is_refused() -> None:
    catalog = Catalog(3, "log", at(7), {file(1).path: file(1)})
    fitting = manifest.Manifest(number=4, log="log", since=str(at(7)), until=str(at(9)), written_us=0, adds=[file(4)])
    assert catalog.followed(fitting).until == at(9)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"since": str(at(6))}, "does not begin where manifest 3 ends"),
        ({"log": "other"}, "is of log other"),
        ({"drops": [file(2).path]}, "which no manifest before it has added"),
    ]
    for other, said in wrong:
        with pytest.raises(ArchiveError, match=said):
            catalog.followed(msgspec.structs.replace(fitting, **other))


def test_files_of_a_run_whose_number_is_not_taken_yet_are_left_alone() -> None:
    catalog = Catalog(3, "log", at(7), {file(2).path: file(2)}, {file(1).path: 500})
    paths = [file(number, word=word).path for number in (1, 2, 3, 4) for word in ("aa", "bb")]
    assert manifest.orphans(paths, catalog, 500) == [
        file(1, word="bb").path,
        file(2, word="bb").path,
        file(3, word="aa").path,
        file(3, word="bb").path,
    ]
    assert file(1).path in manifest.orphans(paths, catalog, 501)
