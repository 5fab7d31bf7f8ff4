"""A client of HTTP that does nothing by itself: one connection, one request at a time."""

import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPSConnection
from ssl import SSLContext
from threading import Event
from time import monotonic
from types import TracebackType
from typing import Any, NamedTuple, Self

PATIENCE_S = 30
PROBLEM = "application/problem+json"
AGAIN = {"not-ready", "not-reachable", "busy", "expired"}


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    """Their names in lower case."""
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def problem(self) -> str:
        """The name of its type."""
        assert self.headers["content-type"] == PROBLEM, self
        found = self.json
        assert found["status"] == self.status, self
        return str(found["type"].removeprefix("urn:hansard:problem:"))


class Caller:
    def __init__(self, address: tuple[str, int], secure: SSLContext | None = None, **headers: str) -> None:
        self.address = address
        self._headers = headers
        if secure is not None:
            self._connection: HTTPConnection = HTTPSConnection(*address, timeout=PATIENCE_S, context=secure)
        else:
            self._connection = HTTPConnection(*address, timeout=PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def call(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        self._connection.request(method, path, body, {**self._headers, **(headers or {})})
        answer = self._connection.getresponse()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())

    def get(self, path: str, **headers: str) -> Answer:
        return self.call("GET", path, headers=_named(headers))

    def send(self, method: str, path: str, body: Any, **headers: str) -> Answer:
        """As JSON."""
        content = json.dumps(body).encode()
        return self.call(method, path, content, {"Content-Type": "application/json", **_named(headers)})

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        return self.send("POST", path, body, **headers)


class Patient(Caller):
    """Comes again where it is told to, as clients do: on a busy machine nobody may lead for a moment. Nothing is stored
    where that is said."""

    def call(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        deadline_s = monotonic() + PATIENCE_S
        while True:
            answer = super().call(method, path, body, headers)
            if answer.status != 503 or method == "HEAD" or answer.headers["content-type"] != PROBLEM:
                return answer
            if answer.problem not in AGAIN or monotonic() > deadline_s:
                return answer
            Event().wait(0.1)


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
