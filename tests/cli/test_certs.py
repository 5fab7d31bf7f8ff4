"""`hansard certs make`: what it writes, what it refuses. That it works is shown with participants that use it."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run


def test_it_says_what_it_wrote(run: Run, tmp_path: Path) -> None:
    done = run("certs", "make", tmp_path / "certs", "--name", "a=a.example,10.0.0.1", "--name", "b")
    names = ["ca.pem", "ca.key", "a.pem", "a.key", "b.pem", "b.key"]
    assert done.exit_code == 0 and done.stdout == "".join(f"wrote {tmp_path / 'certs' / name}\n" for name in names)


def test_it_writes_nothing_over(run: Run, tmp_path: Path) -> None:
    assert run("certs", "make", tmp_path, "--name", "a").exit_code == 0
    done = run("certs", "make", tmp_path, "--name", "a")
    assert done.exit_code == 1 and "exist already, and nothing is written over: move them away" in done.stderr


@pytest.mark.parametrize("names", [["a b"], ["ca"], ["localhost"], [""], ["a=b.ä"], ["../a"], ["a", "a=x"]])
def test_names_that_cannot_be(run: Run, tmp_path: Path, names: list[str]) -> None:
    done = run("certs", "make", tmp_path / "certs", *[f"--name={name}" for name in names])
    assert done.exit_code == 2 and done.stderr.startswith("hansard: ") and done.stderr.count("\n") == 1
    assert not (tmp_path / "certs").exists()
