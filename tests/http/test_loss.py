"""While participants are lost and buckets split, only described answers come; nothing is lost or stored twice."""

import os
import random
import signal
import threading
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest
import requests
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error

from .caller import Answer, Caller
from .fuzzing import attack, found, loaded, operations
from .town import Town, until

TAG = "kept"
NOT_NOW = {"follow", "give_up"}
"""What does not end, and what would take away another one for good."""
FEW = int(os.environ.get("HANSARD_HTTP_EXAMPLES", "6"))
MORE = dict.fromkeys(("submit", "read", "connect", "change"), 4 * FEW)
"""Of what is done all the time. HANSARD_HTTP_EXAMPLES=100 tries longer."""


class Device(threading.Thread):
    """Submits with a connection, one change after the other, each until it is certain, to whoever answers."""

    def __init__(self, town: Town, number: int, enough: threading.Event) -> None:
        super().__init__()
        self._town = town
        self._enough = enough
        self.stored: list[str] = []
        self.strange: list[Answer] = []
        self._names = list(town.company.doors)
        self._random = random.Random(number)
        self._number = number

    def run(self) -> None:
        connection = self._certain("/connections", {"name": f"device-{self._number}"}).json["connection"]
        series = 0
        while not self._enough.is_set() or series < 20:
            keys = [f"{self._number}-{series}-{place}" for place in range(3)]
            body = [{"key": key, "tags": [TAG]} for key in keys]
            headers = {"Hansard_Connection": connection, "Hansard_Series": str(series), "Hansard_Deadline": "2"}
            self._certain("/changes", body, **headers)
            self.stored += keys
            series += len(keys)

    def _certain(self, path: str, body: Any, **headers: str) -> Answer:
        while True:
            name = self._random.choice(self._names)
            try:
                with Caller(self._town.address(name)) as caller:
                    answer = caller.post(path, body, **headers)
            except (OSError, HTTPException):
                continue
            if answer.status == 201:
                return answer
            if answer.status not in {503, 504} or "retry-after" not in answer.headers:
                self.strange.append(answer)
            self._enough.wait(0.02)


@pytest.fixture
def devices(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    with Town(tmp_path, "abc", 2) as town:
        enough = threading.Event()
        running = [Device(town, number, enough) for number in range(4)]
        for device in running:
            device.start()
        yield town, running
        enough.set()
        for device in running:
            device.join(30)


def _is_further(devices: list[Device], count: int = 30) -> None:
    before = [len(device.stored) for device in devices]
    until(
        lambda: all(len(device.stored) >= count + past for device, past in zip(devices, before, strict=True)),
        "devices do not get on",
    )


def _check(town: Town, devices: list[Device]) -> None:
    for device in devices:
        device._enough.set()
    for device in devices:
        device.join(30)
        assert not device.is_alive() and not device.strange, device.strange
    seen = town.keys(TAG)
    assert not [key for key, count in seen.items() if count > 1]
    assert {key for device in devices for key in device.stored} <= set(seen)


def test_nothing_is_lost_or_doubled_when_a_participant_is_killed(devices: tuple[Town, list[Device]]) -> None:
    town, running = devices
    _is_further(running)
    town.company.kill("c")
    _is_further(running)
    town.run(town.company.start("c"))
    _is_further(running)
    _check(town, running)


def test_nothing_is_lost_or_doubled_when_buckets_are_split(devices: tuple[Town, list[Device]]) -> None:
    town, running = devices
    _is_further(running)
    with town.caller() as caller:
        assert caller.post("/orders", {"id": "more", "wish": {"type": "double", "to": 8}}).status == 202
        _is_further(running)
        until(lambda: caller.get("/orders/more").json["standing"] == "done", "the buckets are not doubled")
        assert len(caller.get("/table").json["buckets"]) == 8
    _is_further(running)
    _check(town, running)


def test_only_described_answers_come_while_participants_come_and_go(tmp_path: Path) -> None:
    """The one that is asked stays; the others are killed and started again meanwhile."""
    with Town(tmp_path, "abc", 4) as town, requests.Session() as session:
        with town.caller() as caller:
            cluster = caller.get("/cluster").json["id"]
        schema = loaded(cluster, town.address())
        over = threading.Event()

        def come_and_go() -> None:
            while not over.is_set():
                for name in "bc":
                    town.company.kill(name)
                    over.wait(0.3)
                    town.run(town.company.start(name))
                    over.wait(1.0)

        trouble = threading.Thread(target=come_and_go)
        trouble.start()
        try:
            for name in [name for name in operations() if name not in NOT_NOW]:

                def tried(case: Any) -> None:
                    case.headers = {**(case.headers or {}), "Hansard-Deadline": "2"}
                    answer = case.call(session=session, timeout=40)
                    assert answer.status_code != 500, answer.text
                    case.validate_response(answer, excluded_checks=[not_a_server_error])

                attack(found(schema, name), GenerationMode.POSITIVE, MORE.get(name, FEW), tried)
        finally:
            over.set()
            trouble.join(60)


def test_what_is_journalled_and_not_committed_in_time_is_unknown_and_counts_once(tmp_path: Path) -> None:
    """A member that sleeps acknowledges nothing; it is not missed as soon as the deadline is over."""
    with Town(tmp_path, "abc", 1) as town:
        with town.caller() as caller:
            leader = caller.get("/table").json["buckets"][0]["leader"]
            connection = caller.post("/connections", {}).json["connection"]
        sleeper = next(name for name in "abc" if name != leader)
        process_id = town.company.running[sleeper].pid
        assert process_id is not None
        stream = {"Hansard_Connection": connection, "Hansard_Series": "0"}
        with town.caller(leader) as caller:
            os.kill(process_id, signal.SIGSTOP)
            try:
                unknown = caller.post("/changes", {"key": "k", "tags": [TAG]}, Hansard_Deadline="0.2", **stream)
                assert unknown.problem == "unknown" and unknown.status == 504, unknown
                assert unknown.json["stored"] == "unknown" and int(unknown.headers["retry-after"]) >= 1
                assert caller.post("/changes", {"key": "k"}, Hansard_Deadline="0.2").problem == "unknown"
            finally:
                os.kill(process_id, signal.SIGCONT)
            until(
                lambda: caller.post("/changes", {"key": "k", "tags": [TAG]}, **stream).status == 201, "it is not stored"
            )
            assert len(caller.get(f"/changes?tag={TAG}").json["changes"]) == 1
