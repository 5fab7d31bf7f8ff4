"""The state at a committed offset, cut into parts, for a copy that begins anew.

It is of what is committed, so it is good in every later term too: a transfer that a new government interrupts goes on
where it was, as long as the same leader has it and its log still goes back to where the copy is to begin.
"""

from crc32c import crc32c
from msgspec import Struct

from .government import Term
from .message import Collection, Part


class Snapshot(Struct, frozen=True):
    collection: Collection
    content: bytes
    part_bytes: int

    def part(self, term: Term, number: int) -> Part:
        content = self.content[number * self.part_bytes : (number + 1) * self.part_bytes]
        return Part(term, self.collection, number, content)


def snapshot(offset: int, start: int, start_term: Term, content: bytes, part_bytes: int) -> Snapshot:
    total = -(-len(content) // part_bytes)
    return Snapshot(Collection(offset, start, start_term, total, crc32c(content)), content, part_bytes)
