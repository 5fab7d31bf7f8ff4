"""A machine that keeps what an oracle wants to know: a chain of hashes over all facts, in their order."""

from collections import deque
from typing import Final

import msgspec
import xxhash
from msgspec import Struct

from hansard.consensus.content import Fact, Proposed

RECENT: Final = 10
_encode: Final = msgspec.msgpack.Encoder().encode


def chained(chain: int, index: int, fact: Fact) -> int:
    """The hash of everything up to this fact, given the one of everything before it."""
    return xxhash.xxh3_64_intdigest(_encode((chain, index, fact)))


class Kept(Struct, frozen=True, array_like=True):
    """What an image is of."""

    chain: int = 0
    count: int = 0
    recent: tuple[bytes, ...] = ()
    """The last things proposed: they make the image long enough to be cut into parts."""


class Recorder:
    def __init__(self) -> None:
        self.chain = 0
        self.count = 0
        self.recent: deque[bytes] = deque(maxlen=RECENT)

    def apply(self, index: int, fact: Fact) -> None:
        self.chain = chained(self.chain, index, fact)
        self.count += 1
        if isinstance(fact, Proposed):
            self.recent.append(fact.content)

    def image(self) -> bytes:
        return _encode(Kept(self.chain, self.count, tuple(self.recent)))

    def restore(self, image: bytes) -> None:
        kept = msgspec.msgpack.decode(image, type=Kept) if image else Kept()
        self.chain, self.count = kept.chain, kept.count
        self.recent = deque(kept.recent, maxlen=RECENT)
