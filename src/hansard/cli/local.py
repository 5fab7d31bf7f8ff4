"""A cluster of child processes on this machine: what `hansard dev`, the demo and the soak test run.

Each participant is `hansard start` in a session of its own, so that Ctrl-C in a terminal reaches only whoever started
them; that one then stops them in order, or kills them. What they log goes to a file beside their data.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from hansard.embedded.interrupts import HeldInterrupts

READY_S_MAX: Final = 30.0
STOP_S_MAX: Final = 15.0
LOOK_S: Final = 0.02
LOG_LINES: Final = 5
PORTS: Final = range(20_000, 32_000)
DOORS: Final = 20
"""So many ports after its own, where that is free, a participant speaks HTTP."""


class NotStarted(OSError):
    """A participant that has ended, or does not get ready; with what it said last."""


class Child:
    """One participant."""

    def __init__(self, name: str, directory: Path, port: int, door: int) -> None:
        self.name = name
        self.directory = directory
        self.port = port
        self.door = door
        """Where it speaks HTTP."""
        self.process: subprocess.Popen[bytes] | None = None
        self._is_ready = False

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.door}"

    @property
    def log(self) -> Path:
        return self.directory.parent / f"{self.name}.log"

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self, words: Sequence[str]) -> None:
        assert not self.runs
        command = [sys.executable, "-m", "hansard", "start", str(self.directory), "--name", self.name]
        environment = {name: text for name, text in os.environ.items() if not name.startswith("HANSARD_")}
        self._is_ready = False
        # An interrupt within Popen would leave a child that nobody knows, and so nobody ends.
        with HeldInterrupts(), self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--listen", self.address, "--http", str(self.door), *words],
                env={**environment, "HANSARD_LOG_FORMAT": "human"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)

    def is_ready(self) -> bool:
        """Whether it takes part. Raises NotStarted if it has ended instead."""
        assert self.process is not None and self.process.stdout is not None
        if not self._is_ready:
            self._is_ready = b"ready" in (self.process.stdout.read() or b"")
            if not self._is_ready and not self.runs:
                raise NotStarted(f"{self.name} has ended with exit code {self.process.returncode}: {self.last_words()}")
        return self._is_ready

    def last_words(self) -> str:
        with suppress(OSError):
            return " / ".join(self.log.read_text(errors="replace").splitlines()[-LOG_LINES:])
        return "it has said nothing"

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        if self.runs and self.process is not None:
            self.process.send_signal(number)

    def wait(self, timeout_s: float) -> bool:
        """Whether it has ended by then."""
        if self.process is None:
            return True
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout_s)
        if self.process.stdout is not None and not self.runs:
            self.process.stdout.close()
        return not self.runs


class LocalCluster:
    """Participants a, b, c and so on, below one directory. All are ended at the end of the block."""

    def __init__(
        self, directory: Path, *, buckets: int = 8, replication: int = 3, shape: str = "star", importing: str = ""
    ) -> None:
        self.directory = directory
        self.children: dict[str, Child] = {}
        self._founding = ["--open", "--buckets", str(buckets), "--replication", str(replication), "--shape", shape]
        self._founding += ["--importing", importing] if importing else []

    def __enter__(self) -> Self:
        self.directory.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(hard=True)

    @property
    def addresses(self) -> list[str]:
        return [child.address for child in self.children.values()]

    @property
    def urls(self) -> list[str]:
        return [child.url for child in self.children.values()]

    def start(self, participants: int, port: int | None) -> None:
        """That many, at this port and those after it, or at any; returns when all take part. Who has been there before
        goes on with its data."""
        names = [chr(ord("a") + number) for number in range(participants)]
        ports: Sequence[int] = free_ports(participants)
        doors: Sequence[int] = free_ports(participants, ports)
        if port is not None:
            ports, usual = range(port, port + participants), range(port + DOORS, port + DOORS + participants)
            doors = usual if participants <= DOORS and are_free(usual) else doors
        for name, number, door in zip(names, ports, doors, strict=True):
            self.children[name] = Child(name, self.directory / name, number, door)
        for name in names:
            self._begin(name, participants)
        self.await_ready(*names)

    def _begin(self, name: str, participants: int) -> None:
        first = next(iter(self.children))
        if name == first:
            self.children[name].start(["--found", "--participants", str(participants), *self._founding])
        else:
            others = [other.address for other in self.children.values() if other.name != name]
            self.children[name].start([word for address in others for word in ("--join", address)])

    def await_ready(self, *names: str, timeout_s: float = READY_S_MAX) -> None:
        deadline_s = time.monotonic() + timeout_s
        while not all(self.children[name].is_ready() for name in names):
            if time.monotonic() > deadline_s:
                late = [name for name in names if not self.children[name].is_ready()]
                words = self.children[late[0]].last_words()
                raise NotStarted(f"{', '.join(late)} does not take part after {timeout_s:g} s: {words}")
            time.sleep(LOOK_S)

    def add(self) -> str:
        """Another one, with nothing on its disk; its name, when it takes part."""
        name = chr(ord("a") + len(self.children))
        port, door = free_ports(2)
        self.children[name] = Child(name, self.directory / name, port, door)
        self.restart(name)
        return name

    def restart(self, name: str, *, wait: bool = True) -> None:
        self._begin(name, len(self.children))
        if wait:
            self.await_ready(name)

    def kill(self, name: str) -> None:
        """kill -9."""
        self.children[name].kill()
        self.children[name].wait(STOP_S_MAX)

    def stop(self, name: str) -> bool:
        """In order. Whether it has ended in time."""
        self.children[name].kill(signal.SIGTERM)
        return self.children[name].wait(STOP_S_MAX)

    def end(self, *, hard: bool) -> None:
        """All of them, at the same time; who does not end in time is killed."""
        if not hard:
            for child in self.children.values():
                child.kill(signal.SIGTERM)
            deadline_s = time.monotonic() + STOP_S_MAX
            for child in self.children.values():
                child.wait(max(0.0, deadline_s - time.monotonic()))
        for child in self.children.values():
            child.kill()
        for child in self.children.values():
            child.wait(STOP_S_MAX)


def free_ports(count: int, taken: Sequence[int] = ()) -> list[int]:
    """On loopback, all different, and below those that connections are given."""
    found: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        if port in taken:
            continue
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == count:
            return found
    raise NotStarted(f"there are no {count} free ports")


def are_free(ports: Sequence[int]) -> bool:
    for port in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return False
    return True


@contextmanager
def told_to_end() -> Iterator[None]:
    """SIGTERM is an interrupt within the block, so that children are ended as with Ctrl-C."""

    def leave(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
