"""Each rule catches the offence that it is there for, and lets its neighbour pass."""

from pathlib import PurePosixPath

import pytest

from tests.house import rooms, rules
from tests.house.rules import Rule


def caught(rule: Rule, path: str, source: str) -> bool:
    return bool(list(rule(PurePosixPath(path), source)))


@pytest.mark.parametrize("path", ["src/hansard/attic/box.py", "src/hansard/attic.py", "src/elsewhere/box.py"])
def test_room_without_a_row_is_told_to_add_one(path: str) -> None:
    (offence,) = rules.every_room_has_a_row(PurePosixPath(path), "")
    assert "add its row" in offence.what


def test_room_with_a_row_and_files_outside_src_pass() -> None:
    assert not caught(rules.every_room_has_a_row, "src/hansard/batch/header.py", "")
    assert not caught(rules.every_room_has_a_row, "sim/clock.py", "")


@pytest.mark.parametrize(
    "source",
    [
        "import hansard.storage",
        "import hansard.storage.journal as j",
        "from hansard.storage import journal",
        "from hansard import storage",
        "from hansard import open",
        "import hansard",
        "from .. import storage",
        "from ..storage import journal",
        "from ..storage.journal import Journal",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from hansard.storage import Journal",
        "def late():\n    from hansard.storage import Journal",
        "import importlib\nimportlib.import_module('hansard.storage')",
        "import sim.clock",
        "from tests.house import rooms",
        "import pyspark_hansard",
    ],
)
def test_import_beyond_the_row_is_caught(source: str) -> None:
    rule = rules.rooms_import_what_their_row_permits
    assert caught(rule, "src/hansard/batch/header.py", source)
    assert caught(rule, "src/hansard/batch/__init__.py", source)


def test_relative_import_is_resolved_from_where_it_stands() -> None:
    rule = rules.rooms_import_what_their_row_permits
    # Two dots within batch/deep are batch's own storage.py, if it had one; three are the room.
    assert not caught(rule, "src/hansard/batch/deep/x.py", "from ..storage import y")
    assert not caught(rule, "src/hansard/batch/deep/__init__.py", "from ..storage import y")
    assert caught(rule, "src/hansard/batch/deep/x.py", "from ...storage import y")
    assert caught(rule, "src/hansard/__init__.py", "from .server import y")
    assert not caught(rule, "src/hansard/__init__.py", "from .embedded import y")


def test_permitted_imports_pass() -> None:
    rule = rules.rooms_import_what_their_row_permits
    assert not caught(rule, "src/hansard/batch/header.py", "from . import columns\nimport numpy, struct")
    assert not caught(rule, "src/hansard/storage/journal.py", "from hansard import batch")
    assert not caught(rule, "src/hansard/cli/main.py", "import hansard\nfrom hansard.server import shell")


def test_cli_may_import_every_room_but_not_the_simulator() -> None:
    assert caught(rules.rooms_import_what_their_row_permits, "src/hansard/cli/main.py", "import sim")


@pytest.mark.parametrize("core", ["batch", "wire", "consensus", "distributor", "phaser", "participant"])
@pytest.mark.parametrize("module", ["asyncio", "time", "socket", "os", "random", "threading", "subprocess", "pathlib"])
def test_core_touching_the_world_is_caught(core: str, module: str) -> None:
    path = f"src/hansard/{core}/core.py"
    assert caught(rules.banned_modules_stay_out, path, f"import {module}")
    assert caught(rules.banned_modules_stay_out, path, f"from {module} import anything")


@pytest.mark.parametrize("source", ["import os.path", "import numpy, os as system", "open('x')", "print(1)"])
def test_core_reaching_the_world_by_another_door_is_caught(source: str) -> None:
    assert caught(rules.banned_modules_stay_out, "src/hansard/wire/frame.py", source)


def test_shells_may_touch_the_world() -> None:
    source = "import asyncio, os, random, socket, time\nopen('x')"
    assert not caught(rules.banned_modules_stay_out, "src/hansard/server/shell.py", source)


def test_only_the_real_disk_of_storage_imports_os() -> None:
    rule = rules.banned_modules_stay_out
    assert caught(rule, "src/hansard/storage/journal.py", "import os")
    assert caught(rule, "src/hansard/storage/journal.py", "open('x')")
    assert not caught(rule, "src/hansard/storage/disk.py", "import os")


@pytest.mark.parametrize("module", ["asyncio", "socket", "random", "time"])
@pytest.mark.parametrize("file", ["journal", "disk"])
def test_storage_neither_waits_nor_guesses(file: str, module: str) -> None:
    assert caught(rules.banned_modules_stay_out, f"src/hansard/storage/{file}.py", f"import {module}")


@pytest.mark.parametrize("module", ["time", "os", "threading"])
def test_simulator_touching_the_world_is_caught(module: str) -> None:
    assert caught(rules.banned_modules_stay_out, "sim/network.py", f"import {module}")


@pytest.mark.parametrize(
    "source",
    [
        "import random\nrandom.choice([1])",
        "import random as dice\ndice.shuffle([])",
        "from random import choice",
        "from random import SystemRandom",
        "import random\nrandom.Random()",
        "from random import Random\nRandom(None)",
    ],
)
def test_randomness_without_a_seed_is_caught(source: str) -> None:
    assert caught(rules.randomness_is_seeded, "sim/nemesis.py", source)


@pytest.mark.parametrize(
    "source",
    [
        "import random\nr = random.Random(7)\nr.choice([1])",
        "from random import Random\ndef f(random: Random) -> int:\n    return random.randrange(3)",
    ],
)
def test_randomness_with_a_seed_passes(source: str) -> None:
    assert not caught(rules.randomness_is_seeded, "sim/nemesis.py", source)


def test_file_over_the_limit_is_caught() -> None:
    rule = rules.files_and_functions_stay_short
    assert not caught(rule, "bench/append.py", "x = 1\n" * rooms.FILE_LINES_MAX)
    assert caught(rule, "bench/append.py", "x = 1\n" * (rooms.FILE_LINES_MAX + 1))


@pytest.mark.parametrize("keyword", ["def", "async def"])
def test_function_over_the_limit_is_caught(keyword: str) -> None:
    rule = rules.files_and_functions_stay_short
    longest = f"{keyword} f():\n" + "    x = 1\n" * (rooms.FUNCTION_LINES_MAX - 1)
    assert not caught(rule, "sim/clock.py", longest)
    assert caught(rule, "sim/clock.py", longest + "    x = 1\n")


def test_docstring_does_not_count_as_length() -> None:
    docstring = '    """One.\n\n    Two.\n    """\n'
    source = "def f():\n" + docstring + "    x = 1\n" * (rooms.FUNCTION_LINES_MAX - 1)
    assert not caught(rules.files_and_functions_stay_short, "sim/clock.py", source)


@pytest.mark.parametrize(
    "path",
    [
        "src/hansard/batch/utils.py",
        "src/hansard/batch/_helpers.py",
        "src/hansard/common/x.py",
        "src/hansard/server/connection_manager.py",
        "tests/test_utils.py",
    ],
)
def test_name_that_says_nothing_is_caught(path: str) -> None:
    assert caught(rules.modules_are_named_for_a_noun, path, "")


def test_name_that_is_a_noun_passes() -> None:
    assert not caught(rules.modules_are_named_for_a_noun, "src/hansard/batch/common_prefix.py", "")


@pytest.mark.parametrize(
    "source",
    [
        "import unittest.mock",
        "from unittest import mock",
        "from unittest.mock import Mock",
        "import mock",
        "import time\ntime.sleep(1)",
        "import time as t\nt.sleep(1)",
        "from time import sleep",
    ],
)
def test_mock_and_sleep_are_caught_in_tests(source: str) -> None:
    assert caught(rules.tests_neither_mock_nor_sleep, "tests/server/test_shell.py", source)
    assert not caught(rules.tests_neither_mock_nor_sleep, "src/hansard/server/shell.py", source)


def test_deadline_passes_in_tests() -> None:
    source = "import time\nimport unittest\ndeadline = time.monotonic() + 5"
    assert not caught(rules.tests_neither_mock_nor_sleep, "tests/server/test_shell.py", source)


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    pass\nexcept:\n    pass",
        "try:\n    pass\nexcept Exception:\n    pass",
        "try:\n    pass\nexcept BaseException as error:\n    raise",
        "try:\n    pass\nexcept (ValueError, Exception):\n    pass",
        "import builtins\ntry:\n    pass\nexcept builtins.Exception:\n    pass",
        "try:\n    pass\nexcept* Exception:\n    pass",
        "import contextlib\nwith contextlib.suppress(Exception):\n    pass",
    ],
)
def test_broad_except_is_caught(source: str) -> None:
    assert caught(rules.broad_excepts_have_a_reason, "src/hansard/server/shell.py", source)
    assert not caught(rules.broad_excepts_have_a_reason, "tests/server/test_shell.py", source)


def test_narrow_except_passes() -> None:
    source = "try:\n    pass\nexcept (OSError, ValueError):\n    pass"
    assert not caught(rules.broad_excepts_have_a_reason, "src/hansard/server/shell.py", source)


def test_broad_except_passes_in_the_one_function_that_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    body = "try:\n            pass\n        except Exception:\n            pass"
    source = f"class Task:\n    def run(self):\n        {body}\n"
    path = "src/hansard/server/task.py"
    monkeypatch.setattr(rooms, "BROAD_EXCEPTS", {(path, "Task.run"): "the top of a task"})
    assert not caught(rules.broad_excepts_have_a_reason, path, source)
    assert caught(rules.broad_excepts_have_a_reason, path, source.replace("run", "stop"))
    assert caught(rules.broad_excepts_have_a_reason, "src/hansard/server/other.py", source)


@pytest.mark.parametrize("folder", rooms.MACHINE_PATHS)
def test_folder_of_one_machine_is_caught_in_text(folder: str) -> None:
    rule = rules.text_names_no_machine
    assert caught(rule, "docs/start.md", f"first\ncd {folder}main")
    assert caught(rule, "Makefile", f'"{folder}x"')
    assert caught(rule, "Makefile", f"cp docs{folder}x {folder}x")
    assert not caught(rule, "docs/start.md", f"https://example.org{folder}x and docs{folder}x")
