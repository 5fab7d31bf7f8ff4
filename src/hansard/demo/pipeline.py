"""The last scene: the pipeline on Spark. An archive, checkpoints of two tenants, a reader that starts from one, and a
report.

One session does all of it, because starting one takes longer than the rest.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hansard.checkpoint import Subject
from hansard.client import Client

from .audit import Broken

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TENANTS: Final = ("acme", "umbrella")
MISSING: Final = 'the pipeline is left out: it needs pip install "hansard[spark]" and Java 17 or 21'


def shown(say: Callable[[str], None], addresses: Sequence[str], directory: Path) -> Path | None:
    """Where the report's page is; None where there is no Spark."""
    try:
        spark = _session()
    except (ModuleNotFoundError, OSError, RuntimeError):  # Spark's own errors without Java are RuntimeErrors
        say(f"   ({MISSING})")
        return None
    try:
        return _shown(say, spark, addresses, directory)
    finally:
        spark.stop()


def _session() -> "SparkSession":
    from hansard.pipeline.session import session  # noqa: PLC0415

    return session("local[2]", name="demo")


def _shown(say: Callable[[str], None], spark: "SparkSession", addresses: Sequence[str], directory: Path) -> Path:
    from hansard.pipeline.archive import Archiver  # noqa: PLC0415
    from hansard.pipeline.checkpoint import Checkpointer  # noqa: PLC0415
    from hansard.pipeline.report import Reporter  # noqa: PLC0415
    from hansard.pipeline.report_page import page  # noqa: PLC0415
    from hansard.pipeline.source import Source  # noqa: PLC0415

    source = Source.of(addresses)
    archive, root, html = directory / "archive", directory / "checkpoints", directory / "report.html"
    began_s = time.monotonic()
    went = Archiver(spark, source, str(archive)).catch_up()
    say(f"   archive      {went.rows:>9,} changes in Parquet, {_took(began_s)}")
    for name in TENANTS:
        began_s = time.monotonic()
        made = Checkpointer(spark, source, str(root), subject=Subject.of([f"tenant:{name}"])).run()
        say(f"   checkpoint   {made.made[0].end.rows:>9,} keys of tenant:{name}, {_took(began_s)}")
        _check(addresses, name)
    say("   Who starts from either one has what somebody has who has followed from the beginning.")
    began_s = time.monotonic()
    html.write_text(page(Reporter(spark, source, str(archive)).run()))
    say(f"   report       who writes how much, when and where, {_took(began_s)}: {html.as_uri()}")
    return html


def _check(addresses: Sequence[str], name: str) -> None:
    tag = f"tenant:{name}"
    with Client.connect(addresses) as client:
        boot = client.bootstrap(tags=[tag])
        loaded = {change.key: change.value for change in boot.state()}
        followed = {change.key: change.value for change in client.read(until=boot.bookmark, tags=[tag])}
        if loaded != followed:
            raise Broken(f"the checkpoint of {tag} is not what the log says")


def _took(began_s: float) -> str:
    return f"{time.monotonic() - began_s:.1f} s"
