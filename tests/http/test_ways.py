"""There are two ways for a submission, and one answer; and what is large holds nobody else up."""

import asyncio
import json
import re
import socket
import threading
from collections.abc import Mapping
from itertools import chain
from secrets import token_hex
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from hansard.batch.limits import CHANGES_MAX
from hansard.bookmark import Bookmark
from hansard.client.page import Page
from hansard.http.access import EVERYBODY
from hansard.http.content import JSON, LINES, rows_of
from hansard.http.problem import Refusal, headers_of
from hansard.http.reading import Reading
from hansard.http.sheet import LINK_BYTES_MAX, places_of
from hansard.http.workroom import PORTION, Workroom, portions

from .caller import Caller
from .town import Town

LARGE = 60_000
SHARE_MAX = 0.3
"""Of the time that a large body takes, what somebody else waits for one answer: a loop that stands still takes most."""


def answers(address: tuple[str, int], headers: Mapping[str, str], body: bytes, pieces: int) -> tuple[int, Any]:
    """Status and body, sent in so many pieces: what comes as a whole goes the quick way."""
    given = {"Host": "x", "Content-Type": JSON, "Content-Length": str(len(body)), **headers}
    head = "POST /changes HTTP/1.1\r\n" + "".join([f"{name}: {value}\r\n" for name, value in given.items()]) + "\r\n"
    with socket.create_connection(address, 30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if pieces == 1:
            connection.sendall(head.encode() + body)
        else:
            connection.sendall(head.encode() + body[:1])
            _settle(address)
            connection.sendall(body[1:])
        file = connection.makefile("rb")
        status = int(file.readline().split()[1])
        found: dict[str, str] = {}
        while line := file.readline().decode().strip():
            name, _, value = line.partition(": ")
            found[name.lower()] = value
        content = json.loads(file.read(int(found.pop("content-length"))))
    found.pop("date"), found.pop("retry-after", None)
    return status, (found, content)


def _settle(address: tuple[str, int]) -> None:
    """Whoever is there has read what was sent before this was asked and answered."""
    with Caller(address) as caller:
        assert caller.get("/health/live").status == 200


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({}, b'{"key": "k", "value": {"a": 1}, "tags": ["t"]}'),
        ({}, b' {"key": "k"}'),
        ({}, b'{"key": 17}'),
        ({}, b"{"),
        ({}, b'{"value": "\xff"}'),
        ({}, b'{"tags": ["' + b"x" * 257 + b'"]}'),
        ({}, b'{"tags": ["' + "ß".encode() * 200 + b'"]}'),
        ({}, b'{"key": "' + b"x" * 32_769 + b'"}'),
        ({"Content-Type": "text/plain"}, b"{}"),
        ({"Content-Type": "Application/JSON; charset=utf-8"}, b"{}"),
        ({"Hansard-Deadline": "never"}, b"{}"),
        ({"Hansard-Cluster": "another"}, b"{}"),
        ({"Hansard-Series": "0"}, b"{}"),
        ({"Hansard-Connection": "x", "Hansard-Series": "0"}, b"{}"),
        ({"Authorization": "Basic x"}, b"{}"),
    ],
)
def test_both_ways_answer_alike(town: Town, headers: dict[str, str], body: bytes) -> None:
    found = [answers(town.address(), headers, body, pieces) for pieces in (1, 2)]
    quick, long = [re.sub(r'"(id|offset|timestamp)": [^,}]*', "", json.dumps(each)) for each in found]
    assert quick == long and found[0][0] in {201, 400, 401, 413, 415, 421}


def test_a_stream_counts_once_whichever_way_it_comes(town: Town, caller: Caller) -> None:
    connection = caller.post("/connections", {}).json["connection"]
    stream = {"Hansard-Connection": connection, "Hansard-Series": "0"}
    body = json.dumps({"key": token_hex(8)}).encode()
    ids = {answers(town.address(), stream, body, pieces)[1][1]["id"] for pieces in (1, 2, 1)}
    assert len(ids) == 1


def test_others_are_answered_while_a_large_body_is_taken_in(town: Town, caller: Caller) -> None:
    tag, stored = f"large-{token_hex(6)}", []
    body = json.dumps([{"key": f"k{n}", "value": {"n": n}, "tags": [tag]} for n in range(LARGE)]).encode()

    def post() -> None:
        with town.caller() as another:
            stored.append(another.call("POST", "/changes", body, {"Content-Type": JSON, "Hansard-Deadline": "60"}))

    def read(accept: str) -> None:
        with town.caller() as another:
            stored.append(another.get(f"/changes?tag={tag}&limit=10000", Accept=accept))

    begun_s, longest_s, working = monotonic(), 0.0, threading.Thread(target=post)
    working.start()
    while working.is_alive():
        asked_s = monotonic()
        assert caller.get("/health/live").status == 200
        longest_s = max(longest_s, monotonic() - asked_s)
    taken_s = monotonic() - begun_s
    assert longest_s < SHARE_MAX * taken_s, f"{longest_s:.3f} of {taken_s:.3f} s"
    read(JSON)
    read("application/vnd.apache.arrow.stream")
    assert [answer.status for answer in stored] == [201, 200, 200]
    assert len(stored[0].json["receipts"]) == LARGE and len(stored[1].json["changes"]) == 10_000
    assert pa.ipc.open_stream(stored[2].body).read_all().num_rows == 10_000


def test_lines_are_counted_before_they_are_looked_at() -> None:
    with pytest.raises(Refusal, match="65536 changes are wanted"):
        rows_of(b"nonsense\n" * (CHANGES_MAX + 1), LINES)
    with pytest.raises(Refusal, match="line 3: "):
        rows_of(b'{}\n\n{"key": 1}\n', LINES)
    assert len(rows_of(b"\n{}\n \n{}\n\n", LINES).values) == 2
    with pytest.raises(Refusal, match="change 2: "):
        rows_of(b'[{}, {"key": 1}]', JSON)


def test_portions_are_all_of_it_and_none_is_large() -> None:
    for count in (0, 1, PORTION, PORTION + 1, 5 * PORTION):
        numbers = list(range(count))
        found = [numbers[portion] for portion in portions(count)]
        assert list(chain(*found)) == numbers and all(0 < len(each) <= PORTION for each in found)


def test_an_id_that_is_not_there_costs_one_read_and_one_question() -> None:
    asked: list[str] = []
    place = Bookmark("a-log", {0: 1})

    async def page(_query: Any) -> Any:
        asked.append("page")
        return SimpleNamespace(page=Page([], place, False, True, place))

    async def end(_bucket: int) -> int:
        asked.append("end")
        return 5

    table = SimpleNamespace(buckets=[SimpleNamespace(level=1)], log="a-log")
    house: Any = SimpleNamespace(core=SimpleNamespace(distributor=table), is_ready=True, end=end)
    call: Any = SimpleNamespace(guest=EVERYBODY, path={"id": f"17-{'0' * 16}"})
    reading = Reading(house, SimpleNamespace(page=page), {}, Workroom())  # type: ignore[arg-type]
    with pytest.raises(Refusal) as refused:
        asyncio.run(reading.change(call))
    assert refused.value.name == "not-found" and asked == ["page", "end"]


def test_places_that_are_long_stay_out_of_the_headers() -> None:
    short, long = "b1short", "b1" + "x" * LINK_BYTES_MAX
    links = {"next": f"/changes?since={short}"}
    assert places_of(JSON, short, short, links).keys() == {"Link", "Hansard-Bookmark"}
    links = {"next": f"/changes?since={long}"}
    assert places_of(JSON, long, long, links) == {}
    assert places_of(LINES, long, short, links)["Hansard-Bookmark"] == long, "which is nowhere else"
    assert "Link" not in places_of(LINES, long, short, links)


def test_not_everybody_is_told_to_come_again_at_once() -> None:
    waits = {headers_of(Refusal("busy", "", retry_s=10))["Retry-After"] for _ in range(200)}
    assert len(waits) > 1 and min(map(int, waits)) >= 10
