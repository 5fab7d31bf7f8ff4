"""What the machine gives anyone: syncs of 4 KiB on written space, by one process and by three at once, and loopback.

The three processes share one disk as those of replication do. `python -m bench.limits PATH SECONDS` is one of them,
`python -m bench.limits PORT` the far end of the loopback.
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from bench.load import Figures
from bench.stores import directory
from bench.table import NO_TARGET, Row, show

BLOCK: Final = bytes(4096)
FILE_BYTES: Final = 16 << 20
SECONDS: Final = 1.0
PROBE: Final = bytes(256)
PROBES: Final = 3_000


def syncs(path: Path, seconds: float) -> Figures:
    """Writes and syncs one block after the other, round and round in space that was written before."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    for position in range(0, FILE_BYTES, 1 << 20):
        os.pwrite(descriptor, bytes(1 << 20), position)
    os.fsync(descriptor)
    latencies: list[float] = []
    begun = before = perf_counter()
    position = 0
    while before - begun < seconds:
        os.pwrite(descriptor, BLOCK, position)
        os.fdatasync(descriptor)
        position = (position + len(BLOCK)) % FILE_BYTES
        now = perf_counter()
        latencies.append(now - before)
        before = now
    os.close(descriptor)
    return Figures(len(latencies), before - begun, latencies)


def syncs_at_once(folder: Path, processes: int, seconds: float) -> list[Figures]:
    running: list[subprocess.Popen[str]] = []
    try:
        for number in range(processes):
            command = [sys.executable, "-m", "bench.limits", str(folder / f"sync-{number}"), str(seconds)]
            running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        outputs = [process.communicate(timeout=seconds + 60)[0] for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()
    return [Figures(*json.loads(output)) for output in outputs]


def pings(count: int) -> Figures:
    """To another process and back, over TCP on loopback. Both only wait for each other."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        command = [sys.executable, "-m", "bench.limits", str(server.getsockname()[1])]
        with subprocess.Popen(command) as other:
            try:
                here, _ = server.accept()
                with here:
                    return _pings(here, count)
            finally:
                other.kill()


def _pings(here: socket.socket, count: int) -> Figures:
    here.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    latencies: list[float] = []
    begun = before = perf_counter()
    for _ in range(count):
        here.sendall(PROBE)
        here.recv(len(PROBE), socket.MSG_WAITALL)
        now = perf_counter()
        latencies.append(now - before)
        before = now
    return Figures(count, before - begun, latencies)


def echo(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while received := connection.recv(len(PROBE), socket.MSG_WAITALL):
            connection.sendall(received)


def rows(folder: Path, seconds: float = SECONDS) -> list[Row]:
    busy = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    found = [_row("load of the machine when this began", busy)]
    for processes, name in ((1, "one process"), (3, "three processes at once")):
        figures = syncs_at_once(folder, processes, seconds)
        rate = sum(each.rate for each in figures)
        p50 = median(each.latency_ms(0.5) for each in figures)
        found.append(_row(f"4 KiB + fdatasync on written space, {name}", f"{rate:,.0f} /s, p50 {p50:.2f} ms"))
    ping = pings(PROBES)
    measured = f"p50 {ping.latency_ms(0.5):.3f} ms, p99 {ping.latency_ms(0.99):.3f} ms"
    found.append(_row(f"loopback, {len(PROBE)} bytes there and back", measured))
    return found


def _row(claim: str, measured: str) -> Row:
    return Row(f"limit: {claim}", measured, NO_TARGET, ok=True)


def measure() -> list[Row]:
    with directory() as folder:
        return rows(folder)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        echo(int(sys.argv[1]))
    elif len(sys.argv) == 3:
        json.dump(syncs(Path(sys.argv[1]), float(sys.argv[2])), sys.stdout)
    else:
        show(measure())
