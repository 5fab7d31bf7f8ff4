"""The guide to a cluster is followed word by word: its commands are started, and its program runs against them."""

import re
import signal
import subprocess
import sys
import tomllib
from contextlib import ExitStack
from pathlib import Path

from typer.testing import CliRunner

from hansard.cli.main import app
from hansard.server.settings import SETTINGS
from tests.cluster.command import PATIENCE_S, environment, started
from tests.server.trio import free_addresses

from .test_examples import HOME, blocks

PAGE = (HOME / "docs" / "guides" / "cluster.md").read_text()


def test_three_shells_and_a_program(tmp_path: Path) -> None:
    """At other ports, because those of the page may be in use."""
    ports = {f"730{n}": str(port) for n, (_, port) in enumerate(free_addresses(3), start=1)}
    page = re.sub("730[123]", lambda found: ports[found[0]], PAGE)
    shells = [block.text.split()[2:] for block in blocks(page) if block.text.startswith("hansard start")]
    (program,) = [block.text for block in blocks(page) if block.language == "py"]
    assert len(shells) == 3
    with ExitStack() as stack:
        running = [stack.enter_context(started(tmp_path / directory, *words)) for directory, *words in reversed(shells)]
        for each in running:
            each.ready()
        words, variables = [sys.executable, "-c", program], environment()
        for _ in range(2):
            done = subprocess.run(words, env=variables, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            assert done.stdout.startswith("stored at offset"), done
            running[0].process.kill()  # the second time one is gone
        assert [each.stop(signal.SIGTERM) for each in running[1:]] == [0, 0]


def test_certificates_are_made_and_the_files_can_be_used(tmp_path: Path) -> None:
    (command,) = [block.text.split() for block in blocks(PAGE) if block.text.startswith("hansard certs")]
    done = CliRunner().invoke(app, [*command[1:3], str(tmp_path), *command[4:]])
    assert done.exit_code == 0, done.output
    first, others = [block.text for block in blocks(PAGE) if block.language == "toml"]
    settings = tomllib.loads(first)
    assert settings.keys() <= SETTINGS.keys() and tomllib.loads(others).keys() <= SETTINGS.keys()
    file = tmp_path / "a.toml"
    file.write_text(first.replace("/var/lib/hansard", str(tmp_path / "data")))
    checked = CliRunner().invoke(app, ["start", "--config", str(file), "--check"])
    assert checked.exit_code == 0, checked.output
    assert "It would found a cluster of 8 buckets" in checked.stdout


def test_every_setting_is_in_the_table_with_its_default() -> None:
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|([^|]*)\|", PAGE, re.MULTILINE)
    shown = {name: default.strip() for names, default in rows for name in re.findall(r"`(\w+)`", names)}
    assert list(shown) == list(SETTINGS)
    for name, setting in SETTINGS.items():
        if setting.default not in (None, "", False, ()):
            assert shown[name].strip("`") == str(setting.default), name
