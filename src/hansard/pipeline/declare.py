"""A declarative pipeline of the log's changes, as a folder for `spark-pipelines run`: its description, with a cluster
and places filled in, and the tables, for its user to go on from. What ships is in declared/."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

DECLARED: Final = Path(__file__).with_name("declared")
SPEC: Final = "spark-pipeline.yml"
TABLES: Final = "transformations/tables.py"
SETTINGS: Final = {
    "spark.sql.catalogImplementation": "hive",  # a catalog that is gone after a run would refuse the next one
    "spark.ui.enabled": "false",
}


STEPS: Final = ("changes", "latest")
"""Tables, each brought up to date by a run of its own: in one run the second would be made of the first as that was
when the run began."""


class Declared(NamedTuple):
    folder: Path
    commands: list[list[str]]
    """Bring the tables up to date, one after the other."""

    def __str__(self) -> str:
        return " &&\n".join(map(shlex.join, self.commands))


class NotDeclared(Exception):
    """Why nothing was written."""


def declare(folder: Path, endpoints: Sequence[str], *, tenants: str = "tenant:", ca: str = "") -> Declared:
    folder = folder.absolute()
    if any(sign.isspace() or sign in "'\"\\" for sign in str(folder)):
        raise NotDeclared(f"settings of Java cannot name {folder}: take a folder without blanks and quotes in its path")
    there = [name for name in (SPEC, TABLES) if (folder / name).exists()]
    if there:
        raise NotDeclared(f"{folder / there[0]} is there already, and is left as it is: take another folder")
    text = (DECLARED / SPEC).read_text()
    filled = {
        "file:///srv/hansard/storage": (folder / "storage").as_uri(),
        "127.0.0.1:7301": ",".join(endpoints),
        '"tenant:"': _quoted(tenants),
        "hansard.hold: declared": f"hansard.hold: {_quoted(f'declared-{folder.name}')}",
    }
    for usual, mine in filled.items():
        assert text.count(usual) == 1, usual
        text = text.replace(usual, mine)
    if ca:
        text += f"  hansard.ca: {_quoted(ca)}\n"
    (folder / TABLES).parent.mkdir(parents=True, exist_ok=True)
    (folder / TABLES).write_text((DECLARED / TABLES).read_text())
    (folder / SPEC).write_text(text)
    return Declared(folder, [command(folder, table) for table in STEPS])


def command(folder: Path, table: str) -> list[str]:
    """The catalog and the tables lie in the folder, wherever it is run from. There is no room for more settings:
    PySpark 4.3 hands over ten, Spark's own among them, and of more than ten only the last ones."""
    settings = {
        **SETTINGS,
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder / 'catalog'}",
    }
    said = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    return ["spark-pipelines", "run", "--spec", str(folder / SPEC), "--refresh", table, *said]


def _quoted(text: str) -> str:
    """For YAML, where a single quote stands for itself when it is doubled."""
    return "'" + text.replace("'", "''") + "'"
