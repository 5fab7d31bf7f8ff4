"""The processes that a measurement starts: told apart by what they write, and ended with it, whatever happens."""

import os
import random
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Final, Self

ROOT: Final = Path(__file__).parent.parent
READY: Final = "ready"
PORTS: Final = range(10_000, 32_768)
START_S: Final = 60.0
STOP_S: Final = 10.0


class NotStarted(Exception):
    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{name} did not start: {what}")


class Children:
    """Processes that end with the block in which they were started: asked to first, killed if they do not.

    Ctrl-C is not for them: whoever measures hears it, and ends them.
    """

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        self._logs.mkdir(exist_ok=True)
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        ended = [name for name, process in self._running.items() if process.poll() is not None]
        self.stop()
        if error is not None:
            for name in ended:
                error.add_note(f"{name} had ended before: {self._complaints(name)}")

    def start(self, name: str, command: Sequence[str]) -> None:
        """What it writes is kept under its name as long as the block lasts."""
        with self._file(name, "out").open("wb") as out, self._file(name, "err").open("wb") as err, _uninterrupted():
            self._running[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=ROOT, process_group=0
            )

    def await_ready(self, *names: str) -> None:
        """Until each of them has said so on a line of its own."""
        deadline = monotonic() + START_S
        for name in names:
            while READY not in self._file(name, "out").read_text().splitlines():
                if self._running[name].poll() is not None:
                    raise NotStarted(name, self._complaints(name))
                if monotonic() > deadline:
                    raise NotStarted(name, f"not ready after {START_S:.0f} s")
                sleep(0.01)

    def processor_s(self, prefix: str) -> float:
        """Of the processors' time, what those whose names begin so have had up to now."""
        running = [process.pid for name, process in self._running.items() if name.startswith(prefix)]
        return sum(_ticks(pid) for pid in running) / os.sysconf("SC_CLK_TCK")

    def kill(self, name: str) -> None:
        """Hard, and now."""
        process = self._running.pop(name)
        process.kill()
        process.wait()

    def _complaints(self, name: str) -> str:
        return self._file(name, "err").read_text()[-2000:]

    def _file(self, name: str, stream: str) -> Path:
        return self._logs / f"{name}.{stream}"

    def stop(self) -> None:
        with ExitStack() as stack:
            for process in self._running.values():
                stack.callback(_end, process)
            for process in self._running.values():
                process.terminate()


def _ticks(pid: int) -> int:
    """User's and system's, of all threads. The process's name, in brackets, may contain anything."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Being told to stop waits until a process that is being born is known to whoever ends it."""
    if threading.current_thread() is not threading.main_thread():  # which alone is told
        yield
        return
    held: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: held.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for held_back in held:
            signal.raise_signal(held_back)


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
    """On loopback, all different. Nothing holds them for us, so they are not of those that connections are given."""
    ports: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as each, suppress(OSError):
            each.bind(("127.0.0.1", port))
            ports.append(port)
        if len(ports) == count:
            return ports
    raise NotStarted("nothing", f"there are no {count} free ports")
