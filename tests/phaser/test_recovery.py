"""A phaser that restarts from what its writes left on disk, wherever the crash came."""

import pytest

from hansard.phaser import Phaser, Recovered, Settings
from hansard.phaser.effect import Achievement, Report, Reset
from hansard.phaser.event import Appointed, Tick, Trimmed
from hansard.phaser.government import Government, NodeId, Shape
from hansard.phaser.invariants import check_state
from hansard.phaser.ledger import Ledger
from hansard.phaser.message import Collection, Part
from hansard.phaser.outcome import Repeated, Stored
from hansard.phaser.recovered import NoteContent, encode
from tests.phaser.joined import Disk, Joined, formed, series_of, submit

QUICK = Settings(checkpoint_batches=3, part_bytes=30, tail_bytes_max=500)


def judged(ledger: Ledger) -> dict[int, int | None]:
    return {connection: ledger.streams.last(connection) for connection in range(1, 12)}


def from_the_log(disk: Disk) -> Ledger:
    """What the whole log gives, replayed from its beginning without any state."""
    image = disk.current
    assert image.start == 0
    whole = Recovered(note=image.note, end=image.end, timestamp=1, batches=image.batches)
    return Ledger(QUICK, [], whole)


def busy(shape: Shape) -> Joined:
    """A few clients under two governments, with uncommitted entries and decrees at the end."""
    joined = formed(Government(1, "a", ("a", "b", "c"), shape=shape), QUICK)
    for number in range(5):
        joined.happen("a", submit(2 * number, number, 7), submit(2 * number + 1, 2 * number, 8, count=2))
    joined.appoint(Government(2, "b", ("a", "b", "c"), shape=shape))
    joined.happen("b", submit(100, 5, 7))
    joined.lose = lambda sender, to, message: True
    joined.happen("b", submit(101, 6, 7), submit(102, 0, 9))
    return joined


def test_a_restart_finds_what_the_whole_log_gives(shape: Shape) -> None:
    joined = busy(shape)
    for node in "abc":
        before, disk = joined.phasers[node].ledger, joined.disks[node]
        again = Ledger(QUICK, [], disk.recovered())
        assert (again.start, again.end, again.promised) == (before.start, before.end, before.promised)
        assert again.lineage.runs == before.lineage.runs
        assert again.latest_decree == before.latest_decree
        assert judged(again) == judged(before) == judged(from_the_log(disk))
        assert again.saved > 0, "it did not have to begin at the beginning"


def test_a_crash_after_any_prefix_of_the_writes_leaves_a_copy_that_fits_its_log(shape: Shape) -> None:
    joined = formed(Government(1, "a", ("a", "b", "c"), shape=shape), QUICK)
    joined.stalled = {"a", "b", "c"}
    for number in range(4):
        joined.happen("a", submit(number, number))
    joined.appoint(Government(2, "b", ("b", "c"), shape=shape))
    for _ in range(3):
        for node in "bc":
            joined.sync(node)
        joined.happen("b", submit(100 + joined.now_us, 20, 9))
        joined.now_us += 1
        for node in "abc":
            _check_every_prefix(joined, node)


def _check_every_prefix(joined: Joined, node: NodeId) -> None:
    live, disk = joined.phasers[node].ledger, joined.disks[node]
    promised = disk.synced.note
    for kept in range(len(disk.under_way) + 1):
        copy = disk.copy()
        copy.crash(kept)
        phaser = Phaser(node, 0, QUICK, copy.recovered())
        phaser.turn([Tick()], 0, 1)
        check_state(phaser)
        ledger = phaser.ledger
        assert (ledger.end, ledger.start) == (copy.current.end, copy.current.start)
        assert live.promised_synced <= ledger.promised <= live.promised, promised
        assert judged(ledger) == judged(from_the_log(copy))
        for content in copy.log:
            assert ledger.lineage.term_before(content.header.end_offset) == content.header.epoch


@pytest.mark.parametrize("part_bytes", [20, 40, 10_000])
def test_a_crash_while_a_snapshot_is_collected_leaves_a_copy_that_goes_on(shape: Shape, part_bytes: int) -> None:
    """At every write of it; afterwards the newcomer has all there is, and refuses what was stored before."""
    settings = Settings(checkpoint_batches=3, part_bytes=part_bytes)
    for cut_at in range(60):
        joined = _trimmed(settings)
        government = Government(2, "a", ("a",), ("d",), shape=shape)
        joined.add("d", _old_disk(settings))
        if not _crash_at_write(joined, government, cut_at):
            break
        joined.restart("d")
        joined.appoint(government, "d")
        for _ in range(4):
            joined.tick()
        ledgers = [joined.phasers[node].ledger for node in "ad"]
        assert ledgers[0].end == ledgers[1].end == ledgers[1].committed, f"crash at write {cut_at}"
        assert ledgers[0].streams.image() == ledgers[1].streams.image()
    else:
        raise AssertionError("a snapshot takes fewer writes than that")
    assert cut_at > 5


def _trimmed(settings: Settings) -> Joined:
    joined = formed(Government(1, "a", ("a",)), settings)
    for number in range(10):
        joined.happen("a", submit(number, number, 7 + number % 3, previous=max(number - 3, -1)))
    start = joined.disks["a"].trim(joined.phasers["a"].droppable)
    assert start > 3
    joined.phasers["a"].ledger.lineage.trim(start)
    return joined


def _old_disk(settings: Settings) -> Disk:
    """Of one that was here long ago, and has a log and a state of that time."""
    joined = formed(Government(1, "a", ("a", "d")), settings)
    for number in range(3):
        joined.happen("a", submit(number, number))
    return joined.disks["d"]


def _crash_at_write(joined: Joined, government: Government, cut_at: int) -> bool:
    """Says whether d wrote as much as that."""
    joined.stalled = {"d"}
    joined.appoint(government)
    written = 0
    while True:
        under_way = len(joined.disks["d"].under_way)
        if written + under_way > cut_at:
            joined.crash("d", cut_at - written)
            joined.stalled.clear()
            return True
        if not under_way:
            return False
        written += under_way
        joined.sync("d")


def test_both_halves_of_a_split_refuse_what_the_whole_has_stored() -> None:
    joined = formed(Government(1, "a", ("a",)), QUICK)
    for number in range(7):
        joined.happen("a", submit(number, number))
    disk = joined.disks["a"]
    for bucket in (0, 1):
        half = Joined((), QUICK, bucket)
        half.add("a", disk.copy())
        half.happen("a", Appointed(Government(2, "a", ("a",))))
        half.happen("a", submit(1, 3), submit(2, 6), submit(3, 9, previous=6))
        assert [type(half.answers[number]) for number in (1, 2, 3)] == [Repeated, Repeated, Stored]
        assert series_of(half.disks["a"].log) == [*range(7), 9]


def test_a_whole_government_restarts_with_all_it_had(shape: Shape) -> None:
    joined = busy(shape)
    government = Government(2, "b", ("a", "b", "c"), shape=shape)
    joined.lose = lambda sender, to, message: False
    for node in "abc":
        joined.crash(node)
    for node in "cab":
        joined.restart(node)
        joined.appoint(government, node)
    joined.tick()
    ends = {joined.phasers[node].ledger.committed for node in "abc"}
    assert ends == {joined.phasers["b"].ledger.end}
    assert series_of(joined.disks["c"].log, 7) == list(range(7)), "what the leader had in its log is committed"


# Between two snapshots.


@pytest.mark.parametrize(("start", "end", "counts"), [(8, 8, True), (9, 9, False), (0, 0, False), (8, 9, False)])
def test_a_snapshot_is_collected_on_where_the_log_was_thrown_away_for_it(start: int, end: int, counts: bool) -> None:
    collection = Collection(10, 8, 1, 3, 0)
    note = encode(NoteContent(1, (), collection))
    ledger = Ledger(QUICK, [], Recovered(note=note, start=start, end=end))
    assert ledger.collection == (collection if counts else None)


def _begun_for_another_snapshot() -> Joined:
    """d has parts of a's snapshot. Then b leads, whose log begins later: of the beginning of b's snapshot a crash has
    left d the empty log, but not the note that says what for."""
    joined = formed(Government(1, "a", ("a", "b")), QUICK)
    for number in range(6):
        joined.happen("a", submit(number, number))
    joined.happen("a", Trimmed(joined.disks["a"].trim(3)))
    joined.add("d")
    joined.lose = lambda sender, to, message: isinstance(message, Part) and message.number > 1
    joined.appoint(Government(2, "a", ("a", "b"), ("d",)))
    first = joined.phasers["d"].ledger.collection
    assert first is not None and joined.phasers["d"].ledger.parts
    for number in range(6):
        joined.happen("a", submit(100 + number, number, 9))
    joined.tick()
    cut = joined.disks["b"].trim(joined.phasers["b"].droppable)
    joined.happen("b", Trimmed(cut))
    assert cut > first.offset
    joined.stalled = {"d"}
    joined.lose = lambda sender, to, message: False
    joined.appoint(Government(3, "b", ("b", "a"), ("d",)))
    joined.sync("d")
    kept = [isinstance(write, Reset) for _, write in joined.disks["d"].under_way].index(True) + 1
    joined.crash("d", kept)
    joined.stalled.clear()
    joined.restart("d")
    assert joined.phasers["d"].ledger.start == cut
    return joined


def test_parts_of_an_earlier_snapshot_do_not_go_with_the_log_that_begins_for_a_later_one() -> None:
    joined = _begun_for_another_snapshot()
    ledger = joined.phasers["d"].ledger
    assert (ledger.collection, ledger.parts, ledger.state_from) == (None, [], None)
    joined.appoint(Government(4, "a", ("a", "b"), ("d",)))
    for _ in range(5):
        joined.tick()
    assert joined.reports[-1] == ("a", Report(Achievement.EXPANDED, 4))
    joined.appoint(Government(5, "d", ("d", "a", "b")))
    joined.happen("d", submit(500, 0, 9), submit(501, 3, 7), submit(502, 6, 9))
    assert [type(joined.answers[number]) for number in (500, 501, 502)] == [Repeated, Repeated, Stored]
    assert series_of(joined.disks["a"].log, 9) == list(range(7))
