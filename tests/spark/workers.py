"""Spark's Python workers, killed as a machine's death would kill them: those that do tasks, of this process's Spark."""

import os
import signal
from contextlib import suppress
from pathlib import Path
from random import Random


def kill_a_worker(random: Random) -> bool:
    """One that was forked to do tasks: a child of a daemon that is a child of the JVM that we have started."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    ours, daemons = list(children.get(os.getpid(), [])), list[int]()
    while ours:
        process = ours.pop()
        with suppress(OSError):
            if b"pyspark.daemon\0pyspark.worker\0" in (Path("/proc") / str(process) / "cmdline").read_bytes():
                daemons.append(process)
                continue  # its children have the same name
        ours += children.get(process, [])
    forked = [worker for daemon in daemons for worker in children.get(daemon, [])]
    if not forked:
        return False
    with suppress(ProcessLookupError):
        os.kill(random.choice(sorted(forked)), signal.SIGKILL)
    return True
