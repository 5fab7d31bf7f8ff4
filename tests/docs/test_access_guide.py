"""The guide to tokens says what is so: its questions are understood, its command runs, and its words are those that are
said."""

import re
from pathlib import Path

from typer.testing import CliRunner

from hansard.cli.main import app
from hansard.distributor.entitlement import Scope
from hansard.distributor.tokens import TOKENS_MAX
from hansard.server.admin import understood
from hansard.server.grant import NOT_ALLOWED
from tests.cluster.command import TOKEN

from .test_examples import HOME, blocks

PAGE = (HOME / "docs" / "guides" / "access.md").read_text()
PROTOCOL = (HOME / "docs" / "reference" / "wire-protocol.md").read_text()


def test_every_question_of_the_guide_is_one() -> None:
    questions = re.findall(r"`(\{\"ask\".*?\})` \|", PAGE)
    assert len(questions) == 4
    for question in questions:
        understood(question.encode())


def test_all_scopes_are_explained_and_the_bound_and_the_words_are_true() -> None:
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(Scope)
    assert f"{TOKENS_MAX:,} of them" in PAGE and f"\n{TOKEN}hsd_" in PAGE
    assert NOT_ALLOWED in PROTOCOL


def test_certificates_for_clients_are_made_as_the_guide_says(tmp_path: Path) -> None:
    (command,) = [block.text.split() for block in blocks(PAGE) if block.text.startswith("hansard certs")]
    done = CliRunner().invoke(app, [*command[1:3], str(tmp_path), *command[4:]])
    assert done.exit_code == 0 and (tmp_path / "admin-ops.pem").exists(), done.output
