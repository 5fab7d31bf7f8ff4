"""`hansard pipeline checkpoint` and `report`, as they are typed."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from hansard.checkpoint import Start, Subject, encoded
from hansard.cli.main import app
from hansard.client import Client
from hansard.testing import Cluster, cluster


@pytest.fixture(scope="module")
def one() -> Iterator[Cluster]:
    with cluster(1, buckets=2) as running:
        yield running


def run(one: Cluster, *words: str) -> Result:
    return CliRunner().invoke(app, ["pipeline", *words, "--at", one.addresses[0]])


def test_checkpoints_and_a_report_are_made_and_told(spark: SparkSession, one: Cluster, tmp_path: Path) -> None:
    with Client.connect(one.addresses) as client:
        client.submit_many(["a", "b", "a"], ["1", "2", "3"], [["tenant:x"], ["tenant:y"], ["tenant:x"]])
        made = run(one, "checkpoint", str(tmp_path), "--tag", "tenant:x", "--json")
        assert made.exit_code == 0, made.output
        told = json.loads(made.stdout)
        assert (told["tags"], told["number"], told["ours"]) == (["tenant:x"], 1, True) and told["layers"][0][
            "rows"
        ] == 1
        assert [change.value for change in client.bootstrap(tags=["tenant:x"]).state()] == [b"3"]
        each = run(one, "checkpoint", str(tmp_path), "--each", "tenant:")
        assert each.exit_code == 0 and "checkpoint 2 of tenant:x: 1 rows" in each.stdout, each.output
        assert "checkpoint 1 of tenant:y" in each.stdout
        subject = Subject.of(["tenant:y"])
        start = Start(id="x", number=2, who="somebody", bookmark=str(client.bookmark()), lasts_us=10**9)
        client.submit(subject.key, encoded(start), subject.record_tags)
        busy = run(one, "checkpoint", str(tmp_path), "--tag", "tenant:y")
        assert busy.exit_code == 3 and "somebody is at work on it" in busy.output
        html = tmp_path / "report.html"
        report = run(one, "report", "--html", str(html), "--json")
        assert report.exit_code == 0, report.output
        assert [each["name"] for each in json.loads(report.stdout)["tenants"]] == ["tenant:x", "tenant:y"]
        assert "tenant:x" in html.read_text()
        shown = run(one, "report")
        assert shown.exit_code == 0 and "tenant:x" in shown.stdout and "3 changes" in shown.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["checkpoint", "/x"], "give one of them"),
        (["checkpoint", "/x", "--tag", "a", "--all"], "give one of them"),
        (["checkpoint", "/x", "--tag", "a", "--match", "some"], "--match is any or all"),
        (["report", "--since", "yesterday"], "is no time with a zone"),
        (["report", "--html", "/not/there/x.html"], "there is no folder"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_starts(one: Cluster, words: list[str], said: str) -> None:
    done = run(one, *words)
    assert done.exit_code == 2 and said in done.output, done.output
