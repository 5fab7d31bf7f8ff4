"""Whether the partitions of a batch are the same in several runs of it; no IO.

A query that is started again runs its unfinished batch again. If it is cut into partitions in another way then, rows
that are stored already come again in a partition of which nothing is stored, and nobody would notice. A task is not
told how many partitions there are, and the same number of them may be cut elsewhere; so it is by their content that
partitions are compared.

What is stored is what records that bind say, of each partition the first one. Of two runs that both have the rows of
one partition, whatever else one of them has is not in that partition in the other one either: the rows of the batch are
the same, and each is in one partition. So a partition may be stored if some run has it as it is **and has all others
that are bound as they are bound**: then it has no row in common with any of them.
"""

from collections.abc import Iterable

from msgspec import Struct


class Record(Struct, frozen=True):
    batch: int
    rows: int
    digest: str
    connection: int
    """0 where nothing is stored by it."""
    granted_s: float
    """When the number was first used, by somebody's clock."""
    partition: int = 0
    run: str = ""
    """Of the query, or of the job: the same for all tasks and attempts of it."""
    binds: bool = True
    """It says what is stored; and not only what a run was given."""

    @property
    def content(self) -> tuple[int, str]:
        return self.rows, self.digest


def missing(records: Iterable[Record], mine: Record) -> list[int]:
    """The partitions that are bound, and of which no run that has ours as it is has shown yet that they are the same in
    it; as seen from the run that is nearest to it. `records` are those of one batch, of each partition in order. What
    has no rows is nobody's hindrance."""
    if not mine.rows:
        return []
    bound: dict[int, Record] = {}
    seen: dict[str, set[tuple[int, tuple[int, str]]]] = {mine.run: set()}
    for record in records:
        if record.binds:
            bound.setdefault(record.partition, record)
        seen.setdefault(record.run, set()).add((record.partition, record.content))
    seen[mine.run].add((mine.partition, mine.content))
    bound.pop(mine.partition, None)
    wanted = {(partition, first.content) for partition, first in bound.items() if first.rows}
    alike = [shown for shown in seen.values() if (mine.partition, mine.content) in shown]
    lacking = [sorted(partition for partition, _ in wanted - shown) for shown in alike]
    return min(lacking, key=len)
