"""The declarative pipeline that ships: written for a cluster, run by Spark's own command, its tables exact."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from typer.testing import CliRunner

from hansard.cli.main import app
from hansard.client import Client
from hansard.pipeline.declare import NotDeclared, declare
from hansard.testing import cluster
from tests.spark.session import prepare

RUN_S = 900


def rows(folder: Path, table: str, *columns: str) -> list[tuple[object, ...]]:
    """What a table has, by pyarrow."""
    paths = [str(path) for path in (folder / "warehouse" / table).rglob("*.parquet")]
    found = ds.dataset(paths, partitioning="hive").to_table(columns=list(columns)).to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def run(words: list[str]) -> None:
    command = Path(sys.executable).with_name(words[0])
    done = subprocess.run([command, *words[1:]], capture_output=True, text=True, timeout=RUN_S, check=False)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


def test_its_tables_are_all_changes_once_and_the_latest_of_each_tenant(tmp_path: Path) -> None:
    prepare()
    folder = tmp_path / "tables"
    with cluster(1, buckets=2) as town, Client.connect(town.addresses) as client:
        written = CliRunner().invoke(app, ["pipeline", "declare", str(folder), "--at", town.addresses[0], "--json"])
        assert written.exit_code == 0, written.output
        commands = json.loads(written.stdout)["commands"]
        for turn in range(int(os.environ.get("RUNS", "1"))):
            tags = [[f"tenant:{number % 3}"] if number % 5 else ["other"] for number in range(60)]
            values = [None if number % 7 == turn else f"{turn}-{number}" for number in range(60)]
            client.submit_many([f"k{number}" for number in range(60)], values, tags)
            for command in commands:
                run(command)
            log = list(client.read())
            assert rows(folder, "changes", "key", "value", "offset") == sorted(
                ((change.key, change.value, change.offset) for change in log), key=repr
            )
            latest = {(tag, change.key): change.value for change in log for tag in change.tags if tag != "other"}
            said = [(tenant, key, value) for (tenant, key), value in latest.items() if value is not None]
            assert rows(folder, "latest", "tenant", "key", "value") == sorted(said, key=repr)
        assert [hold["name"] for hold in client.ask({"ask": "holds"})["holds"]] == [f"declared-{folder.name}"]
    with pytest.raises(NotDeclared, match="is left as it is"):
        declare(folder, ["127.0.0.1:7301"])
    with pytest.raises(NotDeclared, match="without blanks"):
        declare(tmp_path / "two words", ["127.0.0.1:7301"])
