"""What the commands of `hansard pipeline` share: a session on the master that is wanted, how far its tasks are, and
what becomes of Spark's errors.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated, Final, Self

import typer

from .failure import fail
from .reach import Reach

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.progress import Progress, TaskID

    from hansard.pipeline.source import Source

LOCAL: Final = "local[*]"
LOOK_S: Final = 0.2
NEEDED: Final = "Java 17 or 21"

Master = Annotated[
    str,
    typer.Option(
        metavar="MASTER", help='Where Spark runs: "local[*]" is this process, else any master that Spark knows.'
    ),
]
Root = Annotated[
    str, typer.Argument(metavar="ARCHIVE", help="Its folder: any path that Spark reads.", show_default=False)
]


@contextmanager
def sparking(master: str) -> "Iterator[tuple[SparkSession, Shown]]":
    """A session, and where to say what is done; ends the command with one line where Spark cannot, or there is none."""
    try:
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # noqa: PLC0415
        from pyspark.errors import PySparkException  # noqa: PLC0415

        from hansard.pipeline.session import session  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in ("pyspark", "py4j", "pandas"):
            raise
        raise fail(f'the pipeline needs Apache Spark: pip install "hansard[spark]", and {NEEDED}') from error
    try:
        spark = session(master)
    except (PySparkException, OSError, RuntimeError) as error:
        raise fail(f"Spark does not start on {master}: {first_line(error)}; it needs {NEEDED}") from error
    try:
        with Shown(spark) as shown:
            yield spark, shown
    except (PySparkException, Py4JJavaError) as error:
        raise fail(f"Spark has failed: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    """What Spark says comes with pages of where it was."""
    lines = [line.strip(" :") for line in str(error).splitlines()]
    said = [line for line in lines if line and not line.startswith("An error occurred while calling")]
    return said[0] if said else type(error).__name__


def source_of(where: Reach) -> "Source":
    from hansard.pipeline.source import Source  # noqa: PLC0415

    return Source(where.addresses, where.token, where.ca)


class Shown:
    """How many tasks of Spark are done of those that are known, on stderr, where that is a terminal."""

    def __init__(self, spark: "SparkSession") -> None:
        self._tracker = spark.sparkContext.statusTracker()
        self._over = Event()
        self._what = "starting"
        self._thread: Thread | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._thread = Thread(target=self._show, name="progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def say(self, what: str) -> None:
        """What is being done from now on."""
        self._what = what

    def _show(self) -> None:
        from rich.console import Console  # noqa: PLC0415

        from .bar import task_bar  # noqa: PLC0415

        with task_bar(Console(stderr=True)) as bar:
            task = bar.add_task(self._what, total=None)
            while not self._over.wait(LOOK_S):
                self._look(bar, task)

    def _look(self, bar: "Progress", task: "TaskID") -> None:
        done = total = 0
        with suppress(OSError):
            for stage in self._tracker.getActiveStageIds():
                info = self._tracker.getStageInfo(stage)
                if info is not None:
                    done, total = done + info.numCompletedTasks, total + info.numTasks
        bar.update(task, description=self._what, completed=done, total=total or None)
