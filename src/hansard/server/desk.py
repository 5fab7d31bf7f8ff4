"""Where operators' questions are answered (admin.py), as the reception knows it."""

from collections.abc import Callable
from typing import Protocol

from hansard.participant.effect import AnswerCommand, AnswerHold

from .grant import Grant


class Desk(Protocol):
    def ask(
        self, question: bytes, told: Callable[[bytes], None], refused: Callable[[str], None], grant: Grant
    ) -> None: ...

    def is_for_all(self, question: bytes) -> bool: ...

    def answered(self, answer: AnswerCommand) -> None: ...

    def held(self, answer: AnswerHold) -> None: ...
