"""What operators ask and order, what balancers and Prometheus see, and the description of it all."""

import asyncio
import re
import signal
from pathlib import Path
from secrets import token_hex
from types import SimpleNamespace
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from starlette.responses import Response

from hansard.http.app import App
from hansard.http.operation import Operation

from .caller import Caller
from .fuzzing import description
from .town import Town, until


def test_the_cluster_tells_who_it_is(caller: Caller, town: Town) -> None:
    cluster = caller.get("/cluster").json
    assert cluster["log"] == "a-log" and sorted(cluster["atomic"]["voters"]) == ["a", "b", "c"]
    assert {each["node"] for each in caller.get("/participants").json["participants"]} == {"a", "b", "c"}
    table = caller.get("/table").json
    assert len(table["buckets"]) == 4 and table["settings"]["replication"] == 3
    bucket = caller.get("/buckets/2").json
    assert bucket["government"] == table["buckets"][2] and bucket["here"]["end"] >= bucket["here"]["committed"]
    assert caller.get("/buckets/4").problem == "not-found"


def test_marked_down_by_an_operator_and_up_again(town: Town) -> None:
    with town.caller("c") as caller:
        assert (caller.get("/health").status, caller.get("/health").json["ready"]) == (200, True)
        assert caller.send("PUT", "/health", {"down": True}).status == 200
        assert (caller.get("/health").status, caller.get("/health/live").status) == (503, 200)
        assert caller.post("/changes", {"key": "still"}).status == 201
        caller.send("PUT", "/health", {"down": False})
        assert caller.get("/health").status == 200


def test_orders_are_given_once_and_followed(caller: Caller) -> None:
    id = token_hex(8)
    given = caller.post("/orders", {"id": id, "wish": {"type": "pause"}})
    assert (given.status, given.json["standing"]) == (202, "done")
    assert caller.get("/cluster").json["paused"]
    assert caller.get(f"/orders/{id}").json["wish"] == {"type": "pause"}
    caller.post("/orders", {"wish": {"type": "resume"}})
    assert not caller.get("/cluster").json["paused"]
    assert caller.get("/orders/nobody").problem == "not-found"
    assert caller.post("/orders", {"wish": {"type": "drain", "node": "nobody"}}).problem == "refused"
    assert caller.post("/orders", {"wish": {"type": "found", "buckets": 1}}).problem == "bad-request"
    assert caller.call("DELETE", "/participants/nobody").problem == "not-found"
    assert caller.call("POST", "/scrub").status == 202


def test_settings_are_changed_in_part(caller: Caller) -> None:
    before = caller.get("/settings").json
    assert caller.send("PATCH", "/settings", {"moves_max": 3}).status == 202
    assert caller.get("/settings").json == {**before, "moves_max": 3}
    assert caller.send("PATCH", "/settings", {"moves_max": 0}).problem == "bad-request"
    caller.send("PATCH", "/settings", {"moves_max": before["moves_max"]})


def test_a_place_is_held_and_let_go(caller: Caller) -> None:
    name, bookmark = token_hex(8), caller.get("/bookmark").json["bookmark"]
    assert caller.send("PUT", f"/holds/{name}", {"bookmark": bookmark, "lasts_s": 60}).json["name"] == name
    assert name in [hold["name"] for hold in caller.get("/holds").json["holds"]]
    assert caller.call("DELETE", f"/holds/{name}").status == 200
    assert name not in [hold["name"] for hold in caller.get("/holds").json["holds"]]
    assert caller.send("PUT", f"/holds/{name}", {"bookmark": "b1x", "lasts_s": 60}).problem == "bad-request"


def test_metrics_are_prometheus_and_named_in_the_reference(caller: Caller) -> None:
    caller.post("/changes", {"key": "counted"})
    families = list(text_string_to_metric_families(caller.get("/metrics").body.decode()))
    names = {sample.name for family in families for sample in family.samples}
    samples = {name for name in names if not name.endswith("_created")}
    reference = (Path(__file__).parents[2] / "docs" / "reference" / "http.md").read_text()
    told = set(re.findall(r"hansard_\w+", reference))
    plain = {re.sub(r"_seconds_(bucket|count|sum)$", "_seconds", name) for name in samples}
    assert told <= plain, told - plain
    assert plain <= told, plain - told
    for family in families:
        for sample in family.samples:
            assert set(sample.labels) <= {"operation", "status", "stage", "le", "bucket", "member", "role"}


def test_the_description_is_what_is_served_and_closed(caller: Caller) -> None:
    served = caller.get("/openapi.json").json
    assert served["openapi"] == "3.1.0" and served["paths"].keys() == description("")["paths"].keys()
    for name, schema in served["components"]["schemas"].items():
        if schema.get("type") == "object" and "properties" in schema:
            assert schema["additionalProperties"] is False, name
    page = caller.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert not re.search(r"(src|href)=['\"]?https?:|<script", page.body.decode())
    assert "default-src 'none'" in page.headers["content-security-policy"]


def test_other_paths_methods_and_origins(caller: Caller) -> None:
    assert caller.get("/nothing").problem == "not-found"
    wrong = caller.call("DELETE", "/changes")
    assert wrong.problem == "method-not-allowed" and {"GET", "POST"} <= set(wrong.headers["allow"].split(", "))
    for answer in (caller.get("/health", Origin="http://evil.example"), caller.call("OPTIONS", "/changes")):
        assert not [name for name in answer.headers if name.startswith("access-control")]


def _drain_and_move(caller: Caller) -> None:
    """What operators do most."""

    def done(id: str, wish: dict[str, Any]) -> None:
        until(lambda: caller.post("/orders", {"id": id, "wish": wish}).status == 202, f"{wish} is refused")
        until(lambda: caller.get(f"/orders/{id}").json["standing"] == "done", f"{wish} is not done")

    def buckets() -> Any:
        return caller.get("/table").json["buckets"]

    done("out", {"type": "drain", "node": "c"})
    assert "c" in caller.get("/cluster").json["drained"] and all(each["leader"] != "c" for each in buckets())
    done("back", {"type": "undrain", "node": "c"})
    assert not caller.get("/cluster").json["drained"]
    done("there", {"type": "move", "bucket": 1, "nodes": ["c", "b", "a"]})
    assert buckets()[1]["leader"] == "c"
    done("free", {"type": "release", "bucket": 1})


def test_who_is_told_to_stop_answers_first_and_ends_its_streams(tmp_path: Path) -> None:
    with Town(tmp_path, "abc", 2) as town:
        with town.caller("b") as caller:
            assert caller.post("/changes", {"key": "before"}).status == 201
            _drain_and_move(caller)
        assert town.company.kill("b", signal.SIGTERM) == 0
        with town.caller("a") as caller:
            until(lambda: caller.post("/changes", {"key": "after"}).status == 201, "nothing is stored without b")
            assert {change["key"] for change in caller.get("/changes").json["changes"]} >= {"before", "after"}


def test_an_order_may_be_called_anything(caller: Caller) -> None:
    for id in ("ordnungß", "plain"):
        given = caller.post("/orders", {"id": id, "wish": {"type": "resume"}})
        assert given.status == 202 and ("location" in given.headers) == id.isascii(), given


def test_a_token_may_end_almost_at_once(caller: Caller) -> None:
    granted = caller.post("/tokens", {"name": "brief", "scopes": ["read"], "expires_s": 1e-9})
    assert granted.status == 201, granted
    until(lambda: b"brief" not in caller.get("/tokens").body, "it does not end")


def test_an_error_that_nobody_has_thought_of_is_a_problem_like_any_other() -> None:
    async def broken(*_: Any) -> Response:
        raise ZeroDivisionError

    counted: list[Any] = []
    app: Any = SimpleNamespace(_handled=broken, _count=lambda *what: counted.append(what[:2]))
    operation = Operation("docs", "GET", "/docs", "", None)
    response = asyncio.run(App._route(app, operation).endpoint(None))
    assert response.status_code == 500
    assert response.headers["content-type"] == "application/problem+json" and counted == [("docs", 500)]
