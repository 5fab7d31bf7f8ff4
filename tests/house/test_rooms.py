"""The house as it stands follows its rules."""

import subprocess
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path, PurePosixPath

import pytest

from tests.house.rooms import BROAD_EXCEPTS, ROOMS
from tests.house.rules import RULES, Offence, Rule, broad_excepts, room_of, text_names_no_machine

HOME = Path(__file__).parents[2]
FOLDERS = ("src", "sim", "tests", "bench")


@cache
def sources() -> dict[PurePosixPath, str]:
    return {
        PurePosixPath(path.relative_to(HOME).as_posix()): path.read_text()
        for folder in FOLDERS
        for path in sorted((HOME / folder).rglob("*.py"))
    }


def report(offences: list[Offence]) -> str:
    return "\n" + "\n".join(str(offence) for offence in offences)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_source_follows(rule: Rule) -> None:
    offences = [offence for path, source in sources().items() for offence in rule(path, source)]
    assert not offences, report(offences)


def test_the_sources_were_found() -> None:
    assert PurePosixPath("src/hansard/__init__.py") in sources()
    assert {room_of(path) for path in sources()} & set(ROOMS)


def test_no_file_names_a_folder_of_one_machine() -> None:
    offences = [
        offence
        for path in kept_files()
        if b"\0" not in (raw := (HOME / path).read_bytes())
        for offence in text_names_no_machine(path, raw.decode(errors="replace"))
    ]
    assert not offences, report(offences)


def kept_files() -> list[PurePosixPath]:
    """Everything that is committed or could be."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listing = subprocess.run(command, cwd=HOME, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"git cannot list the files here, so which of them are kept is not known: {error}")
    names = sorted(set(listing.split("\0")) - {""})
    return [PurePosixPath(name) for name in names if (HOME / name).is_file()]


def test_rooms_form_no_circle() -> None:
    rows = {name: row.imports for name, row in ROOMS.items() if row.imports is not None}
    TopologicalSorter(rows).prepare()


def test_rows_name_rooms_that_have_rows() -> None:
    named = {target for row in ROOMS.values() for target in row.imports or ()}
    assert named <= set(ROOMS)


def test_reasons_for_broad_excepts_are_still_needed() -> None:
    found = {(str(path), function) for path, source in sources().items() for function, _ in broad_excepts(source)}
    assert set(BROAD_EXCEPTS) <= found, f"remove from BROAD_EXCEPTS: {set(BROAD_EXCEPTS) - found}"
