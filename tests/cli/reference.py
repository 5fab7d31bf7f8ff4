"""The help texts in docs/reference/cli.md. `python -m tests.cli.reference` writes them anew."""

import re
from collections.abc import Iterator
from pathlib import Path

from typer.main import get_command
from typer.testing import CliRunner

from hansard.cli.main import app

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
PLACE = re.compile(r"<!-- help: (?P<command>[a-z ]+) -->\n(?:\n```text\n.*?```\n)?", re.DOTALL)


def commands() -> Iterator[str]:
    """Every command that is shown, groups first."""
    waiting = [("hansard", get_command(app))]
    while waiting:
        name, command = waiting.pop(0)
        yield name
        below = getattr(command, "commands", {})
        waiting += [(f"{name} {sub}", each) for sub, each in below.items() if not each.hidden]


def help_text(command: str) -> str:
    done = CliRunner().invoke(app, [*command.split()[1:], "--help"], prog_name="hansard")
    assert done.exit_code == 0, done.output
    return done.stdout


def renewed(page: str) -> str:
    """The page with every help text as it is now."""

    def block(found: re.Match[str]) -> str:
        command = found["command"]
        return f"<!-- help: {command} -->\n\n```text\n{help_text(command).rstrip()}\n```\n"

    return PLACE.sub(block, page)


def places(page: str) -> list[str]:
    return [found["command"] for found in PLACE.finditer(page)]


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text()))
