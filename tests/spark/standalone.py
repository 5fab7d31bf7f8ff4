"""A small standalone Spark: a master and two workers, each a process, the workers at addresses of their own.

Spark begins a second attempt of a task only on another host than the first one's: so a `local-cluster` never does.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Final

import pyspark

HOSTS: Final = ("127.0.0.1", "127.0.0.2")
CORES: Final = 2
START_S: Final = 90.0
STOP_S: Final = 30.0
_URL: Final = re.compile(r"spark://[\d.]+:\d+")
_MASTER: Final = "org.apache.spark.deploy.master.Master"
_WORKER: Final = "org.apache.spark.deploy.worker.Worker"


@contextmanager
def standalone(home: Path) -> Iterator[str]:
    """The master's URL. What the processes say is in files in `home`; they end with the block."""
    processes: list[subprocess.Popen[bytes]] = []
    try:
        processes.append(_started(home / "master.log", HOSTS[0], _MASTER, "--port", "0"))
        url = _awaited(home / "master.log", _URL, processes[0])
        for number, host in enumerate(HOSTS):
            log, work = home / f"worker-{number}.log", str(home / f"work-{number}")
            options = ("--port", "0", "--cores", str(CORES), "--memory", "1g", "--work-dir", work)
            processes.append(_started(log, host, _WORKER, *options, url))
        for number in range(len(HOSTS)):
            _awaited(home / f"worker-{number}.log", re.compile("Successfully registered"), processes[number + 1])
        yield url
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(STOP_S)


def _started(log: Path, host: str, what: str, *options: str) -> "subprocess.Popen[bytes]":
    launcher = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    command = [launcher, what, "--host", host, "--webui-port", "0", *options]
    environment = os.environ | {
        "SPARK_LOCAL_IP": host,
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
    }
    with log.open("wb") as said:
        return subprocess.Popen(command, env=environment, stdout=said, stderr=said)


def _awaited(log: Path, pattern: re.Pattern[str], process: "subprocess.Popen[bytes]") -> str:
    deadline, never = monotonic() + START_S, Event()
    while monotonic() < deadline and process.poll() is None:
        if found := pattern.search(log.read_text(errors="replace")):
            return found[0]
        never.wait(0.1)
    raise RuntimeError(f"Spark did not start: {log.read_text(errors='replace')[-2000:]}")
