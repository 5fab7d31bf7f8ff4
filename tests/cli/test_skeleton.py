"""What `hansard skeleton` refuses before it touches anything."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run

THREE = ["--participant=a=127.0.0.1:7001", "--participant=b=127.0.0.1:7002", "--participant=c=127.0.0.1:7003"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--me=z", "--leader=a", *THREE], "z is not among the participants (a, b, c): add --participant"),
        (["--me=a", "--leader=z", *THREE], "z is not among the participants (a, b, c): add --participant"),
        (["--me=a", "--leader=a", *THREE, THREE[0]], "two participants have the same name"),
        (["--me=a", "--leader=a", "--participant=a"], "'a' is no NAME=HOST:PORT"),
        (["--me=a", "--leader=a", "--participant=a=7001"], "'a=7001' is no NAME=HOST:PORT"),
        (["--me=a", "--leader=a", "--participant==h:7001"], "'=h:7001' is no NAME=HOST:PORT"),
        (["--me=a", "--leader=a", "--participant=a=h:0"], "'a=h:0' is no NAME=HOST:PORT"),
        (["--me=a", "--leader=a", "--participant=a=h:65536"], "'a=h:65536' is no NAME=HOST:PORT"),
        (["--me=a", "--leader=a", "--participant=a=h:http"], "'a=h:http' is no NAME=HOST:PORT"),
    ],
)
def test_wrong_words_are_usage_errors_and_nothing_is_made(
    run: Run, directory: Path, options: list[str], complaint: str
) -> None:
    result = run("skeleton", directory, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"hansard: {complaint}\n"
    assert not directory.exists()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--me=a", "--leader=a"], "--participant"),
        (["--leader=a", *THREE], "--me"),
        (["--me=a", *THREE], "--leader"),
        (["--me=a", "--leader=a", "--epoch=0", *THREE], "--epoch"),
    ],
)
def test_missing_and_impossible_options_are_named(run: Run, directory: Path, options: list[str], named: str) -> None:
    result = run("skeleton", directory, *options)
    assert result.exit_code == 2 and result.stdout == "" and named in result.stderr
    assert not directory.exists()


def test_unknown_shape_names_the_known_ones(run: Run, directory: Path) -> None:
    result = run("skeleton", directory, "--me=a", "--leader=a", "--shape=ring", *THREE)
    assert result.exit_code == 2 and "star" in result.stderr and "chain" in result.stderr


def test_it_is_not_among_the_commands_that_are_shown(run: Run) -> None:
    assert "skeleton" not in run("--help").stdout
