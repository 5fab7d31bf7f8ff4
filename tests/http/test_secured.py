"""Over TLS, with certificates in the place of tokens; and what is not kept any more."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from hansard.client import Client, NotReachable
from hansard.server.plan import planned
from hansard.server.settings import gathered
from hansard.server.start import Plan
from tests.cluster.company import Company
from tests.cluster.test_retention import Small
from tests.cluster.visitor import Visitor
from tests.server.papers import files, papers, trusting

from .town import Town, until


class Secured(Company):
    def plan(self, name: str) -> Plan:
        return replace(super().plan(name), tls=files(self.directory / "certs", name))

    async def dial(self, name: str) -> Visitor:
        return await Visitor.dial(self.addresses[name], trusting(self.directory / "certs"))


def test_certificates_do_as_well_as_tokens(tmp_path: Path) -> None:
    certs = papers(tmp_path / "certs", "a", "b", "c", "read:bob", "read+submit:etl")
    town = Town(tmp_path, kind=Secured)
    town.secure = lambda name: trusting(certs, name)
    with town:
        town.guard()
        with town.caller("a", certificate="read+submit-etl") as etl, town.caller("b", certificate="read-bob") as bob:
            posted = etl.post("/changes", {"key": "sealed", "value": 1})
            assert posted.status == 201, posted
            assert bob.get(f"/changes/{posted.json['id']}").json["key"] == "sealed"
            assert bob.get("/changes?key=sealed").json["changes"][0]["value"] == "1"
            assert bob.post("/changes", {"key": "x"}).problem == "not-allowed"
            assert etl.get("/tokens").problem == "not-allowed"
        with town.caller("c") as nobody, town.caller("c", "reader") as reader:
            assert nobody.get("/changes").problem == "no-token"
            assert reader.get("/changes?key=sealed").json["changes"]
        url = ["https://{}:{}".format(*town.address("b"))]
        with Client.connect(url, tls=trusting(certs, "read+submit-etl")) as client:
            client.submit("sealed", 2)
            assert [change.text for change in client.read(key="sealed")] == ["1", "2"]
        with pytest.raises(NotReachable, match="certificate"):
            Client.connect(url, timeout_s=1)  # this machine does not know the authority


def test_without_tls_only_this_machine_is_let_in(tmp_path: Path) -> None:
    def mistakes(http: str, **more: object) -> list[str]:
        flags = {"directory": tmp_path / "data", "name": "a", "found": True, "http": http, **more}
        return [error for error in planned(gathered(flags, {}, None)).errors if error.startswith("http")]

    assert not mistakes("8080") and not mistakes("localhost:8080") and not mistakes("[::1]:8080")
    assert not mistakes("0.0.0.0:8080", insecure=True)
    for wrong in ("0.0.0.0:8080", "192.0.2.1:8080", "nonsense", "host:99999"):
        assert mistakes(wrong), wrong


@pytest.mark.parametrize("path", ["/changes?since={}", "/changes/stream?since={}", "/changes/stream"])
def test_what_is_not_kept_any_more_is_gone_with_where_to_start(tmp_path: Path, path: str) -> None:
    with Town(tmp_path, "a", 1, kind=Small, replication=1, retain_changes=20) as town, town.caller() as caller:
        old = caller.post("/changes", {"key": "first", "value": "x"}).json["id"]
        bookmark = caller.get("/changes").json["bookmark"]

        def is_dropped() -> bool:
            for _ in range(20):
                assert caller.post("/changes", {"key": "more", "value": "x" * 500}).status == 201
            return caller.get(f"/changes/{old}").status == 410

        until(is_dropped, "nothing is dropped")
        headers = {"Last-Event-ID": bookmark} if path == "/changes/stream" else {}
        gone = caller.call("GET", path.format(bookmark), headers=headers)
        assert gone.problem == "gone"
        (retained,) = gone.json["retained"]
        assert retained["bucket"] == 0 and retained["offset"] > 1
        rest = caller.get(f"/changes?since={gone.json['start']}&limit=1")
        assert rest.status in {200, 410}, "more may be dropped meanwhile"
        assert caller.get("/changes?limit=1").json["changes"][0]["key"] == "more"
