"""The command line, called in this process."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hansard.cli.main import app

Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    """`run("log", "read", directory)`; a log's directory may be a Path."""

    def call(*words: str | Path, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(app, [str(word) for word in words], input=stdin)

    return call


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "log"


def json_lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]
