"""The commands that write and read the changes of a cluster, on a real one."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import typer
from typer.testing import Result

from hansard.cli.following import place
from hansard.testing import Cluster, cluster
from tests.cli.conftest import Run, json_lines
from tests.cluster.command import environment

PATIENCE_S = 30


@pytest.fixture(scope="module")
def two() -> Iterator[Cluster]:
    with cluster(participants=2, buckets=4) as running:
        yield running


@pytest.fixture
def at(run: Run, two: Cluster) -> Run:
    def call(*words: Any, stdin: str | bytes | None = None) -> Result:
        done = run(*words, "--at", ",".join(two.addresses), stdin=stdin)
        assert done.exit_code == 0, done.output
        return done

    return call


def test_one_change_is_stored_and_read_by_its_tag(at: Run) -> None:
    said = at("submit", "user:17", '{"plan": "pro"}', "--tag", "one").stdout
    assert said.startswith("stored in bucket ") and " at offset " in said
    (found,) = json_lines(at("read", "--tag", "one", "--json").stdout)
    assert (found["key"], found["value"], found["tags"]) == ("user:17", '{"plan": "pro"}', ["one"])
    assert 'user:17  one  {"plan": "pro"}' in at("read", "--tag", "one").stdout


def test_lines_get_a_receipt_each_and_what_is_read_can_be_submitted(at: Run) -> None:
    lines = "".join(f'{{"key": "k{number}", "value": {number}, "tags": ["lines"]}}\n' for number in range(50))
    receipts = json_lines(at("submit", "--json", stdin=lines).stdout)
    assert len(receipts) == 50 and len({(receipt["bucket"], receipt["offset"]) for receipt in receipts}) == 50
    read = at("read", "--tag", "lines", "--json").stdout
    assert sorted(change["key"] for change in json_lines(read)) == sorted(f"k{number}" for number in range(50))
    assert at("submit", stdin=read).stdout.startswith("stored 50 changes: ")
    assert len(json_lines(at("read", "--tag", "lines", "--json").stdout)) == 100


def test_a_bad_line_is_named_and_all_before_it_is_stored(run: Run, two: Cluster) -> None:
    done = run("submit", "--at", two.addresses[0], stdin='{"key": "good", "tags": ["bad"]}\nrubbish\n')
    assert done.exit_code == 1 and "line 2: " in done.stderr and "(1 change is stored)" in done.stderr


def test_order_limit_and_bookmark(at: Run) -> None:
    for number in range(5):
        at("submit", "ordered", str(number), "--tag", "ordered")
    newest = json_lines(at("read", "--tag", "ordered", "--order", "desc", "--limit", "2", "--json").stdout)
    assert [change["value"] for change in newest] == ["4", "3"]
    first = at("read", "--tag", "ordered", "--limit", "2", "--json", "--bookmark")
    assert [change["value"] for change in json_lines(first.stdout)] == ["0", "1"]
    bookmark = first.stderr.strip()
    rest = json_lines(at("read", "--tag", "ordered", "--since", bookmark, "--json").stdout)
    assert [change["value"] for change in rest] == ["2", "3", "4"]
    assert at("read", "--tag", "ordered", "--since", "2999-01-01T00:00:00Z").stdout == ""


def test_tail_shows_the_last_ones_and_what_comes_until_ctrl_c(at: Run, two: Cluster) -> None:
    at("submit", "tailed", "before", "--tag", "tailed")
    words = ["tail", "--tag", "tailed", "--json", "-n", "1", "--at", ",".join(two.addresses)]
    command, pipe = [sys.executable, "-m", "hansard", *words], subprocess.PIPE
    with subprocess.Popen(command, env=environment(), stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["value"] == "before"
            at("submit", "tailed", "after", "--tag", "tailed")
            assert json.loads(process.stdout.readline())["value"] == "after"
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=PATIENCE_S) == ("", "hansard: interrupted\n")
            assert process.returncode == 130
        finally:
            process.kill()


def test_bench_measures_and_its_changes_are_there(at: Run) -> None:
    found = json.loads(at("bench", "--seconds", "0.3", "--window", "8", "--clients", "2", "--json").stdout)
    assert found["changes"] > 0 and not found["errors"]
    assert list(found["latency_ms"]) == ["p50", "p90", "p99", "p99.9", "max"]
    assert len(json_lines(at("read", "--tag", "hansard:bench", "--json").stdout)) == found["changes"]
    shown = at("bench", "--seconds", "0.2", "--batch", "20", "--size", "10").stdout
    assert " changes of 10 bytes in " in shown and "█" in shown


def test_tokens_are_granted_shown_without_their_secret_and_revoked(at: Run) -> None:
    text = at("tokens", "grant", "acme", "--scope", "read", "--tag", "tenant:acme", "--lasts", "1h").stdout.strip()
    assert text.startswith("hsd_")
    shown = at("tokens", "list").stdout
    assert "acme  read, only tenant:acme  until " in shown and text not in shown
    assert at("tokens", "revoke", "acme").stdout == "acme's token is revoked\n"
    assert "acme" not in at("tokens", "list").stdout


def test_a_guarded_cluster_takes_commands_with_a_token_only(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with cluster(participants=1, buckets=1, guarded=True) as one:
        monkeypatch.setenv("HANSARD_ADDRESSES", one.addresses[0])
        assert run("status").exit_code == 1 and run("submit", "k", "v", "--timeout", "1").exit_code == 1
        monkeypatch.setenv("HANSARD_TOKEN", one.token)
        assert run("status").exit_code == 0 and run("submit", "k", "v").exit_code == 0
        reader = run("tokens", "grant", "r", "--scope", "read").stdout.strip()
        monkeypatch.setenv("HANSARD_TOKEN", reader)
        assert run("read").stdout.endswith("k  -  v\n") and run("submit", "k", "v").exit_code == 1


def test_places_are_bookmarks_times_and_how_long_ago(capsys: pytest.CaptureFixture[str]) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    assert place(None) is None and place("b1abc") == "b1abc"
    assert place("90s", now) == now - timedelta(seconds=90)
    assert place("1.5h", now) == now - timedelta(hours=1.5)
    assert place("2030-01-01T00:00:00Z") == now
    with pytest.raises(typer.Exit):
        place("yesterday")
    assert "'yesterday' is no place" in capsys.readouterr().err
