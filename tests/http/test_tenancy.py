"""What a token that is limited to tags can do, see and learn: nothing outside of its tags, whichever way it tries.

acme has the tag `tenant:acme`, globex every tag that begins with `globex:`. Everything that acme is told while globex
and others write must be what it is told while they do not. All ask the same participant, which shows what it has
acknowledged; what another one has may be there a moment later.
"""

import json
import re
import threading
from collections.abc import Iterator
from secrets import token_hex
from typing import Any

import pytest

from hansard.http.seats import SEATS_MAX

from .caller import Answer, Caller
from .listener import Listener
from .town import Town, until

ACME = "tenant:acme"


@pytest.fixture
def acme(guarded: Town) -> Iterator[Caller]:
    with guarded.caller("a", "acme") as caller:
        yield caller


@pytest.fixture
def globex(guarded: Town) -> Iterator[Caller]:
    with guarded.caller("a", "globex") as caller:
        yield caller


@pytest.fixture
def admin(guarded: Town) -> Iterator[Caller]:
    with guarded.caller("a", "admin") as caller:
        yield caller


def secret(globex: Caller) -> tuple[Any, str]:
    """A change that acme must not learn of, and its key."""
    key = f"secret-{token_hex(8)}"
    posted = globex.post("/changes", {"key": key, "value": f"value-{key}", "tags": ["globex:x"]})
    assert posted.status == 201, posted
    return posted.json, key


# What needs no token, and what a token is for.


def test_without_a_token_nothing_but_health_and_papers(guarded: Town) -> None:
    with guarded.caller() as nobody:
        described = nobody.get("/openapi.json").json
        for path, methods in described["paths"].items():
            for method, operation in methods.items():
                answer = nobody.call(method.upper(), re.sub(r"{\w+}", "0", path))
                if operation["security"]:
                    assert answer.problem == "no-token", (method, path)
                    assert answer.headers["www-authenticate"] == "Bearer"
                else:
                    assert answer.status == 200, (method, path)


def test_a_wrong_token_is_like_none(guarded: Town) -> None:
    good = guarded.tokens["admin"]
    for token in ("x", good[:-1], good + "x", good.swapcase(), "hsd_" + "participants" + "0" * 64, "hsd_" + "0" * 55):
        with Caller(guarded.address(), Authorization=f"Bearer {token}") as caller:
            refused = caller.get("/table")
            assert refused.problem == "no-token" and token not in refused.body.decode()
    for header in ("Basic YTpi", "Bearer", good):
        with Caller(guarded.address(), Authorization=header) as caller:
            assert caller.get("/table").problem == "no-token"


def test_each_scope_does_its_own_and_nothing_else(guarded: Town) -> None:
    with guarded.caller("a", "reader") as reader, guarded.caller("a", "writer") as writer:
        assert reader.get("/changes?limit=1").status == reader.get("/table").status == 200
        assert reader.post("/changes", {"key": "a"}).problem == "not-allowed"
        assert writer.post("/changes", {"key": "a"}).status == 201
        assert writer.get("/changes").problem == "not-allowed"
        for caller in (reader, writer):
            assert caller.get("/tokens").problem == "not-allowed"
            assert caller.post("/orders", {"wish": {"type": "pause"}}).problem == "not-allowed"


def test_a_revoked_token_is_of_no_use_and_a_secret_is_nowhere(guarded: Town, admin: Caller) -> None:
    granted = admin.post("/tokens", {"name": "brief", "scopes": ["read"]})
    token = granted.json["token"]
    with Caller(guarded.address(), Authorization=f"Bearer {token}") as brief:
        assert brief.get("/table").status == 200
        assert "brief" in [each["name"] for each in admin.get("/tokens").json["tokens"]]
        assert token[16:] not in admin.get("/tokens").body.decode()
        assert admin.call("DELETE", "/tokens/brief").status == 200
        assert brief.get("/table").problem == "no-token"
    assert admin.call("DELETE", "/tokens/brief").problem == "not-found"
    for name in "abc":
        assert token not in guarded.company.log(name)


def test_a_token_has_its_rate(guarded: Town) -> None:
    with guarded.caller("a", "slow") as slow:
        answers = [slow.post("/changes", [{"key": "a"}, {"key": "b"}, {"key": "c"}]) for _ in range(2)]
    assert answers[0].status == 201
    assert answers[1].problem == "too-many" and answers[1].json["stored"] == "no"
    assert int(answers[1].headers["retry-after"]) >= 1


def test_a_token_has_its_rate_in_bytes_too(guarded: Town) -> None:
    with guarded.caller("a", "heavy") as heavy:
        assert heavy.post("/changes", {"key": "a", "value": "x" * 5_000}).status == 201
        refused = heavy.post("/changes", {"key": "a"})
        assert refused.problem == "too-many" and int(refused.headers["retry-after"]) >= 1


def test_a_token_that_ends_while_it_follows_is_told_nothing_more(guarded: Town, admin: Caller) -> None:
    granted = admin.post("/tokens", {"name": f"t-{token_hex(4)}", "scopes": ["read"], "expires_s": 3})
    headers, tag = {"Authorization": f"Bearer {granted.json['token']}"}, f"live-{token_hex(6)}"
    with Listener(guarded.address(), f"/changes/stream?tag={tag}", headers) as listener:
        assert listener.status == 200
        last: list[Any] = []

        def listen() -> None:
            last.extend(event for event in listener.events() if event.kind == "problem")

        listening = threading.Thread(target=listen)
        listening.start()
        until(lambda: admin.post("/changes", {"tags": [tag]}).status == 201 and bool(last), "it goes on and on")
        listening.join(30)
    assert last[0].data["type"] == "urn:hansard:problem:no-token"


def test_a_tenant_is_not_told_where_its_keys_live(acme: Caller) -> None:
    stream = {"Hansard_Connection": acme.post("/connections", {}).json["connection"], "Hansard_Series": "30"}
    body = [{"key": token_hex(8), "tags": [ACME]} for _ in range(20)]
    several = acme.post("/changes", body, Hansard_Previous="1", **stream)
    assert several.problem == "bad-request" and not re.search(r"\[\d", several.json["detail"])
    for previous in ("0=7", "0=7, 1=7, 2=7, 3=7", "3=1"):
        assert acme.post("/changes", body[0], Hansard_Previous=previous, **stream).problem == "bad-request"
    gap = acme.post("/changes", body[0], Hansard_Previous="7", **stream)
    assert gap.problem == "series-gap" and list(gap.json["expected"]) == ["0"]


# Tenants.


def test_a_tenant_writes_and_reads_its_own(acme: Caller, admin: Caller) -> None:
    key = token_hex(8)
    receipt = acme.post("/changes", {"key": key, "value": 1, "tags": [ACME]}).json
    assert receipt["bucket"] is receipt["offset"] is None
    found = acme.get(f"/changes/{receipt['id']}").json
    assert (found["key"], found["tags"], found["bucket"], found["offset"]) == (key, [ACME], None, None)
    assert key in [change["key"] for change in acme.get("/changes?order=desc").json["changes"]]
    assert acme.get(f"/changes?key={key}&tag={ACME}").json["changes"] == [found]
    assert [change["key"] for change in admin.get(f"/changes?key={key}").json["changes"]] == [key]


@pytest.mark.parametrize("tags", [[], ["globex:x"], [ACME, "globex:x"], ["tenant:acme2"], ["tenant:"], [ACME, "other"]])
def test_a_tenant_writes_nothing_but_its_own_tags(acme: Caller, tags: list[str]) -> None:
    refused = acme.post("/changes", {"key": "k", "tags": tags})
    assert refused.problem == "not-allowed" and refused.json["stored"] == "no"
    mixed = acme.post("/changes?wait=none", [{"key": "k", "tags": [ACME]}, {"key": "k", "tags": tags}])
    assert mixed.problem == "not-allowed"


def test_no_route_and_no_parameter_shows_anothers_change(acme: Caller, globex: Caller, admin: Caller) -> None:
    """Every way of asking, with everything that somebody else was given."""
    begin = acme.get("/bookmark").json["bookmark"]
    receipt, key = secret(globex)
    whole = admin.get(f"/changes?key={key}").json
    (seen,) = whole["changes"]
    ways = [
        "/changes?order=desc",
        f"/changes?since={begin}",
        f"/changes?key={key}",
        "/changes?tag=globex:x",
        f"/changes?tag={ACME}&tag=globex:x",
        f"/changes?tag={ACME}&tag=globex:x&match=all",
        f"/changes?bucket={seen['bucket']}",
        f"/changes?bucket={seen['bucket']}&first={seen['offset']}&end={seen['offset'] + 1}",
        f"/changes?since={whole['bookmark']}&order=desc",
        f"/changes?until={whole['bookmark']}",
        f"/changes?since={seen['timestamp']}",
        f"/changes?since={globex.get('/bookmark').json['bookmark']}",
        f"/changes/{seen['id']}",
        f"/changes/{receipt['id']}",
        f"/changes/stream?since={whole['bookmark']}",
        "/changes/stream?tag=globex:x",
        f"/changes/stream?bucket={seen['bucket']}",
        f"/bookmark?at={whole['bookmark']}",
        *(
            "/table",
            "/cluster",
            "/participants",
            "/buckets/0",
            "/metrics",
            "/settings",
            "/holds",
            "/tokens",
            "/orders/x",
        ),
    ]
    for way in ways:
        for accept in ("application/json", "application/x-ndjson"):
            answer = acme.get(way, Accept=accept)
            assert answer.status in {200, 400, 403, 404}, (way, answer)
            assert f"value-{key}" not in answer.body.decode(), way
            assert seen["id"] not in str(answer) or seen["id"] in way, way
    assert acme.get("/changes?tag=globex:x").problem == "not-allowed"
    assert acme.get(f"/changes/{receipt['id']}").problem == acme.get(f"/changes/{seen['id']}").problem == "not-found"


def test_what_another_was_given_is_refused_like_rubbish(acme: Caller, globex: Caller, admin: Caller) -> None:
    """So that nobody finds out what there is by how it is refused."""
    theirs = globex.get("/bookmark").json["bookmark"]
    plain = admin.get("/bookmark").json["bookmark"]
    rubbish = "s1" + "A" * (len(theirs) - 2)
    answers = [acme.get(f"/changes?since={place}") for place in (theirs, plain, rubbish)]
    assert len({(answer.status, answer.body) for answer in answers}) == 1 and answers[0].problem == "bad-request"
    ids = [secret(globex)[0]["id"], "1-0000000000000000", "s1AAAA", "nonsense"]
    assert len({(acme.get(f"/changes/{id}").status, acme.get(f"/changes/{id}").body) for id in ids}) == 1


def test_streams_are_not_anothers_to_go_on_with(acme: Caller, globex: Caller, admin: Caller) -> None:
    name = f"device-{token_hex(4)}"
    ours, theirs = (caller.post("/connections", {"name": name}).json for caller in (acme, globex))
    assert ours["connection"] != theirs["connection"]
    assert acme.post("/connections", {"name": name}).json == ours
    number = admin.post("/connections", {}).json["connection"]
    change = {"key": "k", "tags": [ACME]}
    for connection in (theirs["connection"], number, "1", "2"):
        refused = acme.post("/changes", change, Hansard_Connection=connection, Hansard_Series="1000")
        assert refused.problem == "bad-request" and refused.json["stored"] == "no"
        broken = acme.post("/connections", {"name": name, "broken": connection})
        assert broken.problem == "bad-request"
    stored = acme.post("/changes", change, Hansard_Connection=ours["connection"], Hansard_Series="0")
    assert stored.status == 201


def seen(answer: Answer) -> Any:
    """What a tenant sees, but for what is drawn anew each time."""
    headers = {name: value for name, value in answer.headers.items() if name not in {"date", "retry-after"}}
    text = json.dumps([answer.status, headers, answer.body.decode()])
    return re.sub(r"s1[\w-]+", lambda found: f"sealed {len(found[0])}", text)


def test_what_a_tenant_is_told_does_not_depend_on_others(acme: Caller, globex: Caller, admin: Caller) -> None:
    """The same questions before and after others have written a lot: the answers are alike, to the length."""
    acme.post("/changes", [{"key": f"k{n}", "tags": [ACME]} for n in range(3)])
    start = acme.get("/changes").json["bookmark"]
    questions = [
        "/changes",
        "/changes?limit=2",
        "/changes?order=desc&limit=2",
        f"/changes?since={start}",
        f"/changes?until={start}&order=desc&limit=1",
        f"/changes?since={start}&block=0.05",
        "/bookmark",
        "/bookmark?at=2026-01-01T00:00:00Z",
        f"/changes?tag={ACME}&limit=2",
    ]
    before = [seen(acme.get(question)) for question in questions]
    for _ in range(20):
        globex.post("/changes", [{"key": f"g{n}", "value": "x" * 100, "tags": ["globex:x"]} for n in range(50)])
        admin.post("/changes", [{"key": f"u{n}", "value": "x" * 100} for n in range(50)])
    after = [seen(acme.get(question)) for question in questions]
    assert before == after
    assert acme.get("/bookmark").json != acme.get("/bookmark").json, "equal bookmarks would tell that nothing happened"


def test_a_tag_of_others_on_ones_own_change_is_not_told(acme: Caller, admin: Caller) -> None:
    key = token_hex(8)
    admin.post("/changes", {"key": key, "tags": [ACME, "globex:partner"]})
    (found,) = acme.get(f"/changes?key={key}").json["changes"]
    assert found["tags"] == [ACME]


def test_events_of_a_tenant_are_its_own(guarded: Town, acme: Caller, globex: Caller) -> None:
    headers = {"Authorization": f"Bearer {guarded.tokens['acme']}"}
    with Listener(guarded.address("c"), "/changes/stream", headers) as listener:
        secret(globex)
        acme.post("/changes", {"key": "mine", "tags": [ACME]})
        (event,) = listener.changes(1)
    assert event.data["key"] == "mine" and event.id.startswith("s1")
    with Listener(guarded.address("b"), "/changes/stream", {**headers, "Last-Event-ID": event.id}) as listener:
        acme.post("/changes", {"key": "next", "tags": [ACME]})
        assert [each.data["key"] for each in listener.changes(1)] == ["next"]


def test_whoever_loses_its_token_is_told_nothing_more(guarded: Town, admin: Caller) -> None:
    token = admin.post("/tokens", {"name": "listener", "scopes": ["read"]}).json["token"]
    headers, tag = {"Authorization": f"Bearer {token}"}, f"live-{token_hex(6)}"
    with Listener(guarded.address(), f"/changes/stream?tag={tag}", headers) as listener:
        admin.post("/changes", {"key": "before", "tags": [tag]})
        events = listener.events()
        first = next(event for event in events if event.data)
        assert admin.call("DELETE", "/tokens/listener").status == 200
        admin.post("/changes", {"key": "after", "tags": [tag]})
        last = next(event for event in events if event.data)
    assert (first.data["key"], last.kind) == ("before", "problem")
    assert last.data["type"] == "urn:hansard:problem:no-token"


def test_a_tenant_of_prefixes_says_what_it_wants(globex: Caller) -> None:
    _, key = secret(globex)
    assert globex.get("/changes").problem == "not-allowed"
    assert key in [change["key"] for change in globex.get("/changes?tag=globex:x&order=desc").json["changes"]]
    assert globex.post("/changes", {"key": "k", "tags": ["globex"]}).problem == "not-allowed"


def opened(address: tuple[str, int], headers: dict[str, str]) -> Listener:
    """As soon as there is somebody who leads: on a busy machine there may be nobody for a moment."""
    for _ in range(20):
        stream = Listener(address, "/changes/stream?key=nobody", headers)
        if stream.status != 503:
            return stream
        stream.__exit__(None, None, None)
    raise AssertionError("nobody leads")


def test_a_token_may_wait_so_often_and_no_more(guarded: Town) -> None:
    headers = {"Authorization": f"Bearer {guarded.tokens['reader']}"}
    streams: list[Listener] = []
    try:
        streams += [opened(guarded.address(), headers) for _ in range(SEATS_MAX + 1)]
        assert [stream.status for stream in streams] == [200] * SEATS_MAX + [429]
        with guarded.caller("a", "reader") as reader, guarded.caller("a", "acme") as another:
            assert reader.get("/changes?block=1").problem == "too-many"
            assert reader.get("/changes").status == 200
            assert another.get("/changes?key=nobody&block=0.01").status == 200
    finally:
        for stream in streams:
            stream.__exit__(None, None, None)
    with guarded.caller("a", "reader") as reader:
        until(lambda: reader.get("/changes?block=0.01").status == 200, "seats are not given back")


def test_connections_count_as_what_a_token_has_had(guarded: Town) -> None:
    with guarded.caller("a", "slow") as slow:
        until(lambda: slow.post("/connections", {}).status == 429, "connections cost nothing")
