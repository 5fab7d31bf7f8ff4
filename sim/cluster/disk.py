"""The disk of a node: one part for the atomic log and one for each bucket, written in one order and synced together.

A crash leaves a prefix of what was not synced, over all parts: they share a journal.
"""

from collections import deque
from collections.abc import Mapping
from random import Random
from typing import cast

from msgspec import Struct

from hansard.consensus.effect import Write as LogWrite
from hansard.participant.copies import Standing
from hansard.participant.effect import ATOMIC, Drop, Load, Persist
from hansard.participant.event import Event, Loaded, Persisted
from hansard.phaser.effect import Write
from sim.atomic.vault import Vault, pieces
from sim.world.vault import Image, ModelVault


class Copy(Image):
    """What a disk holds of a bucket, until it is dropped."""

    __slots__ = ()

    def clear(self) -> None:
        self.batches.clear()
        self.documents.clear()
        self.start, self.note = 0, b""

    def copy(self) -> "Copy":
        other = Copy()
        other.batches, other.start, other.note = self.batches.copy(), self.start, self.note
        other.documents = self.documents.copy()
        return other

    @property
    def empty(self) -> bool:
        return not (self.batches or self.start or self.note or self.documents)


class Part(ModelVault):
    def __init__(self) -> None:
        super().__init__()
        self.synced: Copy = Copy()
        self.current: Copy = Copy()

    def lose_unsynced(self) -> None:
        self.pending.clear()
        self.current = self.synced.copy()


class Operation(Struct, frozen=True):
    number: int
    part: int
    writes: tuple[Write, ...] | tuple[LogWrite, ...]
    drops: bool
    done: Event | None
    """Said when it is synced; of a `Loaded` what was found is filled in then."""


class Disk:
    def __init__(self, *, lazy: bool) -> None:
        self.atomic = Vault(lazy=lazy)
        self.parts: dict[int, Part] = {}
        self.pending: deque[Operation] = deque()
        self.number = 0
        """Of the last operation."""
        self.dropped = 0

    def part(self, bucket: int) -> Part:
        if bucket not in self.parts:
            self.parts[bucket] = Part()
        return self.parts[bucket]

    # Writing.

    def carry_out(self, effect: Persist | Load | Drop) -> None:
        """Begin to. What is written of a bucket can be read at once."""
        self.number += 1
        match effect:
            case Persist(part=part, writes=writes):
                persisted = Persisted(part, effect.generation, effect.ticket)
                self.pending.append(Operation(self.number, part, writes, False, persisted))
                if part == ATOMIC:
                    self.atomic.write(self.number, cast("tuple[LogWrite, ...]", writes))
                else:
                    self.part(part).write(self.number, cast("tuple[Write, ...]", writes))
            case Drop(bucket=bucket):
                self.pending.append(Operation(self.number, bucket, (), True, None))
                self.part(bucket).current.clear()
            case Load(bucket=bucket, generation=generation):
                recovered = self.part(bucket).recover()
                self.pending.append(Operation(self.number, bucket, (), False, Loaded(bucket, generation, recovered)))

    def sync(self, number: int) -> list[Event]:
        """Everything up to this operation is on disk; what there is to say of it."""
        said: list[Event] = []
        while self.pending and self.pending[0].number <= number:
            operation = self.pending.popleft()
            if operation.drops:
                self.part(operation.part).synced.clear()
                self.dropped += 1
            elif operation.part == ATOMIC:
                self.atomic.sync(operation.number)
            else:
                self.part(operation.part).sync(operation.number)
            if operation.done is not None:
                said.append(operation.done)
        return said

    def crash(self, random: Random) -> int:
        """Lose what is not on disk, all of it or a part. Says how many writes were lost."""
        unsynced: list[tuple[Operation, Write | LogWrite | None]] = []
        for operation in self.pending:
            if operation.part == ATOMIC:
                unsynced += [(operation, one) for one in pieces(cast("tuple[LogWrite, ...]", operation.writes))]
            else:
                unsynced += [(operation, one) for one in operation.writes]
                unsynced += [(operation, None)] * operation.drops
        kept = random.randint(0, len(unsynced))
        for operation, write in unsynced[:kept]:
            if operation.part == ATOMIC:
                self.atomic.synced.apply(cast("LogWrite", write))
            elif write is None:
                self.part(operation.part).synced.clear()
            else:
                self.part(operation.part).synced.apply(cast("Write", write))
        self.pending.clear()
        self.atomic.pending.clear()
        if random.random() < 0.5:
            self.atomic.synced.forget(self.atomic.synced.trimmed)
        for part in self.parts.values():
            part.lose_unsynced()
        return len(unsynced) - kept

    # Reading.

    def shelf(self) -> Mapping[int, Standing]:
        """What a node that starts finds of buckets."""
        found: dict[int, Standing] = {}
        for bucket in sorted(self.parts):
            part = self.parts[bucket]
            if not part.synced.empty:
                standing = part.synced_standing()
                found[bucket] = Standing(standing.counted, standing.expanded, standing.end)
        return found
