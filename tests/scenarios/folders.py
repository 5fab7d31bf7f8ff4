"""Where the scenarios are, and in which language those of each folder are written."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sim.atomic.scenario.language import ATOMIC
from sim.scenario.language import PHASER
from sim.scenario.transcript import Language, Scenario, parse

FOLDER: Final = Path(__file__).parent
LANGUAGES: Final[Mapping[str, Language[Any]]] = {"atomic": ATOMIC, "phaser": PHASER}
FILES: Final = sorted(FOLDER.glob("*/*.txt"))


def scenario_in(path: Path) -> Scenario:
    return parse(path.read_text(), LANGUAGES[path.parent.name])
