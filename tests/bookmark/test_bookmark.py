"""A bookmark is a token that names its log, and a bucket that is not in it is where its parent was."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.bookmark import BadPlace, Bookmark, TableBehind, WrongLog, parent

OFFSETS = st.dictionaries(st.integers(0, 1 << 20), st.integers(0, (1 << 63) - 1), max_size=5)


@given(st.text(max_size=40), OFFSETS)
def test_token_says_all_of_it(log_id: str, offsets: dict[int, int]) -> None:
    bookmark = Bookmark(log_id, offsets)
    token = str(bookmark)
    assert set(token) <= set(string.ascii_letters + string.digits + "-_")
    assert Bookmark.parse(token) == bookmark and hash(Bookmark.parse(token)) == hash(bookmark)


def test_every_damaged_token_is_refused() -> None:
    token = str(Bookmark("6254dbc55e0a82ed", {0: 1234}))
    for place in range(len(token)):
        for wrong in (token[:place], token[:place] + "~" + token[place + 1 :], token[:place] + "7" + token[place:]):
            with pytest.raises(BadPlace):
                Bookmark.parse(wrong)


@given(st.integers(1, 1 << 20))
def test_parent_owned_the_keys_when_there_were_half_as_many_buckets(bucket: int) -> None:
    level = 1 << bucket.bit_length()
    assert bucket < level and parent(bucket) == bucket % (level // 2)


def test_offset_is_the_nearest_ancestors() -> None:
    bookmark = Bookmark("log", {0: 5, 1: 7, 3: 9})
    assert [bookmark.offset(bucket) for bucket in range(8)] == [5, 7, 5, 9, 5, 7, 5, 9]
    assert bookmark.offset(0b101_0011) == 9 and bookmark.offset(0b101_0001) == 7
    assert Bookmark("log", {1: 7}).offset(6) is None and Bookmark("log", {}).offset(0) is None


def test_bookmark_of_another_log_is_refused_by_name() -> None:
    bookmark = Bookmark("theirs", {0: 5})
    for use in (bookmark.resolve, bookmark.split):
        with pytest.raises(WrongLog, match="of the log theirs, and this is ours; use it with the log") as caught:
            use("ours", [0])
        assert (caught.value.bookmarked, caught.value.actual) == ("theirs", "ours")


def test_resolves_for_every_bucket_that_there_is_by_now() -> None:
    bookmark = Bookmark("log", {0: 5, 1: 7})
    assert bookmark.resolve("log", [0, 1]) == {0: 5, 1: 7}
    assert bookmark.resolve("log", [0, 1, 3]) == {0: 5, 1: 7, 3: 7}  # a doubling under way: 0 is not split yet
    assert bookmark.resolve("log", range(8)) == {0: 5, 1: 7, 2: 5, 3: 7, 4: 5, 5: 7, 6: 5, 7: 7}


def test_what_was_never_read_begins_at_the_beginning() -> None:
    assert Bookmark("log", {}).resolve("log", [0, 1]) == {0: 0, 1: 0}
    assert Bookmark("log", {1: 7}).resolve("log", range(4)) == {0: 0, 1: 7, 2: 0, 3: 7}


def test_node_that_has_not_heard_of_a_split_refuses_instead_of_guessing() -> None:
    bookmark = Bookmark("log", {0: 5, 1: 7, 3: 9})
    with pytest.raises(TableBehind, match=r"bucket 3, which is not known here yet.*try again") as caught:
        bookmark.resolve("log", [0, 1])
    assert caught.value.bucket == 3


def test_advances_only_what_was_taken_in() -> None:
    bookmark = Bookmark("log", {0: 5})
    after = bookmark.split("log", [0, 1]).advanced({1: 9})
    assert after == Bookmark("log", {0: 5, 1: 9}) and bookmark.offsets == {0: 5}
    with pytest.raises(AssertionError):
        bookmark.advanced({1: 9})
