"""The processes that a measurement starts: told apart by what they write, and ended with it, whatever happens."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Final, Self

READY: Final = "ready"
START_S: Final = 30.0
STOP_S: Final = 5.0


class NotStarted(Exception):
    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{name} did not start: {what}")


class Children:
    """Processes that end with the block in which they were started: asked to first, killed if they do not."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._running: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        self._logs.mkdir(exist_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> Path:
        """Its output is in the file that is returned; what it complains of is beside it."""
        output = self._logs / f"{name}.out"
        with output.open("wb") as out, self._complaints(name).open("wb") as complaints, _uninterrupted():
            self._running.append(
                subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=complaints,
                    env={**os.environ, **(environment or {})},
                )
            )
        return output

    def start_ready(self, name: str, command: Sequence[str]) -> None:
        """Those that say so on a line of their own."""
        output = self.start(name, command)
        process = self._running[-1]
        deadline = monotonic() + START_S
        while READY not in output.read_text().splitlines():
            if process.poll() is not None:
                raise NotStarted(name, self._complaints(name).read_text()[-2000:])
            if monotonic() > deadline:
                raise NotStarted(name, f"not ready after {START_S:.0f} s")
            sleep(0.01)

    def _complaints(self, name: str) -> Path:
        return self._logs / f"{name}.err"

    def stop(self) -> None:
        with ExitStack() as stack:
            for process in self._running:
                stack.callback(_end, process)
            for process in self._running:
                process.terminate()


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until a process that is being born is known to whoever ends it."""
    held: list[int] = []
    try:
        before = signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    except ValueError:  # only the main thread is interrupted
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if held:
        raise KeyboardInterrupt


@contextmanager
def ended_by_signal() -> Iterator[None]:
    """A request to end is an exception within the block, so that all that was started is stopped."""

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def free_ports(count: int) -> list[int]:
    """On loopback, all different. Nothing holds them for us: another process may be faster."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
