"""A whole cluster goes to one file and comes back in another: the same changes, offsets and bookmarks."""

import json
from pathlib import Path
from typing import Any

import pytest

import hansard
from hansard.testing import cluster
from tests.cli.conftest import Run
from tests.cli.test_dev import developing, free_run


def contents(client: hansard.Client) -> dict[tuple[int, int], tuple[Any, ...]]:
    return {(change.bucket, change.offset): change for change in client.read()}


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A dump of a log that was split, and what was in it."""
    from typer.testing import CliRunner  # noqa: PLC0415

    from hansard.cli.main import app  # noqa: PLC0415

    file = tmp_path_factory.mktemp("dump") / "log.hansard"
    with cluster(participants=2, buckets=2) as two, hansard.Client.connect(two.addresses) as client:
        client.submit_many([f"k{number}" for number in range(200)], list(range(200)))
        two.double()
        client.submit_many([f"k{number}" for number in range(200)], list(range(200)), [["late"]] * 200)
        there = {"contents": contents(client), "bookmark": str(client.bookmark()), "log": client.log_id}
        done = CliRunner().invoke(app, ["dump", str(file), "--at", two.addresses[0], "--json"])
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["changes"] == 400
    return file, there


@pytest.mark.parametrize("buckets", ["4", "8"])
def test_everything_is_there_again_and_goes_on(
    tmp_path: Path, dumped: tuple[Path, dict[str, Any]], buckets: str
) -> None:
    file, there = dumped
    words: list[str | Path] = ["-n", "1", "--load", file, "--buckets", buckets, "--port", free_run(1)]
    with developing(tmp_path, *words) as (_, said), hansard.Client.connect(said["addresses"]) as client:
        assert client.log_id == there["log"] and client.buckets == int(buckets)
        found = contents(client)
        assert len(found) == 400
        if buckets == "4":
            assert found == there["contents"]
        assert sorted(change[2:] for change in found.values()) == sorted(
            change[2:] for change in there["contents"].values()
        )
        assert list(client.read(since=there["bookmark"])) == []
        client.submit("k7", "new")
        assert [change.value for change in client.read(since=there["bookmark"])] == [b"new"]


def test_a_cluster_that_is_not_for_it_is_refused(run: Run, dumped: tuple[Path, dict[str, Any]]) -> None:
    file, there = dumped
    with cluster(participants=1, buckets=4) as one:
        done = run("load", file, "--at", one.addresses[0])
    assert done.exit_code == 1 and f"hansard start --found --importing {there['log']}" in done.stderr


def test_what_is_no_dump_or_half_a_one_is_named(tmp_path: Path, run: Run, dumped: tuple[Path, dict[str, Any]]) -> None:
    (tmp_path / "rubbish").write_text("rubbish\n")
    assert "is no dump of a cluster" in run("dev", "--load", tmp_path / "rubbish").stderr
    whole = dumped[0].read_bytes()
    (tmp_path / "half").write_bytes(whole[: len(whole) // 2])
    done = run("dev", "-n", "1", "--load", tmp_path / "half", "--port", free_run(1))
    assert done.exit_code == 1 and "ends in the middle: it was not written to its end" in done.stderr
