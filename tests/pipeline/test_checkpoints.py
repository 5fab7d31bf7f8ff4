"""What is wrong with a checkpoint is named: its files, and each key of which it says something else than the log."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from hansard.bookmark import Bookmark
from hansard.cli.main import app
from hansard.client import Client
from hansard.pipeline import layers
from hansard.pipeline.archive import Archiver
from hansard.pipeline.checkpoint import Checkpointer
from hansard.pipeline.checkpoints import compared
from hansard.pipeline.findings import DAMAGED, DIFFERENT, MISSING, SURPLUS
from hansard.pipeline.source import Source
from hansard.pipeline.verify import Verifier
from hansard.testing import cluster
from tests.pipeline.rows import frame_of

Rows = list[dict[str, Any]]
WRONG = ("flipped", "gone", "missing", "surplus", "value")


def rewrite(path: Path, change: Callable[[Rows], Rows]) -> None:
    """A file with other rows, as somebody might have written it who knows Parquet."""
    table = pq.ParquetFile(path).read()
    path.unlink()
    path.with_name(f".{path.name}.crc").unlink()
    pq.write_table(pa.Table.from_pylist(change(table.to_pylist()), table.schema), path)


def other_value(rows: Rows) -> Rows:
    return [row | {"value": b"?"} if row["key"] == b"value/3" else row for row in rows]


def without_one(rows: Rows) -> Rows:
    return [row for row in rows if row["key"] != b"missing/3"]


def brought_back(rows: Rows) -> Rows:
    """What a later layer does not know of any more: its key was deleted before."""
    return [*rows, rows[0] | {"key": b"surplus/0", "value": b"back"}]


def test_each_thing_that_is_wrong_with_a_checkpoint_is_named(spark: SparkSession, tmp_path: Path) -> None:
    archive, root = str(tmp_path / "archive"), tmp_path / "checkpoints"
    with cluster(1, buckets=2) as town, Client.connect(town.addresses) as client:
        source = Source.of(town.addresses)
        for name in (*WRONG, "right"):
            values = [None if number == 0 else f"v{number}" for number in range(40)]
            client.submit_many([f"{name}/{number}" for number in range(40)], ["old"] * 40, [[f"v:{name}"]] * 40)
            client.submit_many([f"{name}/{number}" for number in range(40)], values, [[f"v:{name}"]] * 40)
        made = Checkpointer(spark, source, str(root), prefix="v:").run()
        client.submit_many(["right/1", "right/2"], ["new", None], [["v:right"]] * 2)
        Checkpointer(spark, source, str(root), prefix="v:").run()
        Archiver(spark, source, archive).catch_up()
        folders = {made.subject.rpartition(":")[2]: made.end.layers[0].path for made in made.made}
        paths = {name: next((root / client.log_id / path).glob("*.parquet")) for name, path in folders.items()}
        rewrite(paths["value"], other_value)
        rewrite(paths["missing"], without_one)
        rewrite(paths["surplus"], brought_back)
        raw = bytearray(paths["flipped"].read_bytes())
        raw[len(raw) // 3] ^= 0x55
        paths["flipped"].write_bytes(raw)
        for path in paths["gone"].parent.iterdir():
            path.unlink()
        paths["gone"].parent.rmdir()
        found = Verifier(spark, source, checkpoints=True).verify()
    assert found.checkpoints == 2 * len(WRONG) + 1, "of the one that is gone, only the newest should be there"
    told = CliRunner().invoke(app, ["pipeline", "verify", archive, "--alone", "--checkpoints"])
    assert told.exit_code == 1, told.output
    named = {(each.kind, each.place) for each in found.findings if each.place.startswith("builds/")}
    assert named == {
        (DAMAGED, folders["flipped"]),
        (MISSING, folders["gone"]),
        *[(DIFFERENT, folders[name]) for name in ("value", "missing", "surplus")],
    }
    newest = {
        (each.kind, each.place, each.remark.split(":")[0]) for each in found.findings if "checkpoint 2" in each.place
    }
    assert newest == {
        (DIFFERENT, "checkpoint 2 of v:value", "key value/3"),
        (MISSING, "checkpoint 2 of v:missing", "key missing/3"),
        (SURPLUS, "checkpoint 2 of v:surplus", "key surplus/0"),
    }
    assert {str(each) for each in found.findings} == set(told.stdout.splitlines()[:-1]), "with and without the cluster"


def test_of_what_is_not_retained_nothing_is_said(spark: SparkSession) -> None:
    def rows(*given: tuple[int, bytes, bytes | None]) -> Any:
        made = [(0, offset, 1_000_000, key, value, ("t",), 1, offset) for offset, key, value in given]
        return layers.of_tags(frame_of(spark, made), ["t"])

    state = rows((3, b"old", b"1"), (7, b"same", b"2"), (8, b"young", b"3"), (9, b"deleted", b"4"))
    says = layers.latest(rows((7, b"same", b"2"), (11, b"deleted", None), (12, b"nowhere", None)))
    retained = Bookmark("log", {0: 5})
    found = {(row["kind"], row["remark"].split(":")[0]) for row in compared(state, says, retained).collect()}
    assert found == {(SURPLUS, "key young"), (SURPLUS, "key deleted")}
    found = {(row["kind"], row["remark"].split(":")[0]) for row in compared(state, says).collect()}
    assert found == {(SURPLUS, "key old"), (SURPLUS, "key young"), (SURPLUS, "key deleted")}
