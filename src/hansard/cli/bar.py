"""Progress bars. Apart from progress.py, so that only a command which shows one loads what draws it."""

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text


class RateColumn(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:,.0f}/s")


def byte_bar(console: Console) -> Progress:
    """For so many bytes of a known total."""
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    return Progress(TextColumn("{task.description}"), *columns, console=console, transient=True)


def counter(console: Console, unit: str, *, redirect_stdout: bool) -> Progress:
    """For so many of something, nobody knows of how many."""
    columns = (SpinnerColumn(), TextColumn(f"{{task.completed:,}} {unit}"), RateColumn())
    return Progress(
        TextColumn("{task.description}"),
        *columns,
        console=console,
        transient=True,
        redirect_stdout=redirect_stdout,
        redirect_stderr=False,
    )


def count_bar(console: Console, unit: str) -> Progress:
    """For so many of a known number."""
    columns = (BarColumn(), TextColumn(f"{{task.completed:,}} {unit}"), RateColumn())
    return Progress(TextColumn("{task.description}"), *columns, console=console, disable=not console.is_terminal)


def task_bar(console: Console) -> Progress:
    """For tasks of Spark, of which more may come."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, console=console, transient=True)
