"""Files below a folder: of two who create the same one wins, and what is there is whole."""

from pathlib import Path
from threading import Barrier, Thread

import pytest
from pyspark.sql import SparkSession

from hansard.pipeline.folder import Folder


def test_of_many_who_create_the_same_file_one_wins(spark: SparkSession, tmp_path: Path) -> None:
    folder, barrier, won = Folder(spark, str(tmp_path)), Barrier(8), list[int]()

    def create(number: int) -> None:
        barrier.wait(10)
        if folder.create("deep/below/1.json", f"{number}".encode() * 1000):
            won.append(number)

    threads = [Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(won) == 1
    assert folder.read("deep/below/1.json") == f"{won[0]}".encode() * 1000
    assert [path.name for path in (tmp_path / "deep/below").iterdir()] == ["1.json"], "nothing is left beside it"


class Elsewhere(Folder):
    """As on any file system but the local one."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        super().__init__(spark, root)
        self.local = None


def test_other_file_systems_create_through_sparks_own_keeper(spark: SparkSession, tmp_path: Path) -> None:
    folder = Elsewhere(spark, tmp_path.as_uri())
    assert folder.create("m/1.json", b"first")
    assert not folder.create("m/1.json", b"second")
    assert folder.read("m/1.json") == b"first" and folder.names("m") == ["1.json"]


def test_what_is_there_is_listed_without_what_is_hidden(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, str(tmp_path))
    for name in ("b/2", "b/1", "a/day=1/3", ".hidden/4", "b/_temporary/5", "b/.6.crc"):
        assert folder.create(name, name.encode())
    assert folder.names("") == ["a", "b"] and folder.names("b") == ["1", "2"] and folder.names("none") == []
    assert [found.path for found in folder.files("")] == ["a/day=1/3", "b/1", "b/2"]
    assert [found.byte_count for found in folder.files("b")] == [3, 3] and folder.files("none") == []
    folder.sync(["a/day=1/3", "b/1"])
    folder.remove("a")
    folder.remove("a")
    assert folder.names("") == ["b"]
    with pytest.raises(FileNotFoundError, match="a/day=1/3 is not there"):
        folder.read("a/day=1/3")
