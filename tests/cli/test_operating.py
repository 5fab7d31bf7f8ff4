"""The commands that look at a cluster and give it orders, on a real one."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import Result

from hansard.cli.reach import PORT
from hansard.testing import Cluster, cluster
from tests.cli.conftest import Run


@pytest.fixture(scope="module")
def three() -> Iterator[Cluster]:
    with cluster(buckets=2) as running:
        yield running


@pytest.fixture
def at(run: Run, three: Cluster) -> Run:
    """A command that is told where the cluster is."""

    def call(*words: Any, stdin: str | bytes | None = None) -> Result:
        done = run(*words, *[part for address in three.addresses for part in ("--at", address)], stdin=stdin)
        assert done.exit_code == 0, done.output
        return done

    return call


def test_status_shows_everybody_and_what_they_lead(at: Run, three: Cluster) -> None:
    shown = at("status").stdout
    for name in three.names:
        assert any(line.startswith(f"{name} ") and three.address(name) in line for line in shown.splitlines()), shown
    assert "2: 2 steady" in shown
    found = json.loads(at("status", "--json").stdout)
    assert [each["node"] for each in found["participants"]] == ["a", "b", "c"]
    assert sum(each["leads"] for each in found["participants"]) == 2 and not found["moves"]


def test_table_marks_leaders_and_copies(at: Run, three: Cluster) -> None:
    rows = [line.split() for line in at("table").stdout.splitlines()]
    for bucket in range(2):
        (row,) = [row for row in rows if row[:1] == [str(bucket)]]
        assert row[3:] == ["●" if name == three.leader(bucket) else "○" for name in three.names]
    assert json.loads(at("table", "--json").stdout)["log"] == three.table()["log"]


def test_buckets_say_how_far_they_are(at: Run) -> None:
    found = json.loads(at("buckets", "--json").stdout)
    assert [each["bucket"] for each in found] == [0, 1] and all(each["start"] == 0 for each in found)
    assert at("buckets").stdout.count("steady") == 2


def test_doctor_finds_nothing_in_a_healthy_cluster(at: Run) -> None:
    findings = json.loads(at("doctor", "--json").stdout)
    assert {finding["verdict"] for finding in findings} <= {"well", "odd"}, findings
    assert {"reachable", "disks", "clocks", "ways"} <= {finding["subject"] for finding in findings}
    assert "✓ ways        everybody reaches everybody" in at("doctor").stdout


def test_orders_are_carried_out_and_refused_ones_say_why(at: Run, run: Run, three: Cluster) -> None:
    before = len(three.table()["buckets"])
    done = json.loads(at("double", "--json").stdout)
    assert done["standing"] == "done" and len(three.table()["buckets"]) == 2 * before
    other = next(name for name in three.names if name != three.leader(0))
    rest = [name for name in three.names if name != other]
    assert at("move", 0, other, *rest).stdout == "move: done\n"
    assert three.leader(0) == other
    assert at("release", 0).stdout == "release: done\n"
    assert at("pause").stdout == "pause: done\n" and at("resume").stdout == "resume: done\n"
    refused = run("drain", "nobody", "--at", three.address("a"))
    assert refused.exit_code == 1 and "hansard: the order to drain is not carried out: " in refused.stderr


def test_holds_are_set_shown_and_dropped(at: Run, run: Run, three: Cluster) -> None:
    from hansard.bookmark import Bookmark  # noqa: PLC0415

    bookmark = str(Bookmark(three.table()["log"], {0: 0}))
    assert at("holds", "set", "nightly", "--bookmark", bookmark).stdout.startswith("nightly holds until 20")
    assert at("holds", "list").stdout.startswith("nightly  until 20")
    assert at("holds", "drop", "nightly").stdout == "nightly holds nothing any more\n"
    assert at("holds", "list").stdout == "nothing is held\n"
    refused = run("holds", "set", "x", "--bookmark", "rubbish", "--at", three.address("a"))
    assert refused.exit_code == 1 and refused.stderr.startswith("hansard: ")


def test_nobody_there_is_said_with_every_address(run: Run) -> None:
    done = run("status", "--at", "127.0.0.1:1", "--at", "127.0.0.1:2")
    assert done.exit_code == 1
    assert "no participant answers at 127.0.0.1:1 (nobody listens there), 127.0.0.1:2" in done.stderr
    assert PORT == 7301
