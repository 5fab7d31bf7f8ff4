"""The machine of a scenario: a list of what was proposed, and of who came and went."""

from typing import assert_never

import msgspec

from hansard.consensus.content import Arrived, Departed, Fact, Moved, Proposed, Upgraded


class Register:
    def __init__(self) -> None:
        self.proposed: list[str] = []
        self.events: list[str] = []
        """Everything else."""

    def apply(self, index: int, fact: Fact) -> None:
        match fact:
            case Proposed():
                self.proposed.append(fact.content.decode())
            case Arrived():
                self.events.append(f"{fact.node} arrived as {fact.incarnation}")
            case Moved():
                self.events.append(f"{fact.node} moved to {fact.address}")
            case Departed():
                self.events.append(f"{fact.node} departed as {fact.incarnation}")
            case Upgraded():
                self.events.append(f"rules {fact.rules}")
            case _:
                assert_never(fact)

    def image(self) -> bytes:
        return msgspec.msgpack.encode((self.proposed, self.events))

    def restore(self, image: bytes) -> None:
        self.proposed, self.events = (
            msgspec.msgpack.decode(image, type=tuple[list[str], list[str]]) if image else ([], [])
        )
