"""The language of the atomic log's scenarios."""

from collections.abc import Mapping
from typing import Final

from hansard.consensus.settings import Settings
from sim.scenario.chances import Chances
from sim.scenario.transcript import Language

from .commands import perform
from .expectation import check
from .stage import Stage


def _begin(_: str, settings: Mapping[str, int], chances: Chances) -> Stage:
    return Stage(Settings(**settings), chances)


def _conclude(_: Stage) -> None:
    """Everything was checked when it happened."""


ATOMIC: Final = Language(("",), _begin, perform, check, _conclude)
