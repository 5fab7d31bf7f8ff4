"""`hansard log append`: from options, from lines, and what becomes of bad ones."""

from pathlib import Path

import pytest

import hansard
from hansard.cli import lines
from tests.cli.conftest import Run, json_lines


def contents(directory: Path) -> list[tuple[bytes | None, bytes | None, tuple[str, ...]]]:
    with hansard.open(directory, read_only=True) as log:
        return [(change.key, change.value, change.tags) for change in log.read()]


def test_one_change_from_options(run: Run, directory: Path) -> None:
    done = run("log", "append", directory, "--key", "k", "--value", "v", "--tag", "a", "--tag", "b")
    assert done.exit_code == 0 and done.stdout.startswith("stored at offset 0, 20")
    assert run("log", "append", directory, "--key", "k", "--json").stdout.startswith('{"offset":1,"time":"20')
    assert contents(directory) == [(b"k", b"v", ("a", "b")), (b"k", None, ())]


@pytest.mark.parametrize(
    ("line", "change"),
    [
        ('{"key": "k", "value": "v", "tags": ["a"]}', (b"k", b"v", ("a",))),
        ("{}", (None, None, ())),
        ('{"key": "\\u00e9", "value": null, "tags": null}', ("é".encode(), None, ())),
        ('{"value": {"n": 1.50,  "x": [] }}', (None, b'{"n": 1.50,  "x": [] }', ())),
        ('{"key": 7, "value": [1, 2]}', (b"7", b"[1, 2]", ())),
        ('{"value": true}', (None, b"true", ())),
        ('{"key": {"base64": "/wA="}, "value": {"base64": ""}}', (b"\xff\x00", b"", ())),
        ('{"value": {"base64": "/wA=", "more": 1}}', (None, b'{"base64": "/wA=", "more": 1}', ())),
        ('{"offset": 5, "time": "2024-05-31T12:00:00Z", "value": "v"}', (None, b"v", ())),
    ],
)
def test_line_stands_for_a_change(
    run: Run, directory: Path, line: str, change: tuple[bytes | None, bytes | None, tuple[str, ...]]
) -> None:
    done = run("log", "append", directory, stdin=line)
    assert done.exit_code == 0, done.output
    assert contents(directory) == [change]


def test_receipt_for_each_line(run: Run, directory: Path) -> None:
    text = "".join(f'{{"key": "k{number}"}}\n\n' for number in range(2_500))
    done = run("log", "append", directory, "--json", stdin=text)
    assert [receipt["offset"] for receipt in json_lines(done.stdout)] == list(range(2_500))
    assert len(contents(directory)) == 2_500


def test_receipts_for_people_are_for_each_batch(run: Run, directory: Path) -> None:
    done = run("log", "append", directory, stdin="{}\n" * 3)
    assert done.stdout.startswith("stored at offsets 0 to 2, 20") and done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ("{", "Input data was truncated"),
        ("[1]", "Expected `object`, got `array`"),
        ('{"kye": 1}', "unknown field `kye`"),
        ('{"tags": "a"}', "Expected `array | null`, got `str`"),
        ('{"tags": [""]}', "tag: is empty"),
        ('{"value": {"base64": "!"}}', "base64"),
        ('{"key": "' + "k" * 40_000 + '"}', "bytes of a key is 40,000"),
    ],
)
def test_bad_line_is_named_and_what_is_before_it_is_stored(run: Run, directory: Path, bad: str, problem: str) -> None:
    done = run("log", "append", directory, "--json", stdin=f'{{"key": "a"}}\n\n{{"key": "b"}}\n{bad}\n{{"key": "c"}}\n')
    assert done.exit_code == 1
    assert done.stderr.startswith("hansard: line 4: ") and problem in done.stderr
    assert done.stderr.endswith("(2 changes are stored)\n") and done.stderr.count("\n") == 1
    assert [receipt["offset"] for receipt in json_lines(done.stdout)] == [0, 1]
    assert [key for key, _, _ in contents(directory)] == [b"a", b"b"]


def test_what_one_log_prints_another_takes(run: Run, tmp_path: Path) -> None:
    with hansard.open(tmp_path / "one") as log:
        log.append_many([(b"\xff\x00", b"\x00", ["a"]), (None, None), ("k", '{"json": 1}', ["b", "c"])])
    printed = run("log", "read", tmp_path / "one", "--json").stdout
    assert run("log", "append", tmp_path / "other", stdin=printed).exit_code == 0
    assert contents(tmp_path / "other") == contents(tmp_path / "one")


class Drip:
    """A source that gives a few bytes at a time, as a pipe does."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = list(pieces)

    def read1(self, size: int, /) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""


def test_lines_are_taken_as_they_come() -> None:
    source = Drip(b"one\ntwo\nth", b"r", b"ee\n", b"\n\nfour")
    groups = [[(line.number, line.text) for line in group] for group in lines.line_groups(source)]
    assert groups == [[(1, b"one"), (2, b"two")], [(3, b"three")], [(4, b""), (5, b"")], [(6, b"four")]]


def test_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LINE_BYTES_MAX", 10)
    groups = lines.line_groups(Drip(b"one\n" + b"x" * 6, b"x" * 6))
    assert [line.number for line in next(groups)] == [1]
    with pytest.raises(lines.BadLine, match="line 2: is longer than 10 bytes"):
        next(groups)
