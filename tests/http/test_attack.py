"""A tenant tries everything that another one was given, at every operation and with every parameter that there is.

Each attack is made twice: with what is real, and with things of the same shape that nobody was ever given. What comes
back must be alike, and must not have anything of the other's in it. A new operation, and a new parameter of an old one,
fails here until somebody has thought of how it could be used.
"""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from datetime import datetime, timedelta
from itertools import chain
from secrets import token_hex
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
import pyarrow as pa
import pytest

from hansard.bookmark import Bookmark
from hansard.http.arrow import MEDIA_TYPE as ARROW

from .caller import Answer, Caller
from .fuzzing import operation_table
from .listener import Listener
from .test_tenancy import ACME, seen
from .town import Town, until

THEIRS = "globex:x"
SHORT = 7
"""What is so short may stand in an answer for other reasons."""


class Loot(NamedTuple):
    """What another tenant and the operator have been given, or what looks like it."""

    key: str
    id: str
    sealed_id: str
    bookmark: str
    sealed_bookmark: str
    connection: str
    sealed_connection: str
    name: str
    """Of a connection."""
    hold: str
    order: str
    token: str
    bucket: int
    offset: int
    time: str


class Attack(NamedTuple):
    path: Mapping[str, str] = {}
    query: Mapping[str, Any] = {}
    headers: Mapping[str, str] = {}
    body: Any = None


def _reads(loot: Loot) -> list[Attack]:
    whole = {"limit": "10", "block": "0.05", "order": "desc"}
    queries: list[Mapping[str, Any]] = [
        *({"since": place, "order": "asc"} for place in (loot.bookmark, loot.sealed_bookmark, loot.time)),
        *({"until": place, **whole} for place in (loot.bookmark, loot.sealed_bookmark)),
        {"key": loot.key},
        {"key": loot.key, "tag": THEIRS},
        {"tag": [ACME, THEIRS]},
        {"tag": [ACME, THEIRS], "match": "all"},
        {"bucket": loot.bucket},
        {"bucket": loot.bucket, "first": loot.offset, "end": loot.offset + 1, "tag": ACME},
        {"key": loot.key, "bookmarks": "true"},
    ]
    forms = ("application/json", "application/x-ndjson", ARROW)
    return [Attack(query=query, headers={"Accept": form}) for query in queries for form in forms]


def _follows(loot: Loot) -> list[Attack]:
    places = (loot.bookmark, loot.sealed_bookmark)
    return [
        *(Attack(query={"since": place}) for place in places),
        *(Attack(headers={"Last-Event-ID": place}) for place in places),
        Attack(query={"tag": THEIRS}),
        Attack(query={"tag": [ACME, THEIRS], "match": "all"}),
        Attack(query={"bucket": loot.bucket}),
        Attack(query={"key": loot.key, "tag": THEIRS}),
    ]


def _submissions(loot: Loot) -> list[Attack]:
    own, theirs = {"key": loot.key, "tags": [ACME]}, {"key": loot.key, "tags": [THEIRS]}
    numbers = (loot.connection, loot.sealed_connection)
    return [
        Attack(body=theirs),
        Attack(body=theirs, query={"wait": "none"}),
        Attack(body=[own, theirs]),
        Attack(body={"key": loot.key}),
        Attack(body={"key": loot.key, "tags": [ACME, THEIRS]}),
        *(Attack(body=own, headers={"Hansard-Connection": each, "Hansard-Series": "1000"}) for each in numbers),
        Attack(
            body=own,
            headers={"Hansard-Connection": loot.sealed_connection, "Hansard-Series": "9", "Hansard-Previous": "3"},
        ),
        Attack(body=own, headers={"Hansard-Deadline": "5"}),  # keys are everybody's
    ]


def attacks(name: str, loot: Loot) -> list[Attack]:
    tokens = {"name": loot.token, "scopes": ["admin"]}
    match name:
        case "submit":
            return _submissions(loot)
        case "read":
            return _reads(loot)
        case "follow":
            return _follows(loot)
        case "change":
            return [Attack({"id": id}) for id in (loot.id, loot.sealed_id, loot.sealed_bookmark)]
        case "bookmark":
            return [Attack(query={"at": place}) for place in (loot.bookmark, loot.sealed_bookmark)]
        case "checkpoints":
            return [Attack(query={"tag": tag, "match": "all", "limit": "9"}) for tag in (THEIRS, [ACME, THEIRS])]
        case "connect":
            broken = [{"name": loot.name, "broken": each} for each in (loot.connection, loot.sealed_connection)]
            return [Attack(body=body) for body in broken]
        case "bucket":
            return [Attack({"bucket": str(loot.bucket)})]
        case "order":
            return [Attack(body={"id": loot.order, "wish": {"type": "pause"}})]
        case "order_status":
            return [Attack({"id": loot.order})]
        case "give_up":
            return [Attack({"node": "c"})]
        case "mark":
            return [Attack(body={"down": True})]
        case "configure":
            return [Attack(body={"moves_max": 1})]
        case "holds":
            return [Attack(), Attack(query={"settled": "true"})]
        case "hold":
            return [Attack({"name": loot.hold}, body={"bookmark": loot.bookmark, "lasts_s": 60})]
        case "let_go":
            return [Attack({"name": loot.hold})]
        case "grant":
            return [Attack(body=tokens)]
        case "revoke":
            return [Attack({"name": loot.token})]
        case "cluster" | "participants" | "table" | "metrics" | "settings" | "scrub" | "tokens":
            return [Attack()]
        case "health" | "live" | "openapi" | "docs":
            return [Attack()]  # for everybody, and the same for everybody
        case _:
            raise AssertionError(f"nobody has thought of how a tenant could use {name}: add attacks here")


@pytest.fixture(scope="module")
def callers(guarded: Town) -> Iterator[dict[str, Caller]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(guarded.caller("a", name)) for name in ("acme", "globex", "admin")}


@pytest.fixture(scope="module")
def real(callers: dict[str, Caller]) -> Loot:
    globex, admin = callers["globex"], callers["admin"]
    key, name = f"secret-{token_hex(8)}", f"device-{token_hex(4)}"
    sealed = globex.post("/changes", {"key": key, "value": f"value-{key}", "tags": [THEIRS]}).json
    connection = globex.post("/connections", {"name": name}).json["connection"]
    stream = {"Hansard_Connection": connection, "Hansard_Series": "3"}
    assert globex.post("/changes", {"key": key, "tags": [THEIRS]}, **stream).status == 201
    page = admin.get(f"/changes?key={key}&limit=1").json
    (change,) = page["changes"]
    hold, order = f"hold-{token_hex(4)}", f"order{token_hex(4)}"
    assert admin.send("PUT", f"/holds/{hold}", {"bookmark": page["bookmark"], "lasts_s": 600}).status == 200
    assert admin.post("/orders", {"id": order, "wish": {"type": "resume"}}).status == 202
    return Loot(
        key=key,
        id=change["id"],
        sealed_id=sealed["id"],
        bookmark=page["bookmark"],
        sealed_bookmark=globex.get("/bookmark").json["bookmark"],
        connection=admin.post("/connections", {}).json["connection"],
        sealed_connection=connection,
        name=name,
        hold=hold,
        order=order,
        token="globex",
        bucket=change["bucket"],
        offset=change["offset"],
        time=change["timestamp"],
    )


@pytest.fixture(scope="module")
def made_up(real: Loot) -> Loot:
    def sealed(text: str) -> str:
        return "s1" + "A" * (len(text) - 2)

    return Loot(
        key=f"secret-{token_hex(8)}",
        id=f"{real.offset + 1_000_000}-{token_hex(8)}",
        sealed_id=sealed(real.sealed_id),
        bookmark=str(Bookmark("a-log", {0: 1, 1: 0, 2: 0, 3: 0})),
        sealed_bookmark=sealed(real.sealed_bookmark),
        connection="7654321",
        sealed_connection=sealed(real.sealed_connection),
        name=f"device-{token_hex(4)}",
        hold=f"hold-{token_hex(4)}",
        order=f"order{token_hex(4)}",
        token=f"token-{token_hex(4)}",
        bucket=(real.bucket + 1) % 4,
        offset=real.offset + 1_000_000,
        time=(datetime.fromisoformat(real.time) - timedelta(microseconds=1)).isoformat().replace("+00:00", "Z"),
    )


def test_every_parameter_is_attacked(real: Loot) -> None:
    for operation in operation_table():
        tried = attacks(operation.name, real)
        used = {name for attack in tried for part in attack[:3] for name in part}
        wanted = {*operation.path_schemas, *operation.headers}
        if operation.query is not None:
            wanted |= {field.encode_name for field in msgspec.structs.fields(operation.query)}
        assert wanted <= used, f"{operation.name} can be asked by {wanted - used}: add attacks that do"
        assert not operation.bodies or any(attack.body is not None for attack in tried), operation.name


def made(caller: Caller, operation: Any, attack: Attack, headers: Mapping[str, str]) -> Answer:
    path = operation.path.format(**attack.path)
    if attack.query:
        path += "?" + urlencode(attack.query, doseq=True)
    body = json.dumps(attack.body).encode() if attack.body is not None else None
    kind = {"Content-Type": "application/json"} if body is not None else {}
    if not operation.endless:
        return _readable(caller.call(operation.method, path, body, {**kind, **attack.headers}))
    with Listener(caller.address, path, {**headers, **attack.headers}) as listener:
        if listener.status != 200:
            return Answer(listener.status, listener.headers, b"")
        event = next(listener.events())  # what it is told first
        return Answer(200, {}, json.dumps([event.kind, event.data]).encode())


def served(caller: Caller, operation: Any, attack: Attack, headers: Mapping[str, str]) -> Answer:
    """Once there is somebody who serves: on a busy machine there may be nobody for a moment."""
    answers: list[Answer] = []

    def is_served() -> bool:
        answers.append(made(caller, operation, attack, headers))
        return answers[-1].status != 503

    until(is_served, f"{operation.name} is not served")
    return answers[-1]


def _readable(answer: Answer) -> Answer:
    """Arrow's rows, but for their times."""
    if answer.headers.get("content-type") != ARROW:
        return answer
    rows = pa.ipc.open_stream(answer.body).read_all().drop_columns(["timestamp"]).to_pylist()
    return Answer(answer.status, {"hansard-at-end": answer.headers["hansard-at-end"]}, repr(rows).encode())


def told(answer: Answer, *loot: Loot) -> str:
    """What is alike for whatever was asked with."""
    text: str = seen(answer)
    for each in chain(*loot):
        if isinstance(each, str) and len(each) > SHORT:
            text = text.replace(each, "<loot>")
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "<time>", text)


def test_what_is_real_is_answered_like_what_is_made_up(
    guarded: Town, callers: dict[str, Caller], real: Loot, made_up: Loot
) -> None:
    acme, admin = callers["acme"], callers["admin"]
    headers = {"Authorization": f"Bearer {guarded.tokens['acme']}"}
    before = [admin.get(path).body for path in ("/holds", "/tokens", "/settings")]
    theirs = callers["globex"].get(f"/changes?tag={THEIRS}&order=desc").json["changes"]
    for operation in operation_table():
        pairs = zip(attacks(operation.name, real), attacks(operation.name, made_up), strict=True)
        for attack, shot in pairs:
            answer, blank = [served(acme, operation, each, headers) for each in (attack, shot)]
            what = (operation.name, attack, answer)
            assert b"value-secret" not in answer.body, what
            if operation.scope == "admin" or (operation.scope and operation.whole):
                assert (answer.status, answer.problem) == (403, "not-allowed"), what
            elif operation.scope:
                assert answer.status in {200, 201, 400, 403, 404}, what
            if operation.name not in {"health", "live"}:
                assert told(answer, real, made_up) == told(blank, real, made_up), what
    assert before == [admin.get(path).body for path in ("/holds", "/tokens", "/settings")]
    assert callers["globex"].get(f"/changes?tag={THEIRS}&order=desc").json["changes"] == theirs


def test_another_ones_changes_end_no_waiting(guarded: Town, callers: dict[str, Caller]) -> None:
    """When a waiting read is answered tells of others, too: it is when there is something for it."""
    acme, globex = callers["acme"], callers["globex"]
    begin, answers = acme.get("/changes").json["bookmark"], []

    def wait() -> None:
        with guarded.caller("a", "acme") as waiting:
            answers.append(waiting.get(f"/changes?since={begin}&block=30").json)

    waiter = threading.Thread(target=wait)
    waiter.start()
    for number in range(30):
        assert globex.post("/changes", {"key": str(number), "tags": [THEIRS]}).status == 201
    assert waiter.is_alive() and not answers
    assert acme.post("/changes", {"key": "own", "tags": [ACME]}).status == 201
    waiter.join(30)
    assert [change["key"] for change in answers[0]["changes"]] == ["own"]
