"""Makers of checkpoints, each a process with a JVM of its own, killed (SIGKILL) when they have reached some step, while
the cluster takes writes and loses participants. What is there in the end must be what the log says, and nothing else.

    python -m tests.pipeline.makers --kills 20
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path

from hansard.checkpoint import Subject
from hansard.client import Client
from hansard.pipeline.checkpoint import Checkpointer
from hansard.pipeline.expiry import Policy
from hansard.pipeline.session import session
from hansard.pipeline.source import Source
from hansard.testing import cluster
from tests.pipeline.test_checkpoint import STEPS, check, churn, story
from tests.spark.session import prepare

TAG = "kills:a"
PATIENCE_S = 900


def one(addresses: str, token: str, root: str, step: str) -> None:
    """A run that ends itself at a step; or, without one, at its end."""

    def reached(now: str) -> None:
        if now == step:
            os.kill(os.getpid(), signal.SIGKILL)

    spark = session("local[2]", memory_mb=1024)
    source, policy = Source.of(addresses, token), Policy(keep=1, grace_s=0)
    Checkpointer(spark, source, root, Subject.of([TAG]), name="kills", policy=policy, reached=reached).run()


def told(kills: int, seed: int) -> None:
    dice = random.Random(seed)
    with (
        tempfile.TemporaryDirectory(prefix="hansard-kills-") as root,
        cluster(buckets=2) as three,
        Client.connect(three.addresses, token=three.token, timeout_s=60) as client,
    ):
        words = [sys.executable, "-m", "tests.pipeline.makers", "--one", ",".join(three.addresses), three.token, root]
        for number in range(kills + 1):
            churn(client, [TAG], 200, number, keys=300)
            victim = dice.randrange(3)
            three.kill(victim)
            step = dice.choice(STEPS) if number < kills else "none"
            done = subprocess.run([*words, step], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            assert done.returncode == (-signal.SIGKILL if number < kills else 0), done.stderr[-2000:]
            three.start(victim)
            found = len(client.checkpoints(tags=[TAG]))
            keys = check(client, TAG) if found else 0
            print(f"{number + 1}: killed at {step}; {found} checkpoints, {keys} keys as the log says", flush=True)
        docket = story(client, Subject.of([TAG]).name)[1]
        assert docket.newest is not None and docket.holder is None and not docket.in_vain
        builds = {path.parent.name for path in Path(root).glob("*/builds/*/folder=*")}
        assert builds == {layer.path.split("/")[1] for layer in docket.newest.record.layers}, "something is left over"
        print(f"{kills} kills: {docket.number} checkpoints, {len(docket.starts)} starts, nothing left over")


def main() -> None:
    assert __doc__
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--one", nargs=4, metavar=("ADDRESSES", "TOKEN", "ROOT", "STEP"))
    arguments = parser.parse_args()
    if arguments.one:
        one(*arguments.one)
    else:
        prepare()
        told(arguments.kills, arguments.seed)


if __name__ == "__main__":
    main()
