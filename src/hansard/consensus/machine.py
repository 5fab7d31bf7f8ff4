"""What is on top of the atomic log: a pure function of its facts.

Everybody's machine is told the same facts in the same order, so all of them are in the same state at the same index.
What a machine computes must follow from that alone. Its rules have a version, `Roster.rules`, that every machine is
told of by the fact `Upgraded`; before that fact it follows the old rules, everywhere.
"""

from typing import Protocol

from .content import Fact


class Machine(Protocol):
    def apply(self, index: int, fact: Fact) -> None: ...

    def image(self) -> bytes:
        """All of it, for `restore`. The same state has the same image. Together with the roster it must stay below the
        64 MiB that a document of the storage may have."""
        ...

    def restore(self, image: bytes) -> None:
        """From an image; an empty one is the state before any fact."""
        ...
