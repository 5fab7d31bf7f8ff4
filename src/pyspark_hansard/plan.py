"""Ranges of offsets as partitions: large ones are cut, small ones are read by one task. It does no IO, and depends on
nothing but what it is given: a batch that is planned again is the same batch."""

from collections.abc import Iterator, Sequence

from pyspark.sql.datasource import InputPartition

from .places import Range


class Share(InputPartition):
    """What one task reads."""

    def __init__(self, ranges: Sequence[Range], number: int) -> None:
        super().__init__(number)
        self.ranges = tuple(ranges)


def shares(ranges: Sequence[Range], rows_max: int) -> list[Share]:
    assert rows_max > 0
    groups: list[list[Range]] = []
    room = 0
    for piece in _pieces(ranges, rows_max):
        if not groups or piece.offsets > room:
            groups.append([])
            room = rows_max
        groups[-1].append(piece)
        room -= piece.offsets
    return [Share(group, number) for number, group in enumerate(groups)]


def _pieces(ranges: Sequence[Range], rows_max: int) -> Iterator[Range]:
    """Of nearly equal length, so that no task waits for another."""
    for whole in ranges:
        count = -(-whole.offsets // rows_max)
        for number in range(count):
            start = whole.start + whole.offsets * number // count
            end = whole.start + whole.offsets * (number + 1) // count
            yield whole._replace(start=start, end=end)
