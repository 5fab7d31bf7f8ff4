"""A process that has everything imported and forks a child for each life, because importing takes longer than a life.

It reads one line of orders for each life, forks, and reads another line to kill. Nobody kills the forker: when its
input ends, because the test is over or was interrupted, it kills its child and goes.

The children write to its own standard output. When one is dead the forker writes a zero byte and how it ended: what
stands before that, up to the last whole line, is all that the child ever told.
"""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Self

from tests.live import child
from tests.live.child import Receipt

ROOT = Path(__file__).parents[2]
PATIENCE_S = 30
PIECE_BYTES = 1 << 16


class Forker:
    """The other end, in the test's process."""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.live.forker"]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(PATIENCE_S)

    def live(self, directory: Path, seed: str, *, receipts: int, then_s: float = 0.0) -> list[Receipt]:
        """What a child told that was killed some time after it had told so many receipts."""
        self._order(json.dumps([str(directory), seed]))
        told = self._read(b"", lambda told: told.count(b"\n") >= receipts, PATIENCE_S)
        assert told.count(b"\n") >= receipts, f"after {PATIENCE_S} s {seed} has told no more than {told!r:.200}"
        told = self._read(told, lambda _: False, then_s)
        self._order("kill")
        told = self._read(told, lambda told: told.endswith(b"\n") and b"\0" in told, PATIENCE_S)
        words, _, ending = told.partition(b"\0")
        assert int(ending) == -signal.SIGKILL, f"{seed} ended by itself: {int(ending)}"
        return [Receipt.parse(line.decode()) for line in words.split(b"\n")[:-1]]

    def _order(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")

    def _read(self, told: bytes, enough: Callable[[bytes], bool], patience_s: float) -> bytes:
        assert self._process.stdout is not None
        deadline = monotonic() + patience_s
        while not enough(told) and (left_s := deadline - monotonic()) > 0:
            ready, _, _ = select.select([self._process.stdout], [], [], left_s)
            if ready:
                piece = os.read(self._process.stdout.fileno(), PIECE_BYTES)
                assert piece, "the forker has died"
                told += piece
        return told


def main() -> None:
    while order := sys.stdin.buffer.readline():
        directory, seed = json.loads(order)
        process = os.fork()
        if process == 0:
            child.run(Path(directory), seed)
        kill = sys.stdin.buffer.readline()
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        if kill:  # or else nobody listens any more
            os.write(1, b"\0%d\n" % os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
