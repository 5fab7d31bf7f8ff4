"""The walk through the HTTP API is walked: its participant is started, its curl commands run, and say what it shows."""

import json
import re
import shlex
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

from hansard.http.problem import KINDS
from tests.cluster.command import PATIENCE_S, environment, started
from tests.http.fuzzing import description
from tests.server.trio import free_addresses

from .test_examples import HOME, blocks

GUIDE = (HOME / "docs" / "guides" / "http.md").read_text()
REFERENCE = (HOME / "docs" / "reference" / "http.md").read_text()
VARYING = {"id", "bucket", "offset", "timestamp", "bookmark", "next", "previous", "standing", "remaining"}


def alike(shown: Any, told: Any, name: str = "") -> bool:
    match shown:
        case dict():
            return shown.keys() == told.keys() and all(alike(shown[each], told[each], each) for each in shown)
        case list():
            return len(shown) == len(told) and all(alike(*each) for each in zip(shown, told, strict=True))
        case _:
            return name in VARYING or shown == told


def test_the_walk(tmp_path: Path) -> None:
    """At other ports, because those of the page may be in use."""
    (_, binary), (_, http) = free_addresses(2)
    shown = list(blocks(GUIDE.replace("8080", str(http))))
    first, *rest = shown
    _, _, directory, *words = first.text.split()
    compared = 0
    with started(tmp_path / directory, *words, "--listen", f"127.0.0.1:{binary}") as participant:
        participant.ready()
        for block, following in pairwise([*rest, first]):
            if block.language != "sh":
                continue
            done = subprocess.run(
                ["bash", "-c", block.text],
                env=environment(),
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
                check=False,
            )
            if following.language == "json":
                assert alike(json.loads(following.text), json.loads(done.stdout)), (block.text, done.stdout)
                compared += 1
            else:
                assert done.stdout.startswith("retry: 1000\n\nid: b1") and "event: change\ndata: {" in done.stdout
    assert compared >= 8


def test_the_reference_has_every_operation() -> None:
    rows = re.findall(r"^\| `([A-Z]+) (/\S*)` \|([a-z, ]*)\|", REFERENCE, re.MULTILINE)
    paths = description("")["paths"]
    there = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert {(method, path) for method, path, _ in rows} == there
    for method, path, takes in rows:
        operation = paths[path][method.lower()]
        said = operation.get("description", "")
        scope = re.search(r"scope `(\w+)`", said)
        assert (scope[1] if scope else "") == takes.partition(",")[0].strip(), (method, path)
        assert ("limited to tags" in said) == ("tags" in takes), (method, path)


def test_the_reference_has_every_problem_and_nothing_else() -> None:
    rows = re.findall(r"^\| `([a-z-]+)`( \*)? \| (\d{3}) \|", REFERENCE, re.MULTILINE)
    assert {(name, int(status), bool(passing)) for name, passing, status in rows} == {
        (name, kind.status, kind.passing) for name, kind in KINDS.items()
    }


def test_commands_of_the_guide_are_curl_or_hansard() -> None:
    words = {shlex.split(block.text)[0] for block in blocks(GUIDE) if block.language == "sh"}
    assert words == {"curl", "hansard"}
