"""What the documentation shows is what happens: its Python runs, and its commands print what it says.

The blocks of a page run one after the other in one fresh directory. In a `console` block the lines after `$` are run,
and those below are their output; times and the ids of logs may differ. A page that says so runs against a cluster: its
commands find that in the environment, and in its programs the addresses of `hansard dev` stand for it. Offsets may
differ there.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from hansard.cli.main import app
from hansard.testing import cluster

HOME = Path(__file__).parents[2]
PAGES = sorted([HOME / "README.md", *(HOME / "docs").rglob("*.md")])
FENCED = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
OFFSET = re.compile(r"(?<=offset )\d+|^\d+(?=  TIME)", re.MULTILINE)
CLUSTER = "<!-- against a cluster -->"
LOG_ID = re.compile(r"\b[0-9a-f]{16}\b")


class Block(NamedTuple):
    language: str
    text: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    for found in FENCED.finditer(page):
        yield Block(found["language"], found["text"], page[: found.start()].count("\n") + 2)


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command with the output that is shown below it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def steady(output: str, *, in_cluster: bool = False) -> str:
    output = LOG_ID.sub("ID", TIME.sub("TIME", output))
    return OFFSET.sub("OFFSET", output) if in_cluster else output


@contextmanager
def surroundings(page: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """A cluster, if the page needs one; and what is to be done to its programs."""
    if CLUSTER not in page:
        yield lambda text: text
        return
    with cluster(buckets=8) as three:
        monkeypatch.setenv("HANSARD_ADDRESSES", ",".join(three.addresses))
        yield lambda text: re.sub(r"127\.0\.0\.1:730([123])", lambda found: three.address(int(found[1]) - 1), text)


def printed(command: str) -> str:
    """A simple command runs in this process, which is quicker; a pipe needs a shell."""
    if "|" not in command:
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        assert done.exit_code == 0, done.output
        return done.stdout
    search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": search}
    return subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(HOME).as_posix())
def test_examples_do_what_the_page_says(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "example"}
    page = path.read_text()
    with surroundings(page, monkeypatch) as adapted:
        for block in blocks(page):
            if block.language == "python":
                # Empty lines in front, so that a traceback tells the line of the page.
                exec(compile("\n" * (block.line - 1) + adapted(block.text), path, "exec"), names)
            elif block.language == "console":
                for command, output in commands(block.text):
                    expected = steady(output, in_cluster=CLUSTER in page)
                    assert steady(printed(command), in_cluster=CLUSTER in page) == expected


def test_pages_with_examples_were_found() -> None:
    languages = {block.language for path in PAGES for block in blocks(path.read_text())}
    assert {"python", "console"} <= languages
