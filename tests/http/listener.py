"""Somebody who follows server-sent events on a socket, as a browser does."""

import json
import socket
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

PATIENCE_S = 30


class Event(NamedTuple):
    id: str
    kind: str
    data: Any
    """None where only the id is told."""


class Listener:
    def __init__(self, address: tuple[str, int], path: str, headers: Mapping[str, str] | None = None) -> None:
        self._socket = socket.create_connection(address, PATIENCE_S)
        lines = [f"GET {path} HTTP/1.1", "Host: test", *[f"{name}: {value}" for name, value in (headers or {}).items()]]
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self._file = self._socket.makefile("rb")
        self.status = int(self._file.readline().split()[1])
        self.headers: dict[str, str] = {}
        while line := self._file.readline().strip():
            name, _, value = line.decode().partition(":")
            self.headers[name.lower()] = value.strip()
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._socket.close()

    def blocks(self) -> Iterator[dict[str, str]]:
        """What stands between empty lines, until the stream ends."""
        while length := int(self._file.readline() or b"0", 16):
            self._rest += self._file.read(length)
            self._file.readline()
            *whole, self._rest = self._rest.split(b"\n\n")
            for block in whole:
                yield dict(line.split(": ", 1) for line in block.decode().splitlines())

    def events(self) -> Iterator[Event]:
        for block in self.blocks():
            if "id" in block or "data" in block:
                data = json.loads(block["data"]) if "data" in block else None
                yield Event(block.get("id", ""), block.get("event", ""), data)

    def changes(self, count: int) -> list[Event]:
        found: list[Event] = []
        for event in self.events():
            if event.kind == "change":
                found.append(event)
            if len(found) >= count:
                break
        return found
