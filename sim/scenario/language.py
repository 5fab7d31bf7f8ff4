"""The language of the phaser's scenarios."""

from collections.abc import Mapping
from typing import Final

from hansard.phaser import Settings
from hansard.phaser.government import Shape

from .chances import Chances
from .commands import perform
from .expectation import check
from .stage import Stage
from .transcript import Language


def _begin(shape: str, settings: Mapping[str, int], chances: Chances) -> Stage:
    return Stage(Shape(shape), Settings(**settings), chances)


def _conclude(stage: Stage) -> None:
    stage.kept_promises.at_the_end(stage)


PHASER: Final = Language(("star", "chain"), _begin, perform, check, _conclude)
