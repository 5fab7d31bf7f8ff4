"""Three participants as processes of their own: started, killed, stopped and held up, and ended with the test.

They are forked by a process that has everything imported, because importing takes longer than most of their lives;
from there on each is the command, with its words, signals and exit code.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterable
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from hansard.phaser.government import Shape

from .trio import LEADER, NAMES, free_addresses, until

READY: Final = "ready"
FORKING: Final = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(["hansard.cli.main", "hansard.server.skeleton"])


def command(words: list[str], out: Path, err: Path) -> None:
    """In the new process."""
    for path, stream in ((out, sys.stdout), (err, sys.stderr)):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, stream.fileno())
    from hansard.cli.main import main  # noqa: PLC0415

    sys.argv = ["hansard", *words]
    main()


class Participants:
    """Each one's data lies in `directory` under its name; what it writes lies beside that."""

    def __init__(self, directory: Path, shape: Shape = Shape.STAR, leader: str = LEADER) -> None:
        self.directory = directory
        self.shape = shape
        self.leader = leader
        self.addresses = dict(zip(NAMES, free_addresses(len(NAMES)), strict=True))
        self._running: dict[str, ForkServerProcess] = {}
        self._lives: dict[str, int] = dict.fromkeys(NAMES, 0)

    async def __aenter__(self) -> Self:
        await self.start(*NAMES)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._running.values():
            process.kill()
        for process in self._running.values():
            process.join()

    def words(self, name: str, directory: Path | None = None) -> list[str]:
        """Of the command that runs a participant."""
        everybody = [f"--participant={each}={host}:{port}" for each, (host, port) in self.addresses.items()]
        where = directory or self.directory / name
        options = ["--me", name, *everybody, "--leader", self.leader, "--shape", self.shape]
        return ["skeleton", str(where), *options]

    def launch(self, *names: str) -> None:
        for name in names:
            self._lives[name] += 1
            out, err = self._file(name, "out"), self._file(name, "err")
            out.touch()
            err.touch()
            self._running[name] = FORKING.Process(target=command, args=(self.words(name), out, err))
            self._running[name].start()

    async def start(self, *names: str) -> None:
        """They are ready, the leader to take submissions."""
        self.launch(*names)
        for name in names:
            await until(lambda name=name: self._is_ready(name))  # type: ignore[misc]

    def _is_ready(self, name: str) -> bool:
        ended = self._running[name].exitcode
        assert ended is None, f"{name} has ended with {ended}: {self.errors(name)}"
        return READY in self._file(name, "out").read_text().splitlines()

    def errors(self, name: str) -> str:
        """What it has written, in this life."""
        return self._file(name, "err").read_text()

    def _file(self, name: str, stream: str) -> Path:
        return self.directory / f"{name}{self._lives[name]}.{stream}"

    def signal(self, number: signal.Signals, *names: str) -> None:
        for name in names:
            os.kill(self._running[name].pid or 0, number)

    async def kill(self, *names: str) -> None:
        self.signal(signal.SIGKILL, *names)
        await self.ended(*names)

    async def stop(self, *names: str) -> None:
        """Asked to, and without a complaint."""
        self.signal(signal.SIGTERM, *names)
        assert await self.ended(*names) == [0] * len(names), [self.errors(name) for name in names]

    async def ended(self, *names: str) -> list[int | None]:
        """Their exit codes, once they have them."""
        processes = [self._running[name] for name in names]
        await until(lambda: all(process.exitcode is not None for process in processes))
        for name in names:
            del self._running[name]
        return [process.exitcode for process in processes]

    def complaints(self) -> Iterable[str]:
        """Whatever looks like a mistake of ours in what any of them has written, in any life."""
        for path in sorted(self.directory.glob("*.err")):
            text = path.read_text()
            if "Traceback" in text or "Error" in text:
                yield f"{path.name}: {text[-2_000:]}"
