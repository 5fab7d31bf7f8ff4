"""The distributor as the machine of the atomic log."""

from typing import assert_never

from hansard.consensus import content
from hansard.distributor import command, fact
from hansard.distributor.distributor import Distributor
from hansard.distributor.member import Member


class Machine:
    def __init__(self, distributor: Distributor) -> None:
        self._distributor = distributor

    def apply(self, index: int, told: content.Fact) -> None:  # noqa: ARG002 - other machines keep it
        translated = _translated(told)
        if translated is not None:
            self._distributor.apply(translated)

    def image(self) -> bytes:
        return self._distributor.image()

    def restore(self, image: bytes) -> None:
        self._distributor.restore(image)


def _translated(told: content.Fact) -> fact.Fact | None:
    """None for what is not the distributor's affair, or not a command that anybody knows."""
    match told:
        case content.Arrived():
            return fact.Arrived(Member(told.node, told.incarnation), told.zone, fact.decode(told.inventory))
        case content.Moved():
            return fact.Moved(Member(told.node, told.incarnation), told.zone)
        case content.Departed():
            return fact.Departed(Member(told.node, told.incarnation))
        case content.Upgraded():
            return fact.Upgraded(told.rules)
        case content.Proposed():
            proposed = command.decode(told.content)
            return fact.Proposed(Member(told.node, told.incarnation), proposed) if proposed is not None else None
        case _:
            assert_never(told)
