"""Whatever the crash draws, each byte and each name that it leaves has an explanation."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sim.crash import SECTOR_BYTES, arriving_runs, draw_survivors
from sim.disk import SimDisk

WRITES = st.tuples(st.integers(0, 1500), st.integers(1, 1500))


def possible_bytes(steps: list[tuple[int, int] | None]) -> list[set[int]]:
    """By position, what a crash may leave: what was there at the last sync, and whatever came after it.

    A step is a write of (position, length), filled with its own number, or None for a sync.
    """
    seen = bytearray()
    possible: list[set[int]] = []
    for number, step in enumerate(steps, start=1):
        if step is None:
            possible = [{byte} for byte in seen]
            continue
        position, length = step
        seen.extend(bytes(max(0, position + length - len(seen))))
        possible.extend({0} for _ in range(len(possible), len(seen)))
        seen[position : position + length] = bytes([number]) * length
        for index in range(position, position + length):
            possible[index].add(number)
    return possible


@given(st.lists(st.none() | WRITES, max_size=12), st.integers(0, 1 << 32))
def test_every_byte_found_was_synced_or_written_since(steps: list[tuple[int, int] | None], seed: int) -> None:
    disk, random = SimDisk(), Random(seed)
    file = disk.open("a", create=True)
    disk.sync_folder("")
    setup_count = disk.operation_count
    durable_size = 0
    for number, step in enumerate(steps, start=1):
        if step is None:
            file.sync()
            durable_size = file.size()
        else:
            file.write(step[0], [bytes([number]) * step[1]])
        possible = possible_bytes(steps[:number])
        for _ in range(5):
            found = disk.crashed(setup_count + number, random).files()["a"]
            assert durable_size <= len(found) <= len(possible)
            assert all(byte in allowed for byte, allowed in zip(found, possible, strict=False))


@given(st.integers(0, 5000), st.integers(1, 20_000), st.integers(0, 1 << 32))
def test_a_torn_write_arrives_in_part_and_within_its_bounds(position: int, length: int, seed: int) -> None:
    end = position + length
    runs = arriving_runs(position, end, Random(seed))
    assert all(position <= start <= stop <= end for start, stop in runs)
    assert sum(stop - start for start, stop in runs) < length
    assert all(start % SECTOR_BYTES == 0 for start, _ in runs if start != position)
    edges = [edge for run in runs for edge in run]
    assert edges == sorted(edges)


def test_survivors_are_drawn_at_the_extremes_as_often_as_between() -> None:
    numbers = list(range(20))
    drawn = [list(draw_survivors(numbers, Random(seed))) for seed in range(1000)]
    for extreme in (numbers, [], numbers[-1:], numbers[1:]):
        assert drawn.count(extreme) > 100
    between = [draw for draw in drawn if 1 < len(draw) < 19]
    assert len(between) > 100
    assert all(draw == sorted(draw) for draw in between)
