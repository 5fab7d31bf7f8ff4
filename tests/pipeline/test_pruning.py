"""Files that cannot have what is wanted are not read; any that may have it are."""

from datetime import UTC, datetime

import msgspec

from hansard.bookmark import Bookmark
from hansard.pipeline.reading import pruned
from tests.pipeline.test_manifest import file


def names(*places: Bookmark | datetime | None) -> list[int]:
    """Which of three files are left: offsets 0 to 10, 10 to 20, 20 to 30 of two buckets; seconds 0 to 9 and so on."""
    files = [
        msgspec.structs.replace(
            file(number),
            buckets={0: (10 * number, 10 * number + 10, 5), 1: (10 * number, 10 * number + 10, 5)},
            first_us=number * 10_000_000,
            last_us=number * 10_000_000 + 9_000_000,
        )
        for number in range(3)
    ]
    left = pruned(files, *places)
    return [int(each.path.split("=")[1].split("-")[0]) for each in left]


def test_by_bookmarks() -> None:
    assert names(None, None) == [0, 1, 2]
    assert names(Bookmark("log", {0: 20, 1: 25}), None) == [2]
    assert names(Bookmark("log", {0: 19, 1: 25}), None) == [1, 2]
    assert names(None, Bookmark("log", {0: 10, 1: 10})) == [0]
    assert names(None, Bookmark("log", {0: 10, 1: 11})) == [0, 1]


def test_a_file_from_before_a_split_has_changes_of_both_halves() -> None:
    assert names(Bookmark("log", {0: 30, 1: 30, 3: 5}), None) == [0, 1, 2], "3 was a part of 1"
    assert names(None, Bookmark("log", {0: 10, 1: 10, 2: 21, 3: 10})) == [0, 1, 2], "2 was a part of 0"
    assert names(Bookmark("log", {0: 25}), None) == [2], "and all of it of 0"


def test_by_times() -> None:
    def second(number: int) -> datetime:
        return datetime.fromtimestamp(number, UTC)

    assert names(second(20), None) == [2] and names(second(19), None) == [1, 2]
    assert names(second(5), second(10)) == [0] and names(None, second(11)) == [0, 1]
