"""`hansard log read`, `tail`, `info`, `verify` and `dump`."""

import shutil
from pathlib import Path

import pytest

import hansard
from tests.cli.conftest import Run, json_lines
from tests.embedded.conftest import Clock


@pytest.fixture
def filled(directory: Path) -> Path:
    with hansard.open(directory, clock_ns=Clock()) as log:
        log.append_many([("a", "first", ["x"]), ("long-key", '{"n": 2}', ["x", "y"])])
        log.append(b"\xff\x00", None)
        log.append(None, "\x1b[31mred\nand more")
    return directory


def offsets(run: Run, *words: str | Path) -> list[int]:
    done = run("log", *words, "--json")
    assert done.exit_code == 0, done.output
    return [row["offset"] for row in json_lines(done.stdout)]


def test_columns_stand_under_each_other(run: Run, filled: Path) -> None:
    assert run("log", "read", filled).stdout.splitlines() == [
        "0  2024-05-31T12:00:01.000000Z  a         x    first",
        '1  2024-05-31T12:00:01.000000Z  long-key  x,y  {"n": 2}',
        r"2  2024-05-31T12:00:02.000000Z  \xff\x00  -    (deleted)",
        r"3  2024-05-31T12:00:03.000000Z  -         -    \x1b[31mred\nand more",
    ]


def test_json_has_everything(run: Run, filled: Path) -> None:
    first, _, third, fourth = json_lines(run("log", "read", filled, "--json").stdout)
    assert first == {"offset": 0, "time": "2024-05-31T12:00:01.000000Z", "key": "a", "value": "first", "tags": ["x"]}
    assert third["key"] == {"base64": "/wA="} and third["value"] is None
    assert fourth["key"] is None and fourth["value"] == "\x1b[31mred\nand more"


def test_what_is_read_is_chosen_by_options(run: Run, filled: Path) -> None:
    assert offsets(run, "read", filled, "--since", "1", "--until", "3") == [1, 2]
    assert offsets(run, "read", filled, "--since", "2024-05-31T12:00:02Z") == [2, 3]
    assert offsets(run, "read", filled, "--tag", "x", "--tag", "y") == [0, 1]
    assert offsets(run, "read", filled, "--tag", "x", "--tag", "y", "--match", "all") == [1]
    assert offsets(run, "read", filled, "--key", "long-key") == [1]
    assert offsets(run, "read", filled, "--order", "desc", "--limit", "2") == [3, 2]
    with hansard.open(filled, read_only=True) as log:
        bookmark = log.page(limit=3).bookmark
    assert offsets(run, "read", filled, "--since", str(bookmark)) == [3]


def test_tail(run: Run, filled: Path) -> None:
    assert offsets(run, "tail", filled) == [0, 1, 2, 3]
    assert offsets(run, "tail", filled, "-n", "2") == [2, 3]
    assert offsets(run, "tail", filled, "-n", "1", "--tag", "x") == [1]
    assert run("log", "tail", filled, "-n", "1").stdout.startswith("3  2024")


def test_info(run: Run, filled: Path) -> None:
    lines = run("log", "info", filled).stdout.splitlines()
    assert lines[1:3] == [
        "changes   offsets 0 to 3",
        "times     2024-05-31T12:00:01.000000Z to 2024-05-31T12:00:03.000000Z",
    ]
    (row,) = json_lines(run("log", "info", filled, "--json").stdout)
    assert (row["start"], row["end"], row["path"], row["holds"]) == (0, 4, str(filled), [])
    assert row["last_time"] == "2024-05-31T12:00:03.000000Z"


def test_info_of_an_empty_log(run: Run, directory: Path) -> None:
    hansard.open(directory).close()
    assert "changes   none; the next one gets offset 0" in run("log", "info", directory).stdout


def test_verify_finds_nothing(run: Run, filled: Path) -> None:
    done = run("log", "verify", filled, "--deep")
    assert done.exit_code == 0
    assert done.stdout.startswith("nothing is damaged: looked at 4 changes in 3 batches")
    (row,) = json_lines(run("log", "verify", filled, "--json").stdout)
    assert row["changes"] == 4 and row["damage"] == []


def damage(directory: Path) -> None:
    """Flips a bit in the first batch, which has been filed."""
    with hansard.open(directory) as log:
        log.retain()
    (segment,) = directory.rglob("*.segment")
    data = bytearray(segment.read_bytes())
    data[120] ^= 1
    segment.write_bytes(data)


def test_verify_lists_damage(run: Run, filled: Path) -> None:
    damage(filled)
    done = run("log", "verify", filled)
    assert done.exit_code == 1
    assert done.stdout.startswith("damaged: buckets/00000/0000000001.segment is damaged at byte 0")
    assert "1 places are damaged" in done.stdout
    (row,) = json_lines(run("log", "verify", filled, "--json").stdout)
    assert [(found["first"], found["end"]) for found in row["damage"]] == [(0, 2)]


def test_repair_shows_damage_and_gives_it_up_only_when_told(run: Run, filled: Path) -> None:
    assert run("log", "repair", filled).stdout == "nothing is damaged\n"
    damage(filled)
    looked = run("log", "repair", filled)
    assert looked.exit_code == 1
    assert "Nothing was changed" in looked.stdout and "--give-up" in looked.stdout
    given = run("log", "repair", filled, "--give-up", "--json")
    assert given.exit_code == 0
    (row,) = json_lines(given.stdout)
    assert row["given_up"] and [(found["first"], found["end"]) for found in row["damage"]] == [(0, 2)]
    assert run("log", "verify", filled, "--deep").exit_code == 0
    assert [row["offset"] for row in json_lines(run("log", "read", filled, "--json").stdout)] == [2, 3]


def test_dump_shows_where_batches_lie(run: Run, filled: Path) -> None:
    first, *_ = run("log", "dump", filled).stdout.splitlines()
    assert first.startswith("journal/00.journal          88  bucket 0  epoch 0  offsets 0..1 ")
    assert first.endswith("plain  tags x,y")
    rows = json_lines(run("log", "dump", filled, "--json", "--changes").stdout)
    assert [(row["first"], row["end"], row["count"], row["compressed"]) for row in rows] == [
        (0, 2, 2, False),
        (2, 3, 1, False),
        (3, 4, 1, False),
    ]
    assert [change["offset"] for row in rows for change in row["changes"]] == [0, 1, 2, 3]
    assert rows[0]["tags"] == ["x", "y"] and rows[0]["file"] == "journal/00.journal"


def test_dump_goes_on_past_damage(run: Run, filled: Path) -> None:
    damage(filled)
    done = run("log", "dump", filled, "--changes")
    assert done.exit_code == 1
    first, second, *_ = done.stdout.splitlines()
    assert "DAMAGED: " in first and "offsets 2..2" in second
    rows = json_lines(run("log", "dump", filled, "--json").stdout)
    assert "damage" in rows[0] and rows[1]["file"] == "buckets/00000/0000000001.segment"


def test_reading_commands_work_on_a_copy_that_cannot_be_written_to(run: Run, filled: Path, tmp_path: Path) -> None:
    damageless = tmp_path / "copy"
    with hansard.open(filled) as log:
        log.retain()
    shutil.copytree(filled, damageless)
    for path in (damageless, *damageless.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = {path: path.stat().st_mtime_ns for path in damageless.rglob("*")}
    for command in ("read", "tail", "info", "verify", "dump"):
        assert run("log", command, damageless).exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in damageless.rglob("*")} == before


@pytest.mark.parametrize("command", ["read", "tail", "info", "verify", "dump"])
def test_missing_log_is_one_line_on_stderr(run: Run, tmp_path: Path, command: str) -> None:
    done = run("log", command, tmp_path / "none")
    assert done.exit_code == 1 and done.stdout == ""
    assert done.stderr == f"hansard: there is no log in {tmp_path / 'none'}; is the path right?\n"


def test_bad_place_is_one_line_on_stderr(run: Run, filled: Path) -> None:
    done = run("log", "read", filled, "--since", "yesterday")
    assert done.exit_code == 1
    assert done.stderr.startswith("hansard: 'yesterday' is neither a bookmark") and done.stderr.count("\n") == 1


def test_bad_usage_is_exit_code_two(run: Run, filled: Path) -> None:
    assert run("log", "read", filled, "--order", "up").exit_code == 2
    assert run("log", "read").exit_code == 2
    assert run("log", "shout").exit_code == 2


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"hansard {hansard.__version__}\n"
