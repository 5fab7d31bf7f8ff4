"""The rules of the house as tables: what each room may import, what it may not touch, and why.

A room is a folder or a module directly under src/hansard. A new room gets a row here before it gets code. The
exceptions that we allow ourselves are rows as well, each with its reason. The tables are read in rules.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Room:
    """What a room may import of ours, besides itself; None is everything."""

    imports: frozenset[str] | None
    why: str


def _room(why: str, *imports: str) -> Room:
    return Room(frozenset(imports), why)


ROOMS: Final[Mapping[str, Room]] = {
    "batch": _room("the format stands on its own, so that anything can read it"),
    "bookmark": _room("a place in a log means the same to whoever reads it, anywhere"),
    "checkpoint": _room("what records say is known wherever they are read, and depends on nothing else"),
    "storage": _room("it stores batches and knows nothing of who asked for it", "batch"),
    "application": _room("a state machine knows changes, and not where they are kept or who else has them", "batch"),
    "embedded": _room(
        "the log in one process needs neither network nor agreement", "application", "batch", "bookmark", "storage"
    ),
    "wire": _room("frames carry batches and say nothing of what becomes of them", "batch"),
    "consensus": _room("it agrees on bytes and keeps them in a store", "batch", "storage"),
    "distributor": _room("placement is arithmetic over names and numbers, and a hold is a bookmark", "bookmark"),
    "phaser": _room("it replicates batches; others store and send them", "application", "batch"),
    "participant": _room(
        "it composes the cores, and has no other room's business",
        *("application", "batch", "storage", "wire", "consensus", "distributor", "phaser"),
    ),
    "server": _room(
        "the shell drives the participant and speaks its vocabulary",
        *("participant", "batch", "bookmark", "checkpoint", "storage", "wire", "consensus", "distributor", "phaser"),
        "http",
    ),
    "http": _room(
        "it translates: cores decide, and what it has of the server is handed in",
        *("batch", "bookmark", "checkpoint", "client", "distributor", "participant", "phaser", "wire"),
    ),
    "client": _room("a client is installed without a server", "batch", "bookmark", "checkpoint", "wire"),
    "testing": _room(
        "a real cluster, reached as any user reaches it, and founded with settings of its own",
        *("server", "client", "participant", "phaser", "storage", "wire", "consensus", "distributor"),
    ),
    "pipeline": _room(
        "the jobs read and write as any client does, and through the data source",
        *("client", "batch", "bookmark", "checkpoint", "wire", "pyspark_hansard"),
    ),
    "console": _room("the page speaks to a server over HTTP only"),
    "pyspark_hansard": _room(
        "the Spark data source reads and submits as any client does", "client", "batch", "bookmark", "wire"
    ),
    "__init__": _room("what a user finds under `hansard.`", "application", "batch", "storage", "embedded", "client"),
    "__main__": _room("`python -m hansard` is the command", "cli"),
    "cli": Room(None, "commands reach every room"),
    "demo": Room(None, "the tour goes through every room"),
}

OUTSIDE: Final = ("sim", "tests", "bench")
"""Folders of this repository that are not installed, so that nothing which is installed may import them."""


_CLOCK = "time is a number that comes in"
_CHANCE = "randomness is an argument"
_SCHEDULE = "the order of events is the caller's to choose, or no simulation could repeat it"
_IO = "a core does no IO: it returns effects and its caller carries them out"

IMPURE: Final[Mapping[str, str]] = {
    "time": _CLOCK,
    "random": _CHANCE,
    "secrets": _CHANCE,
    "uuid": _CHANCE,
    "asyncio": _SCHEDULE,
    "concurrent": _SCHEDULE,
    "multiprocessing": _SCHEDULE,
    "threading": _SCHEDULE,
    "os": _IO,
    "pathlib": _IO,
    "select": _IO,
    "selectors": _IO,
    "shutil": _IO,
    "socket": _IO,
    "subprocess": _IO,
    "tempfile": _IO,
}

IMPURE_BUILTINS: Final[Mapping[str, str]] = {"input": _IO, "open": _IO, "print": _IO}


@dataclass(frozen=True, slots=True)
class Ban:
    """Modules that may not be imported, and builtins that may not be called, under some folders."""

    folders: tuple[str, ...]
    modules: Mapping[str, str]
    builtins: Mapping[str, str] = field(default_factory=dict)
    exempt: Mapping[str, str] = field(default_factory=dict)


_REAL_DISK: Final = {"src/hansard/storage/disk.py": "the real disk, beside which the simulator has its own"}

BANS: Final = (
    Ban(
        tuple(
            f"src/hansard/{core}"
            for core in (
                *("application", "batch", "bookmark", "checkpoint", "wire"),
                *("consensus", "distributor", "phaser", "participant"),
            )
        ),
        IMPURE,
        IMPURE_BUILTINS,
    ),
    Ban(
        ("src/hansard/storage",),
        {"asyncio": _SCHEDULE, "random": _CHANCE, "socket": "storage is local", "time": _CLOCK},
    ),
    Ban(
        ("src/hansard/storage",),
        {"os": "files are reached through the disk it is given, or no simulation could break them"},
        {"open": "files are reached through the disk it is given"},
        exempt=_REAL_DISK,
    ),
    Ban(
        ("sim",),
        {
            "os": "the disk is simulated: nothing is written and nothing of this machine is read",
            "secrets": _CHANCE,
            "threading": _SCHEDULE,
            "time": "the clock is simulated",
        },
        exempt={"sim/seeds.py": "it says to whoever waits how fast it goes"},
    ),
)

SEEDED: Final = ("sim",)
"""Where `random.Random(seed)` is allowed, and nothing else of random: one seed, one run."""

NO_NOUN: Final = ("util", "utils", "helper", "helpers", "manager", "managers", "common")
"""Names that say nothing: what is in such a module lives with its noun instead."""

FILE_LINES_MAX: Final = 400
FUNCTION_LINES_MAX: Final = 60

BROAD_EXCEPTS: Final[Mapping[tuple[str, str], str]] = {
    ("src/hansard/client/producer.py", "Producer._deliver"): "whatever became of a batch, whoever put it is told",
    (
        "src/hansard/embedded/attached.py",
        "Attached._apply",
    ): "somebody's application: what it raises is its own affair, and must not stop the log that others append to",
    (
        "src/hansard/embedded/attached.py",
        "Attached._taken",
    ): "the same: whoever happens to append when a state is to be kept has nothing to do with it",
    ("src/hansard/server/journal.py", "Journal._run"): "the top of a thread: whatever ended it ends the participant",
    (
        "src/hansard/server/node.py",
        "Node._try",
    ): "the top of the task: a turn not done to its end is the last",
    (
        "src/hansard/http/app.py",
        "App._route.endpoint",
    ): "the top of an operation: Starlette would answer it as text, and every error of the API is a problem",
    (
        "src/hansard/http/app.py",
        "App.__call__",
    ): "the top of a request: whoever asked is told that it failed, and the log says why",
    ("src/hansard/http/quick.py", "Quick.take"): "the same, where it comes in without a task of its own",
    ("src/hansard/http/quick.py", "Quick._answer"): "the same, where it is answered",
    (
        "src/hansard/http/quick.py",
        "Quick._follow_up",
    ): "the same, where its bucket was split; nobody waits for that task",
    (
        "src/hansard/server/shell.py",
        "Shell._try",
    ): "the top of the task: a turn not done to its end is the last",
    ("src/pyspark_hansard/feed.py", "Feed._run"): "the top of a thread: what ended it is raised by whoever reads",
}
"""Functions that catch everything, as (path, qualified name), and why: the top of a task, and little else."""

MACHINE_PATHS: Final = tuple(f"/{folder}/" for folder in ("work", "root"))
"""Folders of one particular machine: text that names them is of use on that machine only."""
