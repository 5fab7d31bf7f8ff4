"""Every crash of a store's life: at each operation of the disk, with many draws of what was lost, recovered again and
again while recovery itself is interrupted.

`python -m sim.crashes --lives 200` looks at that many lives. A failure names the seed that shows it again.
"""

import sys
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from hansard.batch import Batch, tag_name
from hansard.storage.errors import NoStore, StorageError
from hansard.storage.reading import Query
from hansard.storage.scrub import scrub
from hansard.storage.store import Store, open_store
from sim.disk import SimDisk
from sim.history import BUCKETS, IDENTITY, SETTINGS, TAGS, Content, Held, History, Row, content_of, rows_of

STEPS = 40
FORKING_LIVES = 1_000
"""Lives from this one on fork buckets too."""
VIEWS_SHARE = 0.2
"""Of the crashes, how many are read back in every way; all are read forwards."""


class Crash(NamedTuple):
    """One crash of one life: enough to show it again."""

    life: int
    at: int
    draw: int

    def __str__(self) -> str:
        return f"life {self.life}, crash after operation {self.at}, draw {self.draw}"


def lived(life: int, steps: int = STEPS) -> History:
    history = History(SimDisk(), Random(f"life {life}"), forks=life >= FORKING_LIVES)
    history.live(steps)
    return history


def check_crash(history: History, crash: Crash) -> int:
    """The crash, then a recovery that may itself be interrupted, any number of times. Returns how often it was."""
    random = Random(str(crash))
    process_only = random.random() < 0.2
    disk = history.disk.restarted(crash.at) if process_only else history.disk.crashed(crash.at, random)
    possible, interruptions = history.possible(crash.at), 0
    while random.random() < 0.4:
        store = reopened(disk, possible, crash)
        at = random.randint(0, disk.operation_count)
        if at == disk.operation_count:  # recovery came to its end, so what it found was seen
            possible = [found(store, possible, crash)]
            further = History(disk, random, store, possible[0], forks=history.forks)
            further.live(random.randrange(4))
            at = random.randint(further.moments[0].acknowledged or 0, disk.operation_count)
            possible = further.possible(at)
        disk = disk.crashed(at, random)
        interruptions += 1
    store = reopened(disk, possible, crash)
    content = found(store, possible, crash)
    if random.random() < VIEWS_SHARE:
        check_views(store, content, crash)
    return interruptions


def reopened(disk: SimDisk, possible: list[Content], crash: Crash) -> Store:
    try:
        return open_store(disk, expect=IDENTITY, settings=SETTINGS)
    except NoStore:
        assert not any(held.is_there for content in possible[:1] for held in content), f"{crash}: the store is gone"
        return open_store(disk, create=IDENTITY, settings=SETTINGS)


def found(store: Store, possible: list[Content], crash: Crash) -> Content:
    """What the store holds, which must be one of the possible contents."""
    assert not store.damage, f"{crash}: reports damage: {store.damage}"
    content = content_of(store)
    assert content in possible, f"{crash}: {difference(content, possible)}"
    return content


def check_views(store: Store, content: Content, crash: Crash) -> None:
    """Every other way of reading gives the same: backwards, by tag, by time; and a scrub finds nothing wrong."""
    for bucket in range(BUCKETS):
        rows = content[bucket].rows
        backwards = [row for batch in store.scan(bucket, Query(descending=True)) for row in _offsets_down(batch)]
        assert backwards == [row[0] for row in reversed(rows)], f"{crash}: backwards, bucket {bucket}"
        for tag in TAGS:
            query = Query(tags=frozenset([tag_name(tag)]))
            tagged = [change.offset for batch in store.scan(bucket, query) for change in batch.changes()]
            assert tagged == [row[0] for row in rows if tag in row[4]], f"{crash}: tag {tag}, bucket {bucket}"
        if rows:
            time = rows[len(rows) // 2][1]
            first = next(row[0] for row in rows if row[1] >= time)
            assert store.offset_since(bucket, time) == first, f"{crash}: by time, bucket {bucket}"
        assert tuple(_copied(store, bucket)) == rows, f"{crash}: as whole batches, bucket {bucket}"
    report = scrub(store, deep=True)
    assert not report.damage, f"{crash}: the scrub found {report.damage}"
    assert report.changes == sum(len(held.rows) for held in content), f"{crash}: the scrub counts {report.changes}"


def _copied(store: Store, bucket: int) -> Iterator[Row]:
    """What another member would get, a few batches at a time."""
    at, _ = store.bounds(bucket)
    while batches := store.batches(bucket, at, 2_000):
        for batch in batches:
            yield from rows_of(batch)
        at = batches[-1].header.end_offset


def _offsets_down(batch: Batch) -> list[int]:
    offsets: list[int] = batch.offsets.tolist()
    return offsets[::-1]


def difference(content: Content, possible: list[Content]) -> str:
    """Where the content departs from the least that must be there."""
    for bucket, (held, wanted) in enumerate(zip(content, possible[0], strict=True)):
        for field, has, due in zip(Held._fields, held, wanted, strict=True):
            if has != due:
                return f"bucket {bucket}: {field} is {_short(has)}, and at least {_short(due)} is due"
    return "a state between two moments"


def _short(value: object) -> str:
    """Of rows only their offsets, and of many only the first and the last ones."""
    if isinstance(value, tuple):
        firsts = [item[0] for item in value]
        return f"{firsts[:3]}..{firsts[-3:]}"
    return repr(value)[:80]


def crashes(life: int, history: History, draws: int, every: int = 1) -> Iterator[Crash]:
    for at in range(life % every, history.disk.operation_count + 1, every):
        for draw in range(draws):
            yield Crash(life, at, draw)


def main() -> int:
    """All crashes of some lives; or, given `--crash LIFE AT DRAW`, that one again."""
    if "--crash" in sys.argv:
        place = sys.argv.index("--crash")
        again = Crash(*map(int, sys.argv[place + 1 : place + 4]))
        check_crash(lived(again.life), again)
        sys.stdout.write(f"{again}: nothing lost\n")
        return 0
    lives = int(sys.argv[sys.argv.index("--lives") + 1]) if "--lives" in sys.argv else 20
    total = interruptions = operations = 0
    for count in range(lives):
        life = count // 2 + count % 2 * FORKING_LIVES
        history = lived(life)
        operations += history.disk.operation_count
        for crash in crashes(life, history, draws=4):
            try:
                interruptions += check_crash(history, crash)
            except (AssertionError, StorageError) as error:
                replay = f"python -m sim.crashes --crash {crash.life} {crash.at} {crash.draw}"
                sys.stdout.write(f"\n{crash}: {error}\nTo see it again: {replay}\n")
                return 1
            total += 1
        sys.stdout.write(
            f"\r{count + 1} of {lives} lives, {operations:,} operations, {total:,} crashes, "
            f"{interruptions:,} more while recovering: nothing lost "
        )
        sys.stdout.flush()
    sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
