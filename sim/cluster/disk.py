"""The disk of a node: one part for the atomic log and one for each bucket, written in one order and synced together.

A crash leaves a prefix of what was not synced, over all parts: they share a journal. A fork is there or not.
"""

from collections import deque
from collections.abc import Mapping
from random import Random
from typing import cast

from msgspec import Struct

from hansard.batch import Batch
from hansard.bookmark import parent
from hansard.consensus.effect import Write as LogWrite
from hansard.participant.copies import Standing, shelved
from hansard.participant.effect import ATOMIC, Drop, Fork, Load, Persist
from hansard.participant.event import Event, Loaded, Persisted
from hansard.phaser.effect import Write
from hansard.phaser.recovered import Standing as Found
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
        self.spoiled = False
        """Nobody can say what it has."""

    def lose_unsynced(self) -> None:
        self.pending.clear()
        self.current = self.synced.copy()


class Operation(Struct, frozen=True):
    number: int
    part: int
    writes: tuple[Write, ...] | tuple[LogWrite, ...] = ()
    whole: Drop | Fork | None = None
    """What is done to the part as a whole."""
    done: Event | None = None
    """Said when it is synced."""


class Disk:
    def __init__(self, *, lazy: bool) -> None:
        self.atomic = Vault(lazy=lazy)
        self.parts: dict[int, Part] = {}
        self.pending: deque[Operation] = deque()
        self.number = 0
        """Of the last operation."""
        self.decayed: dict[int, tuple[int, tuple[Batch, ...]]] = {}
        """Entries that cannot be read, with the number of the damage (decay.py)."""
        self.dropped = 0
        self.torn = 0
        """Crashes between a fork and the first thing that was to be written after it."""

    def part(self, bucket: int) -> Part:
        if bucket not in self.parts:
            self.parts[bucket] = Part()
        return self.parts[bucket]

    # Writing.

    def carry_out(self, effect: Persist | Load | Drop | Fork) -> None:
        """Begin to. What is written of a bucket can be read at once."""
        self.number += 1
        match effect:
            case Persist(part=part, writes=writes):
                persisted = Persisted(part, effect.generation, effect.ticket)
                self.pending.append(Operation(self.number, part, writes, done=persisted))
                if part == ATOMIC:
                    self.atomic.write(self.number, cast("tuple[LogWrite, ...]", writes))
                else:
                    self.part(part).write(self.number, cast("tuple[Write, ...]", writes))
            case Drop(bucket=bucket):
                self.pending.append(Operation(self.number, bucket, whole=effect))
                self.part(bucket).current.clear()
            case Fork(parent=parent, child=child):
                self.pending.append(Operation(self.number, child, whole=effect))
                forked = self.part(child)
                assert forked.current.empty, f"bucket {child} is there already"
                forked.current = self.part(parent).current.copy()
            case Load(bucket=bucket, generation=generation):
                loaded = Loaded(bucket, generation, self.part(bucket).recover())
                self.pending.append(Operation(self.number, bucket, done=loaded))

    def sync(self, number: int) -> list[Event]:
        """Everything up to this operation is on disk; what there is to say of it."""
        said: list[Event] = []
        while self.pending and self.pending[0].number <= number:
            operation = self.pending.popleft()
            if operation.whole is not None:
                self._settle(operation.whole)
                self.dropped += isinstance(operation.whole, Drop)
            elif operation.part == ATOMIC:
                self.atomic.sync(operation.number)
            else:
                self.part(operation.part).sync(operation.number)
            if operation.done is not None:
                said.append(operation.done)
        return said

    def _settle(self, whole: Drop | Fork) -> None:
        """It is on disk."""
        if isinstance(whole, Fork):
            self.part(whole.child).synced = self.part(whole.parent).synced.copy()
        else:
            self.part(whole.bucket).synced.clear()
            self.part(whole.bucket).spoiled = False

    def crash(self, random: Random) -> int:
        """Lose what is not on disk, all of it or a part. Says how many writes were lost."""
        unsynced: list[tuple[Operation, Write | LogWrite | None]] = []
        for operation in self.pending:
            if operation.part == ATOMIC:
                unsynced += [(operation, one) for one in pieces(cast("tuple[LogWrite, ...]", operation.writes))]
            else:
                unsynced += [(operation, one) for one in operation.writes]
                unsynced += [(operation, None)] * (operation.whole is not None)
        kept = random.randint(0, len(unsynced))
        for operation, write in unsynced[:kept]:
            if operation.whole is not None:
                self._settle(operation.whole)
            elif operation.part == ATOMIC:
                self.atomic.synced.apply(cast("LogWrite", write))
            else:
                self.part(operation.part).synced.apply(cast("Write", write))
        self.torn += 0 < kept < len(unsynced) and isinstance(unsynced[kept - 1][0].whole, Fork)
        self.pending.clear()
        self.atomic.pending.clear()
        if random.random() < 0.5:
            self.atomic.synced.forget(self.atomic.synced.trimmed)
        for part in self.parts.values():
            part.lose_unsynced()
        return len(unsynced) - kept

    @property
    def forking(self) -> bool:
        return any(isinstance(operation.whole, Fork) for operation in self.pending)

    # Reading.

    def shelf(self) -> Mapping[int, Standing]:
        """What a node that starts finds of buckets."""
        return {
            bucket: shelved(bucket, Found(0, 0, 0) if part.spoiled else part.synced_standing(), intact=not part.spoiled)
            for bucket, part in sorted(self.parts.items())
            if not part.synced.empty
        }

    def evidence(self, bucket: int) -> Part:
        """What there is of a bucket: its copy; or one of the bucket that it was split off from, which was not split
        here yet and has all that the half has."""
        ancestor = bucket
        while ancestor and self._absent(ancestor):
            ancestor = parent(ancestor)
        part = self.part(ancestor)
        return part if bucket % shelved(ancestor, part.synced_standing()).level == ancestor else self.part(bucket)

    def _absent(self, bucket: int) -> bool:
        return bucket not in self.parts or self.parts[bucket].synced.empty
