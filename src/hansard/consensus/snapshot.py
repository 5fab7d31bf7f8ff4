"""A state cut into parts, for a participant whose log ends before ours begins.

It is of what is committed, so it is good in every later term, and a transfer that was interrupted goes on where it was
as long as the sender has the same state.
"""

from crc32c import crc32c
from msgspec import Struct

from .message import Collection, Part


class Snapshot(Struct, frozen=True):
    collection: Collection
    content: bytes
    part_bytes: int

    def part(self, term: int, round: int, number: int) -> Part:
        content = self.content[number * self.part_bytes : (number + 1) * self.part_bytes]
        return Part(term, round, self.collection, number, content)


def snapshot(end: int, term: int, content: bytes, part_bytes: int) -> Snapshot:
    total = -(-len(content) // part_bytes)
    return Snapshot(Collection(end, term, total, crc32c(content)), content, part_bytes)
