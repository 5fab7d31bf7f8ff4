"""What is posted is stored, once, and the answer says where; or it says for certain that it is not."""

import json
from secrets import token_hex
from urllib.parse import quote

import pyarrow as pa
import pytest

from hansard.batch import bucket_of, key_hash

from .caller import Caller
from .town import Town, until


def fresh(prefix: str = "key") -> str:
    return f"{prefix}-{token_hex(6)}"


def test_a_change_is_answered_with_its_place_and_found_there(caller: Caller) -> None:
    key = fresh()
    posted = caller.post("/changes", {"key": key, "value": {"plan": "pro"}, "tags": ["tenant:acme"]})
    assert posted.status == 201, posted
    receipt = posted.json
    assert receipt["bucket"] == bucket_of(key_hash(key.encode()), 4) and not receipt["repeated"]
    found = caller.get(f"/changes/{receipt['id']}").json
    assert (found["key"], found["value"], found["tags"]) == (key, {"plan": "pro"}, ["tenant:acme"])
    assert {name: found[name] for name in ("id", "bucket", "offset", "timestamp")} == {
        name: receipt[name] for name in ("id", "bucket", "offset", "timestamp")
    }


@pytest.mark.parametrize(
    ("sent", "back"),
    [
        ("text", "text"),
        ({"a": [1, 2]}, {"a": [1, 2]}),
        ([1, "two"], [1, "two"]),
        (17, "17"),
        (True, "true"),
        (None, None),
        ({"base64": "AP8="}, {"base64": "AP8="}),
        ({"base64": "aGVsbG8="}, "hello"),
        ("", ""),
    ],
)
def test_any_value_comes_back_as_the_reference_says(caller: Caller, sent: object, back: object) -> None:
    id = caller.post("/changes", {"key": fresh(), "value": sent}).json["id"]
    assert caller.get(f"/changes/{id}").json["value"] == back


def test_a_value_that_looks_like_base64_is_not_taken_for_it_on_the_way_out(caller: Caller) -> None:
    text = '{"base64": "AP8="}'
    id = caller.post("/changes", {"key": fresh(), "value": text}).json["id"]
    assert caller.get(f"/changes/{id}").json["value"] == text


def test_an_array_is_cut_by_bucket_and_answered_in_its_order(caller: Caller) -> None:
    keys = [fresh() for _ in range(40)]
    posted = caller.post("/changes", [{"key": key, "value": place} for place, key in enumerate(keys)])
    assert posted.status == 201
    receipts = posted.json["receipts"]
    assert [receipt["bucket"] for receipt in receipts] == [bucket_of(key_hash(key.encode()), 4) for key in keys]
    assert len({receipt["bucket"] for receipt in receipts}) == 4
    assert [caller.get(f"/changes/{receipt['id']}").json["key"] for receipt in receipts] == keys


def test_json_lines_and_arrow_are_understood_both_ways(caller: Caller) -> None:
    tag = fresh("tag")
    lines = b"".join([json.dumps({"key": f"l{n}", "value": n, "tags": [tag]}).encode() + b"\n" for n in range(3)])
    assert caller.call("POST", "/changes", lines, {"Content-Type": "application/x-ndjson"}).status == 201
    table = pa.table({"key": [b"a1", b"a2"], "value": [b"\x00\xff", None], "tags": [[tag], [tag]]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    arrow = {"Content-Type": "application/vnd.apache.arrow.stream"}
    assert caller.call("POST", "/changes", bytes(sink.getvalue()), arrow).status == 201
    read = caller.get(f"/changes?tag={tag}", Accept="application/x-ndjson").body.splitlines()
    assert {json.loads(line)["key"] for line in read} == {"l0", "l1", "l2", "a1", "a2"}
    answer = caller.get(f"/changes?tag={tag}", Accept="application/vnd.apache.arrow.stream")
    rows = pa.ipc.open_stream(answer.body).read_all().to_pylist()
    assert {row["key"]: row["value"] for row in rows} == {
        **{b"l%d" % n: b"%d" % n for n in range(3)},
        b"a1": b"\x00\xff",
        b"a2": None,
    }


def test_with_a_connection_the_same_body_counts_once(caller: Caller) -> None:
    tag, connection = fresh("tag"), caller.post("/connections", {}).json["connection"]
    body = [{"key": fresh(), "value": n, "tags": [tag]} for n in range(20)]
    first = caller.post("/changes", body, Hansard_Connection=connection, Hansard_Series="0")
    again = caller.post("/changes", body, Hansard_Connection=connection, Hansard_Series="0")
    assert first.status == again.status == 201
    assert all(receipt["repeated"] for receipt in again.json["receipts"])
    assert len(caller.get(f"/changes?tag={tag}").json["changes"]) == 20


def test_each_change_of_an_array_has_its_own_series_wherever_it_lives(caller: Caller) -> None:
    tag, connection = fresh("tag"), caller.post("/connections", {}).json["connection"]
    body = [{"key": fresh(), "value": n, "tags": [tag]} for n in range(20)]
    caller.post("/changes", body, Hansard_Connection=connection, Hansard_Series="100")
    for place, change in enumerate(body):
        again = caller.post("/changes", change, Hansard_Connection=connection, Hansard_Series=str(100 + place))
        assert again.json["repeated"], place
    assert len(caller.get(f"/changes?tag={tag}").json["changes"]) == 20


def test_a_repeated_beginning_is_told_from_what_is_new(caller: Caller) -> None:
    def repeated() -> list[bool]:
        """Who took it submits it again by itself where its leader is gone, and all of it may be a repetition then."""
        tag, key = fresh("tag"), fresh()
        connection = caller.post("/connections", {}).json["connection"]
        body = [{"key": key, "value": n, "tags": [tag]} for n in range(4)]
        caller.post("/changes", body[:2], Hansard_Connection=connection, Hansard_Series="5")
        longer = caller.post("/changes", body, Hansard_Connection=connection, Hansard_Series="5").json["receipts"]
        stored = caller.get(f"/changes?tag={tag}").json["changes"]
        assert [change["value"] for change in stored] == ["0", "1", "2", "3"]
        return [receipt["repeated"] for receipt in longer]

    until(lambda: repeated() == [True, True, False, False], "what is new is told to be repeated")


def test_a_gap_is_refused_with_what_is_there(caller: Caller) -> None:
    key, connection = fresh(), caller.post("/connections", {}).json["connection"]
    stream = {"Hansard_Connection": connection}
    assert caller.post("/changes", {"key": key}, Hansard_Series="3", **stream).status == 201
    gap = caller.post("/changes", {"key": key}, Hansard_Series="9", Hansard_Previous="8", **stream)
    assert gap.problem == "series-gap" and gap.json["stored"] == "no"
    assert list(gap.json["expected"].values()) == [3]
    follows = caller.post("/changes", {"key": key}, Hansard_Series="9", Hansard_Previous="3", **stream)
    assert follows.status == 201 and not follows.json["repeated"]


def test_previous_by_bucket_for_a_body_of_several(caller: Caller) -> None:
    connection = caller.post("/connections", {}).json["connection"]
    body = [{"key": fresh(), "value": n} for n in range(20)]
    stream = {"Hansard_Connection": connection, "Hansard_Series": "30"}
    plain = caller.post("/changes", body, Hansard_Previous="1", **stream)
    assert plain.problem == "bad-request" and plain.json["stored"] == "no"
    gap = caller.post("/changes", body, Hansard_Previous="0=7, 1=7, 2=7, 3=7", **stream)
    assert gap.problem == "series-gap"
    assert caller.post("/changes", body, **stream).status == 201


def test_a_named_connection_is_the_same_again(caller: Caller, town: Town) -> None:
    name = fresh("device")
    first = caller.post("/connections", {"name": name}).json
    with town.caller("b") as other:
        assert other.post("/connections", {"name": name}).json == first
    assert caller.post("/connections", {"name": fresh()}).json["connection"] != first["connection"]
    assert first["series_last"] == (1 << 63) - 1
    renewed = caller.post("/connections", {"name": name, "broken": first["connection"]}).json
    assert renewed["connection"] != first["connection"]


def test_without_waiting_it_is_accepted_and_turns_up(caller: Caller) -> None:
    key = fresh()
    begin = caller.get("/bookmark").json["bookmark"]
    accepted = caller.post("/changes?wait=none", {"key": key, "value": 1})
    assert (accepted.status, accepted.json) == (202, {"accepted": 1})
    assert caller.get(f"/changes?since={begin}&key={key}&block=20").json["changes"][0]["key"] == key


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"Hansard-Deadline": "0"}, b"{}"),
        ({"Hansard-Deadline": "nan"}, b"{}"),
        ({"Hansard-Series": "0"}, b"{}"),
        ({"Hansard-Connection": "1"}, b"{}"),
        ({"Hansard-Connection": "none", "Hansard-Series": "0"}, b"{}"),
        ({"Hansard-Connection": "1", "Hansard-Series": "-1"}, b"{}"),
        ({"Hansard-Connection": "1", "Hansard-Series": "5", "Hansard-Previous": "5"}, b"{}"),
        ({}, b""),
        ({}, b"[]"),
        ({}, b'{"kee": 1}'),
        ({}, b'{"tags": [""]}'),
        ({}, b'{"key": {"base64": "*"}}'),
        ({}, b'{"value": "\xff"}'),
        ({}, b"[" * 100_000),
    ],
)
def test_what_cannot_be_is_refused_and_certainly_not_stored(
    caller: Caller, headers: dict[str, str], body: bytes
) -> None:
    refused = caller.call("POST", "/changes", body, {"Content-Type": "application/json", **headers})
    assert refused.problem == "bad-request" and refused.json["stored"] == "no", refused


NUMBERS = [
    "0" * 19 + "1",
    "0" * 19 + "1" + "0" * 30,
    "1" + "0" * 19,
    str(1 << 62),
    str(1 << 64),
    "9" * 5000,
    "0" * 5000 + "1",
    "٣",
    "-1",
    "+1",
    "0x1",
]


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_that_nobody_was_given_are_refused_wherever_they_stand(caller: Caller, number: str) -> None:
    assert caller.post("/connections", {"name": fresh(), "broken": number}).problem == "bad-request"
    assert caller.get(f"/changes/{quote(number)}-{'0' * 16}").problem in {"not-found", "bad-request"}
    if number.isascii():  # as headers are
        refused = caller.post("/changes", {}, Hansard_Connection=number, Hansard_Series="0")
        assert refused.problem == "bad-request" and refused.json["stored"] == "no"
    assert caller.post("/changes", {"key": fresh()}).status == 201


@pytest.mark.parametrize("series", ["0" * 19 + "1", "0" * 5000 + "1", str(1 << 63), "9" * 5000])
def test_a_series_that_is_none_is_refused(caller: Caller, series: str) -> None:
    refused = caller.post("/changes", {}, Hansard_Connection="1", Hansard_Series=series)
    assert refused.problem == "bad-request" and refused.json["stored"] == "no"


def test_a_body_of_another_type_is_not_guessed_at(caller: Caller) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        assert caller.call("POST", "/changes", b"{}", {"Content-Type": kind}).problem == "unsupported-body"


def test_another_cluster_is_not_taken_for_this_one(caller: Caller) -> None:
    id = caller.get("/cluster").json["id"]
    assert caller.post("/changes", {"key": "a"}, Hansard_Cluster=id).status == 201
    assert caller.post("/changes", {"key": "a"}, Hansard_Cluster="another").problem == "wrong-cluster"
    assert caller.get("/health", Hansard_Cluster="another").problem == "wrong-cluster"


def test_a_large_body_is_stored_and_a_too_large_one_is_refused(caller: Caller) -> None:
    large = "x" * (7 << 20)
    posted = caller.post("/changes", {"key": fresh(), "value": large})
    assert posted.status == 201
    assert caller.get(f"/changes/{posted.json['id']}").json["value"] == large
    too_large = caller.post("/changes", {"key": fresh(), "value": "x" * (9 << 20)})
    assert too_large.problem == "too-large" and too_large.json["stored"] == "no"
