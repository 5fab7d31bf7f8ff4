"""A machine that keeps every fact, in order, and does nothing with them.

It stands in where no other machine is there yet, and is replaced by the distributor when that is: what it keeps is all
that any machine is ever told.
"""

import msgspec

from .content import Fact


class Facts:
    def __init__(self) -> None:
        self.told: list[tuple[int, Fact]] = []
        """With the indexes of the entries that they follow from."""

    def apply(self, index: int, fact: Fact) -> None:
        self.told.append((index, fact))

    def image(self) -> bytes:
        return msgspec.msgpack.encode(self.told) if self.told else b""

    def restore(self, image: bytes) -> None:
        self.told = msgspec.msgpack.decode(image, type=list[tuple[int, Fact]]) if image else []
