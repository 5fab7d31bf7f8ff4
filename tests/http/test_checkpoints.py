"""GET /checkpoints, and who may learn what from it; and that who comes too late is sent there."""

import json
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest

from hansard.bookmark import Bookmark
from hansard.checkpoint import End, Layer, Left, Record, Start, Subject, encoded
from tests.cluster.test_retention import Small

from .caller import Caller
from .town import Town, until

ACME = Subject.of(["tenant:acme"])


@pytest.fixture
def admin(guarded: Town) -> Iterator[Caller]:
    with guarded.caller("a", "admin") as caller:
        yield caller


def put(caller: Caller, subject: Subject, record: Record) -> Any:
    change = {"key": subject.name, "value": json.loads(encoded(record)), "tags": list(subject.record_tags)}
    return caller.post("/changes", change)


def end(bookmark: str, number: int = 1, rows: int = 1, base: str = "") -> End:
    layer = Layer(path=f"builds/{number}", rows=rows, bytes=10, digest="d")
    id = f"e{number}"
    return End(id=id, number=number, who="ops/1", base=base, bookmark=bookmark, location="/data", layers=(layer,))


def test_a_tenant_finds_its_own_checkpoints_and_can_follow_from_them(guarded: Town, admin: Caller) -> None:
    bookmark = admin.get("/bookmark").json["bookmark"]
    assert put(admin, ACME, end(bookmark)).status == 201
    assert put(admin, ACME, end(bookmark, 2, rows=2, base="e1")).status == 201
    assert put(admin, ACME, end(bookmark, 2, rows=99, base="e1")).status == 201, "in vain"
    assert put(admin, ACME, Start(id="s", number=3, who="ops/2", bookmark=bookmark, lasts_us=10**9)).status == 201
    with guarded.caller("a", "acme") as acme:
        key = token_hex(8)
        assert acme.post("/changes", {"key": key, "value": "later", "tags": ["tenant:acme"]}).status == 201
        found = acme.get("/checkpoints?tag=tenant:acme").json
        assert acme.get("/checkpoints").json["tags"] == found["tags"] == ["tenant:acme"]
        assert [(each["number"], each["layers"][0]["rows"]) for each in found["checkpoints"]] == [(2, 2), (1, 1)]
        assert len(acme.get("/checkpoints?limit=1").json["checkpoints"]) == 1
        sealed = found["checkpoints"][0]["bookmark"]
        assert sealed.startswith("s1") and bookmark not in json.dumps(found) and "ops" not in json.dumps(found)
        assert found["building"]["who"] is None and found["building"]["until"] > found["building"]["since"]
        after = acme.get(f"/changes?since={sealed}").json["changes"]
        assert key in [change["key"] for change in after]
        assert not [change for change in after if change["key"].startswith("hansard:")], (
            "records are none of its changes"
        )
    whole = admin.get("/checkpoints?tag=tenant:acme").json
    assert whole["checkpoints"][0]["bookmark"] == bookmark and whole["checkpoints"][0]["who"] == "ops/1"
    assert whole["building"]["who"] == "ops/2"
    assert put(admin, ACME, Left(id="s", number=3)).status == 201
    assert admin.get("/checkpoints?tag=tenant:acme").json["building"] is None
    assert admin.get("/checkpoints?tag=tenant:acme&tag=b&match=all").json["checkpoints"] == []


def test_a_tenant_learns_nothing_of_others_checkpoints(guarded: Town, admin: Caller) -> None:
    bookmark = admin.get("/bookmark").json["bookmark"]
    globex = Subject.of(["globex:x"])
    for subject in (globex, Subject.of(["globex:x", "tenant:acme"]), Subject.of()):
        assert put(admin, subject, end(bookmark)).status == 201
    with guarded.caller("a", "acme") as acme:
        for query in ("tag=globex:x", "tag=globex:x&tag=tenant:acme", f"tag={globex.name}", "tag=hansard:checkpoint"):
            for path in ("/checkpoints", "/changes", "/changes/stream"):
                assert acme.get(f"{path}?{query}").problem == "not-allowed", (path, query)
        assert acme.get(f"/changes?key={globex.name}").json["changes"] == []
    with guarded.caller("a", "globex") as own:
        assert len(own.get("/checkpoints?tag=globex:x").json["checkpoints"]) == 1
        assert own.get("/checkpoints").problem == "not-allowed", "who has prefixes says which tags it wants"
    with guarded.caller("a", "reader") as reader, guarded.caller("a", "writer") as writer:
        assert len(reader.get("/checkpoints").json["checkpoints"]) == 1
        assert writer.get("/checkpoints").problem == "not-allowed"


def test_no_tenant_forges_a_record(guarded: Town, admin: Caller) -> None:
    before = admin.get("/checkpoints?tag=tenant:acme").json
    forged = end(admin.get("/bookmark").json["bookmark"], 99, rows=1_000_000)
    value = json.loads(encoded(forged))
    with guarded.caller("a", "acme") as acme, guarded.caller("a", "globex") as globex:
        for caller, own in ((acme, "tenant:acme"), (globex, "globex:x")):
            for tags in (list(ACME.record_tags), [ACME.name], [ACME.name, own]):
                refused = caller.post("/changes", {"key": ACME.name, "value": value, "tags": tags})
                assert refused.problem == "not-allowed" and refused.json["stored"] == "no"
            assert caller.post("/changes", {"key": ACME.name, "value": value, "tags": [own]}).status == 201
    assert admin.get("/checkpoints?tag=tenant:acme").json == before, "a key makes no record"


def test_who_asks_for_what_no_checkpoint_is_of_is_told(admin: Caller) -> None:
    assert admin.get(f"/checkpoints?tag={'x' * 250}").problem == "bad-request"
    assert admin.get("/checkpoints?tag=hansard:x").problem == "bad-request"


def test_who_comes_too_late_is_sent_to_the_newest_checkpoint_that_it_can_go_on_from(tmp_path: Path) -> None:
    with Town(tmp_path, "a", 1, kind=Small, replication=1, retain_changes=200) as town, town.caller() as caller:
        subject = Subject.of(["tenant:acme"])
        old = caller.post("/changes", {"key": "first", "value": "x"}).json["id"]
        first = caller.get("/changes").json["bookmark"]
        assert put(caller, subject, end(first)).status == 201

        def is_dropped() -> bool:
            for _ in range(20):
                assert caller.post("/changes", {"key": "more", "value": "x" * 500}).status == 201
            return caller.get(f"/changes/{old}").status == 410

        until(is_dropped, "nothing is dropped")
        late = f"/changes?tag=tenant:acme&since={first}"
        assert "checkpoint" not in caller.get(late).json, "nobody could go on from it"
        now = caller.get("/bookmark").json["bookmark"]
        assert Bookmark.parse(now).offsets and put(caller, subject, end(now, 2, base="e1")).status == 201
        gone = caller.get(late)
        assert gone.status == 410 and gone.json["checkpoint"] == "/checkpoints?tag=tenant%3Aacme&limit=1"
        assert gone.headers["link"] == f'<{gone.json["checkpoint"]}>; rel="alternate"'
        (newest,) = caller.get(gone.json["checkpoint"]).json["checkpoints"]
        assert newest["number"] == 2
        assert caller.get(f"/changes?tag=tenant:acme&since={newest['bookmark']}").status == 200
        assert "checkpoint" not in caller.get(f"/changes?tag=tenant:other&since={first}").json
