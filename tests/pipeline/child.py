"""A job in a process of its own, which ends itself as kill -9 does: at a step, or so long after it has planned.

python -m tests.pipeline.child archive ROOT HOST:PORT,... [--at STEP | --after SECONDS]
"""

import argparse
import os
import signal
from threading import Timer

import msgspec

from hansard.pipeline import cargo
from hansard.pipeline.archive import Archiver
from hansard.pipeline.compaction import compact, sweep
from hansard.pipeline.load import Loader
from hansard.pipeline.restore import Restorer
from hansard.pipeline.session import session
from hansard.pipeline.source import Source
from tests.spark.session import prepare


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("job", choices=["archive", "restore", "load"])
    parser.add_argument("root")
    parser.add_argument("addresses")
    parser.add_argument("--at", default="")
    parser.add_argument("--after", type=float, default=-1.0)
    given = parser.parse_args()

    def reached(step: str) -> None:
        print(step, flush=True)
        if step == given.at:
            die()
        if step in ("planned", "settled", "stored") and given.after >= 0:
            Timer(given.after, die).start()

    prepare()
    spark = session("local[2]", memory_mb=1024)
    source = Source.of(given.addresses)
    if given.job == "archive":
        archiver = Archiver(spark, source, given.root, rows_per_run=2_000, reached=reached)
        archiver.catch_up()
        compact(spark, archiver.folder, files_min=3)
        reached("compacted")
        sweep(archiver.folder)
    elif given.job == "restore":
        Restorer(spark, source, given.root, reached=reached).restore()
    else:
        whole = cargo.of_archive(spark, given.root)
        rows = msgspec.structs.replace(whole, rows_per_batch=20_000)
        Loader(spark, source, "kills", "all", lambda: rows, reached).load()
    os._exit(0)  # whatever is still to die does so with this


if __name__ == "__main__":
    main()
