"""A cluster of real processes that speaks HTTP, for tests that run outside of any loop."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from ssl import SSLContext
from threading import Event
from time import monotonic
from typing import Any, Self

from tests.cluster.company import Company
from tests.server.trio import free_addresses

from .caller import Caller, Patient

PATIENCE_S = 30


class Town:
    def __init__(
        self, directory: Path, names: str = "abc", buckets: int = 4, kind: type[Company] = Company, **settings: Any
    ) -> None:
        self.company = kind(directory, names, buckets, **settings)
        self.secure: Callable[[str], SSLContext | None] = lambda _certificate: None
        """What a client with this certificate, or with none, shows and wants to see."""
        self.company.doors = dict(zip(names, free_addresses(len(names)), strict=True))
        self.tokens: dict[str, str] = {}

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run(work)

    def __enter__(self) -> Self:
        self.run(self.company.__aenter__())
        return self

    def __exit__(self, *error: object) -> None:
        self.run(self.company.__aexit__(None, None, None))

    def address(self, name: str = "a") -> tuple[str, int]:
        return self.company.doors[name]

    def caller(self, name: str = "a", token: str = "", certificate: str = "") -> Caller:
        headers = {"Authorization": f"Bearer {self.tokens[token]}"} if token else {}
        return Patient(self.address(name), self.secure(certificate), **headers)

    def keys(self, tag: str) -> Counter[str]:
        """How often each key is in the log under a tag, read to its end page by page."""
        seen: Counter[str] = Counter()
        with self.caller() as caller:
            path = f"/changes?tag={tag}&limit=1000"
            while (page := caller.get(path).json)["changes"]:
                seen.update([change["key"] for change in page["changes"]])
                path = page["links"]["next"]
        return seen

    def guard(self) -> None:
        """From here on tokens are needed: `admin` is for everything, the others are two tenants' and a reader's."""
        with self.caller() as caller:
            everything = ["submit", "read", "admin"]
            wanted: list[dict[str, Any]] = [
                {"name": "admin", "scopes": everything},
                {"name": "acme", "scopes": ["submit", "read"], "tags": ["tenant:acme"]},
                {"name": "globex", "scopes": ["submit", "read"], "prefixes": ["globex:"]},
                {"name": "reader", "scopes": ["read"]},
                {"name": "slow", "scopes": ["submit"], "rates": {"changes_per_s": 1}},
                {"name": "heavy", "scopes": ["submit"], "rates": {"bytes_per_s": 1000}},
                {"name": "writer", "scopes": ["submit"]},
            ]
            for token in wanted:
                granted = caller.post("/tokens", token)
                assert granted.status == 201, granted
                self.tokens[token["name"]] = granted.json["token"]
            done = caller.post("/orders", {"id": "guard", "wish": {"type": "guard", "open": False}})
            assert done.status == 202, done
        for name in self.company.running:
            until(lambda name=name: self._is_guarded(name), f"{name} has not heard that tokens are needed")  # type: ignore[misc]

    def _is_guarded(self, name: str) -> bool:
        with self.caller(name) as nobody, self.caller(name, "writer") as last:
            return nobody.get("/table").status == 401 and last.post("/connections", {}).status == 201


def until(condition: Callable[[], bool], otherwise: str, seconds: float = PATIENCE_S) -> None:
    deadline = monotonic() + seconds
    while not condition():
        assert monotonic() < deadline, otherwise
        Event().wait(0.02)
