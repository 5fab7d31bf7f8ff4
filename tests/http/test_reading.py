"""Pages of the log: nothing is skipped, nothing comes twice, and each says where to go on."""

import threading
from collections.abc import Iterator
from datetime import datetime
from secrets import token_hex
from typing import Any
from urllib.parse import quote

import pytest

from hansard.bookmark import Bookmark

from .caller import Caller
from .town import Town


class Story:
    """Some changes under a tag of their own, in all buckets."""

    def __init__(self, caller: Caller, count: int = 60) -> None:
        self.tag = f"story-{token_hex(6)}"
        self.begin = caller.get("/bookmark").json["bookmark"]
        self.keys = [f"{self.tag}-{number}" for number in range(count)]
        tags = [[self.tag, "even" if number % 2 == 0 else "odd"] for number in range(count)]
        self.receipts = []
        for first in range(0, count, 10):
            part = slice(first, first + 10)
            body = [
                {"key": key, "value": key, "tags": own} for key, own in zip(self.keys[part], tags[part], strict=True)
            ]
            self.receipts += caller.post("/changes", body).json["receipts"]


@pytest.fixture(scope="module")
def story(town: Town) -> Iterator[Story]:
    with town.caller() as caller:
        yield Story(caller)


def pages(caller: Caller, path: str) -> Iterator[Any]:
    while True:
        page = caller.get(path).json
        yield page
        if not page["changes"]:
            return
        path = page["links"]["next"]


def test_pages_follow_each_other_without_gap_or_repetition(caller: Caller, story: Story) -> None:
    found = [change for page in pages(caller, f"/changes?tag={story.tag}&limit=7") for change in page["changes"]]
    assert sorted(change["key"] for change in found) == sorted(story.keys)
    assert found == sorted(found, key=lambda change: (change["timestamp"], change["bucket"], change["offset"]))


def test_the_way_back_is_the_way_there_reversed(caller: Caller, story: Story) -> None:
    there = [change["key"] for page in pages(caller, f"/changes?tag={story.tag}&limit=7") for change in page["changes"]]
    back = [
        change["key"]
        for page in pages(caller, f"/changes?tag={story.tag}&limit=9&order=desc")
        for change in page["changes"]
    ]
    assert sorted(back) == sorted(there)
    assert back == there[::-1]
    middle = caller.get(f"/changes?tag={story.tag}&limit=20&since={story.begin}").json
    second = caller.get(middle["links"]["next"]).json
    first = caller.get(second["links"]["previous"]).json
    assert [change["key"] for change in first["changes"]] == [change["key"] for change in middle["changes"]][::-1]


def test_tags_any_or_all_and_keys_and_buckets_choose(caller: Caller, story: Story) -> None:
    both = caller.get(f"/changes?tag={story.tag}&tag=even&match=all").json["changes"]
    assert sorted(change["key"] for change in both) == sorted(story.keys[::2])
    either = caller.get(f"/changes?tag={story.tag}&tag=nobody").json["changes"]
    assert len(either) == 60
    (one,) = caller.get(f"/changes?key={story.keys[3]}").json["changes"]
    assert one["id"] == story.receipts[3]["id"]
    bucket = [receipt for receipt in story.receipts if receipt["bucket"] == 2]
    own = caller.get(f"/changes?bucket=2&tag={story.tag}").json["changes"]
    assert [change["offset"] for change in own] == sorted(receipt["offset"] for receipt in bucket)
    first, end = own[1]["offset"], own[3]["offset"]
    part = caller.get(f"/changes?bucket=2&first={first}&end={end}&tag={story.tag}").json["changes"]
    assert [change["offset"] for change in part] == [own[1]["offset"], own[2]["offset"]]


def test_times_are_places_too(caller: Caller, story: Story) -> None:
    ordered = sorted(receipt["timestamp"] for receipt in story.receipts)
    middle = ordered[30]
    later = caller.get(f"/changes?tag={story.tag}&since={middle}").json["changes"]
    assert sorted(change["timestamp"] for change in later) == [time for time in ordered if time >= middle]
    earlier = caller.get(f"/changes?tag={story.tag}&until={middle}").json["changes"]
    assert sorted(change["timestamp"] for change in earlier) == [time for time in ordered if time < middle]
    seconds = datetime.fromisoformat(middle).timestamp()
    assert len(caller.get(f"/changes?tag={story.tag}&since={seconds - 60:.6f}").json["changes"]) == 60
    at = caller.get(f"/bookmark?at={quote(ordered[0])}").json["bookmark"]
    assert len(caller.get(f"/changes?tag={story.tag}&since={at}").json["changes"]) == 60


def test_the_ends_of_the_log_are_told(caller: Caller, story: Story) -> None:
    whole = caller.get("/changes?limit=1").json
    assert whole["at_start"] and not whole["at_end"]
    end = caller.get("/bookmark").json["bookmark"]
    rest = caller.get(f"/changes?since={end}").json
    assert rest["changes"] == [] and rest["at_end"]


def test_a_page_waits_for_what_comes(town: Town, caller: Caller) -> None:
    tag = f"late-{token_hex(6)}"
    end = caller.get("/bookmark").json["bookmark"]
    found: list[Any] = []

    def wait() -> None:
        with town.caller("b") as waiting:
            found.append(waiting.get(f"/changes?since={end}&tag={tag}&block=20").json)

    waiter = threading.Thread(target=wait)
    waiter.start()
    caller.post("/changes", {"key": "other", "tags": ["not-it"]})
    caller.post("/changes", {"key": "late", "tags": [tag]})
    waiter.join(30)
    assert [change["key"] for change in found[0]["changes"]] == ["late"]


def test_every_participant_reads_the_same(town: Town, story: Story) -> None:
    seen = []
    for name in "abc":
        with town.caller(name) as caller:
            seen.append(caller.get(f"/changes?tag={story.tag}&since={story.begin}").json["changes"])
    assert seen[0] == seen[1] == seen[2] and len(seen[0]) == 60


def test_what_is_no_place_is_refused(caller: Caller) -> None:
    for place in ("b1", "b1AAAA", "s1AAAA", "yesterday", "2026-01-01", "2026-01-01T00:00:00", "1e400", "x" * 300):
        assert caller.get(f"/changes?since={place}").problem == "bad-request", place
    other = Bookmark("another-log", {0: 1})
    assert caller.get(f"/changes?since={other}").problem == "wrong-log"
    for query in (
        "limit=0",
        "limit=10001",
        "block=-1",
        "order=up",
        "nonsense=1",
        "bucket=0&bucket=1",
        "first=3",
        "key=%ff",
    ):
        assert caller.get(f"/changes?{query}").problem == "bad-request", query
    assert caller.get("/changes?bucket=77").problem == "not-found"


def test_no_change_is_found_under_an_id_that_nobody_was_given(caller: Caller, story: Story) -> None:
    id = story.receipts[0]["id"]
    offset, _, hash_ = id.partition("-")
    for wrong in ("x", "-", f"{int(offset) + 100000}-{hash_}", f"{offset}-{'0' * 16}", f"{offset}-{hash_}0", "1-1-1"):
        assert caller.get(f"/changes/{wrong}").problem == "not-found", wrong


def test_a_form_that_there_is_not_is_not_acceptable(caller: Caller) -> None:
    assert caller.get("/changes", Accept="text/csv").problem == "not-acceptable"
    assert caller.get("/changes?limit=1", Accept="text/csv, */*;q=0.1").headers["content-type"] == "application/json"


def test_a_page_ends_when_it_is_large_and_the_next_one_has_the_rest(guarded: Town) -> None:
    for token, tag in (("admin", f"large-{token_hex(6)}"), ("acme", "tenant:acme")):
        with guarded.caller("a", token) as caller:
            start = caller.get("/bookmark").json["bookmark"]
            for _ in range(5):
                body = {"key": "large", "value": "x" * (4 << 20), "tags": [tag]}
                assert caller.post("/changes", body).status == 201
            first = caller.get(f"/changes?tag={tag}&since={start}").json
            assert len(first["changes"]) == 4 and not first["at_end"]
            rest = caller.get(f"/changes?tag={tag}&since={first['bookmark']}").json
            assert len(rest["changes"]) == 1 and rest["at_end"]
