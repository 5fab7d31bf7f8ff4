"""The command `hansard start` as a process of its own, with what it writes."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Condition, Thread
from typing import Final

COMMAND: Final = [sys.executable, "-m", "hansard"]
PATIENCE_S: Final = 30
TOKEN: Final = "admin token: "


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HANSARD_")}
    return {**kept, "HANSARD_LOG_FORMAT": "human", **more}


def ended(*words: str | Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """One that ends by itself."""
    command = [*COMMAND, *map(str, words)]
    return subprocess.run(
        command, env=environment(**variables), capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


class Started:
    """What it writes to stderr is read as it comes."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.lines: list[str] = []
        self.token = ""
        """The first one, if it has founded a cluster that needs some."""
        self._news = Condition()
        self._reading = Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._news:
                self.lines.append(line)
                self._news.notify_all()

    def hear(self, pattern: str) -> str:
        """Until a line of its log has it."""

        def heard() -> list[str]:
            return [line for line in self.lines if re.search(pattern, line)]

        with self._news:
            assert self._news.wait_for(heard, PATIENCE_S), f"never {pattern!r}: {''.join(self.lines)}"
            return heard()[0]

    def ready(self) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if line.startswith(TOKEN):
            self.token, line = line.removeprefix(TOKEN).strip(), self.process.stdout.readline()
        assert line == "ready\n", "".join(self.lines)

    def stop(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def end(self) -> None:
        self.process.kill()
        self._reading.join(PATIENCE_S)


@contextmanager
def started(*words: str | Path, **variables: str) -> Iterator[Started]:
    command, pipe = [*COMMAND, "start", *map(str, words)], subprocess.PIPE
    with subprocess.Popen(command, env=environment(**variables), stdout=pipe, stderr=pipe, text=True) as process:
        running = Started(process)
        try:
            yield running
        finally:
            running.end()
