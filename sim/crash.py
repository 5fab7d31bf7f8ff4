"""What a crash of the machine leaves of a platter: all that is durable, and any part of what is pending.

Any part, whatever the order: nothing orders unsynced writes on their way to a disk. But choices drawn evenly
would hardly ever meet the cases that break programs, so the extremes are drawn on purpose: everything,
nothing, only the last, all but the first.

- A write that survives may be torn: some runs of its sectors arrive, and the last sector may arrive in part.
- Where a lost write would have grown the file, there may be zeros, or the file may be shorter.
- Of the operations on names, those on the same name survive in order; a subset closed in this way is what
  some order of writing back could have left. So no file is lost by a rename of which only one half happened.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from sim.pages import Pages
from sim.platter import (
    Content,
    PendingNaming,
    Platter,
    Standing,
    Truncate,
    Write,
    apply_change,
    apply_naming,
    paths_of,
)

SECTOR_BYTES = 512


@dataclass(frozen=True, slots=True)
class Damage:
    """How one crash treats pending changes. Numbers are looked up, never iterated over."""

    survivors: frozenset[int]
    torn_number: int | None  # the operation that the crash interrupted
    torn_share: float  # of the surviving writes
    zeros_share: float  # of the lost extensions that leave zeros behind


def crash(platter: Platter, random: Random) -> Platter:
    """The platter found afterwards, on which everything is durable."""
    damage = _damage(platter, random)
    names = surviving_names(platter, damage.survivors)
    contents: dict[int, Content] = {}
    for inode in dict.fromkeys(names.values()):  # one file may have several names
        left = surviving_bytes(platter.contents[inode], damage, random)
        contents[inode] = Content(left, left, [])
    return Platter(platter.folders.copy(), names, names.copy(), [], contents)


def _damage(platter: Platter, random: Random) -> Damage:
    groups = [[entry.number for entry in platter.pending_names]]
    groups += [[entry.number for entry in content.pending] for content in platter.contents.values()]
    if random.random() < 0.5:
        # One fate for the whole disk; otherwise each file, and the names, have their own.
        groups = [sorted(number for group in groups for number in group)]
    survivors = frozenset(number for group in groups for number in draw_survivors(group, random))
    return Damage(
        survivors,
        torn_number=platter.operation_count if random.random() < 0.5 else None,
        torn_share=random.choice((0.0, 0.3, 1.0)),
        zeros_share=random.choice((0.0, 0.5, 1.0)),
    )


def draw_survivors(numbers: Sequence[int], random: Random) -> Sequence[int]:
    match random.randrange(5):
        case 0:
            return numbers
        case 1:
            return ()
        case 2:
            return numbers[-1:]
        case 3:
            return numbers[1:]
        case _:
            share = random.random()
            return [number for number in numbers if random.random() < share]


def surviving_names(platter: Platter, survivors: frozenset[int]) -> dict[str, int]:
    names = platter.durable_names.copy()
    blocked: set[str] = set()  # names of which an operation was lost, and with it all later ones

    def survives(entry: PendingNaming) -> bool:
        return entry.number in survivors and blocked.isdisjoint(paths_of(entry.naming))

    for entry in platter.pending_names:
        if survives(entry):
            apply_naming(names, entry.naming)
        else:
            blocked.update(paths_of(entry.naming))
    return names


def surviving_bytes(content: Content, damage: Damage, random: Random) -> Pages:
    if not content.pending:
        return content.durable
    left = content.durable.copy()
    safe_length = len(left)  # not below the size that some sync made durable
    for number, change, standing in content.pending:
        settled = standing is Standing.SETTLED
        if not isinstance(change, Write):
            if settled or number in damage.survivors:
                apply_change(left, change)
                if settled and isinstance(change, Truncate):
                    safe_length = change.length
            continue
        if settled:
            safe_length = max(safe_length, change.end)
            apply_change(left, change)
        elif number == damage.torn_number:
            _tear(left, change, damage, random)
        elif number not in damage.survivors:
            _lose(left, change, damage, random)
        elif random.random() < damage.torn_share:
            _tear(left, change, damage, random)
        else:
            apply_change(left, change)
    if len(left) > safe_length and damage.torn_share and random.random() < 0.25:
        # The bytes arrived, the new size did not, or not all of it.
        left.resize(random.choice((safe_length, random.randrange(safe_length, len(left)))))
    return left


def _lose(left: Pages, write: Write, damage: Damage, random: Random) -> None:
    if write.end > len(left) and random.random() < damage.zeros_share:
        left.resize(write.end)


def _tear(left: Pages, write: Write, damage: Damage, random: Random) -> None:
    data = memoryview(write.data)
    for start, end in arriving_runs(write.position, write.end, random):
        left.write(start, data[start - write.position : end - write.position])
    _lose(left, write, damage, random)


def arriving_runs(position: int, end: int, random: Random) -> list[tuple[int, int]]:
    """The parts of a torn write from `position` to `end` that arrive, as (start, end) in the file."""
    first_sector = position // SECTOR_BYTES
    sector_count = (end - 1) // SECTOR_BYTES - first_sector + 1
    if sector_count == 1:
        return [(position, random.randrange(position, end))]
    # A few cuts make runs that arrive and fail in turn; eight are any subset of nine sectors.
    cut_count = min(sector_count - 1, random.choice((1, 1, 2, 3, 8)))
    cuts = sorted(random.sample(range(1, sector_count), cut_count))
    edges = [position, *((first_sector + cut) * SECTOR_BYTES for cut in cuts), end]
    runs = list(pairwise(edges))[random.randrange(2) :: 2]
    if random.random() < 0.3:
        start, last_end = runs[-1]
        runs[-1] = (start, last_end - random.randrange(min(SECTOR_BYTES, last_end - start)))
    return runs
