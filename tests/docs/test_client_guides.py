"""The guides to submitting and following are programs: they run from top to bottom against a cluster."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.client.countdown import Background, addresses
from tests.cluster.company import Company

from .test_examples import HOME, blocks


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Company]:
    with Background(tmp_path_factory.mktemp("cluster")) as company:
        yield company


@pytest.mark.parametrize("name", ["submitting", "following"])
def test_a_guide_runs_from_top_to_bottom(name: str, company: Company) -> None:
    """At other addresses, because those of the page may be in use."""
    path: Path = HOME / "docs" / "guides" / f"{name}.md"
    where = addresses(company)
    page = re.sub(r"127\.0\.0\.1:730([123])", lambda found: where[int(found[1]) - 1], path.read_text())
    doors = ["{}:{}".format(*door) for door in company.doors.values()]
    page = re.sub(r"127\.0\.0\.1:732([123])", lambda found: doors[int(found[1]) - 1], page)
    names: dict[str, Any] = {"__name__": "example"}
    programs = [block for block in blocks(page) if block.language == "py"]
    assert len(programs) > 5
    for block in programs:
        exec(compile("\n" * (block.line - 1) + block.text, path, "exec"), names)
