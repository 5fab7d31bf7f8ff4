"""What `hansard dev` does."""

import asyncio
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from .carrying import carry_in
from .chest import ChestReader
from .failure import fail
from .local import LocalCluster, are_free, told_to_end
from .output import json_line, write_lines
from .reach import PORT, Reach

LOOK_S: Final = 0.2
USAGE: Final = 2


def dev(
    participants: int,
    data: Path | None,
    port: int | None,
    sizes: Sequence[int],
    shape: str,
    load: Path | None = None,
    *,
    as_json: bool,
) -> None:
    buckets, replication = sizes
    if buckets.bit_count() != 1:
        raise fail(f"--buckets must be a power of two, not {buckets}", USAGE)
    if shape not in ("star", "chain"):
        raise fail(f"--shape must be star or chain, not {shape!r}", USAGE)
    log = ""
    if load is not None:
        with ChestReader(load) as chest:
            log, buckets = chest.header["log"], max(buckets, chest.header["buckets"])
    with told_to_end(), _directory(data) as directory:
        cluster = LocalCluster(
            directory, buckets=buckets, replication=min(replication, participants), shape=shape, importing=log
        )
        with cluster:
            cluster.start(participants, _port(port, participants))
            if load is not None:
                asyncio.run(carry_in(Reach(tuple(cluster.addresses)), load))
            write_lines(_json(cluster) if as_json else _welcome(cluster, kept=data is not None))
            wait(cluster)


@contextmanager
def _directory(data: Path | None) -> Iterator[Path]:
    if data is not None:
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="hansard-dev-") as temporary:
        yield Path(temporary)


def _port(port: int | None, participants: int) -> int | None:
    """Where the usual ones are in use, any will do."""
    if port is None:
        return PORT if are_free(range(PORT, PORT + participants)) else None
    if not are_free(range(port, port + participants)):
        raise fail(f"some port from {port} to {port + participants - 1} is in use: give another --port, or none")
    return port


def wait(cluster: LocalCluster) -> None:
    """Until somebody wants it to end, or nobody is left."""
    running = {name for name, child in cluster.children.items() if child.runs}
    try:
        while running:
            for name in sorted(running):
                if not cluster.children[name].runs:
                    running.discard(name)
                    last = cluster.children[name].last_words()
                    sys.stderr.write(f"hansard: {name} has ended, the others go on: {last}\n")
            time.sleep(LOOK_S)
    except KeyboardInterrupt:
        sys.stderr.write("hansard: stopping; once more to stop at once\n")
        cluster.end(hard=False)
    else:
        raise fail("all participants have ended")


def _json(cluster: LocalCluster) -> Iterator[str]:
    nodes = {child.name: child.address for child in cluster.children.values()}
    found = {"addresses": cluster.addresses, "http": cluster.urls, "participants": nodes}
    yield json_line({**found, "data": str(cluster.directory)})


def _welcome(cluster: LocalCluster, *, kept: bool) -> Iterator[str]:
    kept_text = "is kept" if kept else "goes away with them; --data DIR keeps it"
    yield f"{len(cluster.children)} participants run. Their data, in {cluster.directory}, {kept_text}."
    for child in cluster.children.values():
        yield f"  {child.name}  {child.address}  {child.url}/docs  log {child.log}"
    addresses = ",".join(cluster.addresses)
    usual = cluster.addresses[0].endswith(f":{PORT}")
    yield "Try in another shell" + (":" if usual else f", after  export HANSARD_ADDRESSES={shlex.quote(addresses)} :")
    # Whoever has called it by its path is not helped by a name that the shell does not know.
    command = "hansard" if shutil.which("hansard") else sys.argv[0]
    yield f'  {command} submit user:17 \'{{"plan": "pro"}}\' --tag tenant:acme'
    yield f"  {command} tail --tag tenant:acme"
    yield f"  {command} status --watch"
    yield "Ctrl-C stops them."
