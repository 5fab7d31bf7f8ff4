"""A log that is imported is the log that it was: the same offsets, times and streams, on every member's disk."""

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hansard.batch import (
    Batch,
    Change,
    Flag,
    Part,
    bucket_mask,
    build,
    covering,
    gather,
    select,
)
from hansard.phaser import Settings
from hansard.phaser.decree import Decree, as_batch
from hansard.phaser.effect import Achievement
from hansard.phaser.event import Accepted, Import, Imports, Submit
from hansard.phaser.government import Government, Shape, epoch_of
from hansard.phaser.leader import Leader, Phase
from hansard.phaser.outcome import (
    Busy,
    Expired,
    Importing,
    Invalid,
    NotLeader,
    Outcome,
    Receipt,
    Repeated,
    Stored,
    Unknown,
)
from hansard.phaser.streams import Image
from tests.phaser.joined import FAR, Joined, batch, formed, submit

THREE = Government(1, "a", ("a", "b", "c"))


def importing(shape: Shape = Shape.STAR, settings: Settings | None = None, bucket: int = 0, buckets: int = 1) -> Joined:
    """A government that is filled, and will not open before that is over."""
    joined = Joined("abc", settings, bucket)
    for node in "abc":
        joined.phasers[node].desk.buckets = joined.phasers[node].ledger.buckets = buckets
        joined.happen(node, Imports(True))
    joined.appoint(replace(THREE, shape=shape))
    assert leading(joined).phase is Phase.IMPORTING and not joined.reports
    return joined


def leading(joined: Joined, node: str = "a") -> Leader:
    leader = joined.phasers[node].leading
    assert leader is not None
    return leader


def take(joined: Joined, content: Batch, number: int = 0, node: str = "a", follows: int = 0) -> Outcome:
    number = number or 1000 + len(joined.answers)
    joined.happen(node, Import(number, content, FAR, min(follows, content.header.base_offset)))
    return joined.answers[number]


def finish(joined: Joined) -> None:
    for node in joined.phasers:
        joined.happen(node, Imports(False))


def placed(content: Batch, offset: int, timestamp: int = 100) -> Batch:
    """As some leader stored it."""
    return content.stamped(epoch=9, base_offset=offset, timestamp=timestamp)


def changes(log: Iterable[Batch], bucket: int = 0, buckets: int = 1) -> list[Change]:
    """As a reader gets them."""
    shown = [batch for batch in log if not batch.header.flags & Flag.INTERNAL]
    return [change for batch in shown for change in select(batch, bucket_mask(batch, bucket, buckets)).changes()]


def archive(joined: Joined, node: str = "a") -> list[Batch]:
    return [batch for batch in joined.disks[node].log if not batch.header.flags & Flag.INTERNAL]


def image(joined: Joined, node: str = "a") -> Image:
    return joined.phasers[node].ledger.streams.image()


def lived(shape: Shape = Shape.STAR) -> Joined:
    """A log with a past: several clients, merged batches, repetitions, and decrees in between."""
    joined = formed(replace(THREE, shape=shape))
    joined.wall_us = 1000
    joined.happen("a", submit(1, 0, 7, count=4), submit(2, 0, 8, count=2))
    joined.wall_us = 2000
    joined.happen("a", submit(3, 2, 8, count=3), Submit(4, build(["n1", "n2"], ["x", "y"]), FAR), submit(5, 4, 7))
    joined.appoint(Government(2, "b", ("a", "b", "c"), shape=shape))
    joined.wall_us = 3000
    joined.happen("b", submit(6, 3, 8, count=4, previous=2), submit(7, 0, 9, count=5))
    joined.wall_us = 4000
    joined.happen("b", submit(8, 5, 9, count=3))
    assert all(isinstance(joined.answers[number], Stored) for number in range(1, 9))
    return joined


# As it was.


def test_what_was_imported_is_the_log_that_it_was(shape: Shape) -> None:
    original = lived(shape)
    joined = importing(shape)
    for content in archive(original, "b"):
        outcome = take(joined, content)
        assert outcome == Stored(Receipt(int(content.offsets[0]), content.header.first_timestamp))
    for node in "abc":
        assert changes(joined.disks[node].log) == changes(original.disks["b"].log)
        assert image(joined, node) == image(original, "b"), "exactly, receipts and all"
    terms = {content.header.epoch for content in joined.disks["a"].log}
    assert terms == {leading(joined).term}, "entries are this leader's, whoever wrote them first"


def test_bodies_are_not_touched_where_they_fit() -> None:
    content = placed(batch(0, count=3).compressed(), 5)
    joined = importing()
    take(joined, content)
    stored = joined.disks["b"].log[-1]
    assert bytes(stored.body) == bytes(content.body) and joined.disks["b"].current.end == 8


def test_log_in_two_halves_has_the_streams_of_the_whole_in_both() -> None:
    original = lived()
    halves = [importing(bucket=half, buckets=2) for half in range(2)]
    for half, joined in enumerate(halves):
        for content in archive(original, "b"):
            assert isinstance(take(joined, content), Stored)
        assert image(joined) == image(original, "b"), "a stream's next batch names the last one of the whole"
        own = changes(original.disks["b"].log, half, 2)
        assert changes(joined.disks["c"].log, half, 2) == own and own
        others = [change for change in changes(joined.disks["c"].log) if change not in own]
        assert others and all(change.value is None and change.connection for change in others)
    whole = [change for half, joined in enumerate(halves) for change in changes(joined.disks["a"].log, half, 2)]
    assert sorted(whole) == sorted(changes(original.disks["b"].log))


def test_streams_go_on_after_it_has_opened() -> None:
    original = lived()
    for buckets in (1, 2):
        joined = importing(buckets=buckets)
        for content in archive(original, "b"):
            take(joined, content)
        finish(joined)
        assert leading(joined).phase is Phase.OPEN
        old = original.answers[7]
        assert isinstance(old, Stored)
        keys = [key for key in (b"k%d" % number for number in range(100)) if _lives_in(key, 0, buckets)]
        again = build([keys[0]], ["v"], connection=9, first_series=0, previous_series=-1)
        fresh = build([keys[1]], ["v"], connection=9, first_series=8, previous_series=7)
        early = build([keys[1]], ["v"], connection=9, first_series=20, previous_series=19)
        joined.wall_us = 5000
        joined.happen("a", *[Submit(i, one, FAR, buckets=buckets) for i, one in enumerate((again, fresh, early))])
        assert joined.answers[0] == Repeated(old.receipt)
        end = original.phasers["b"].ledger.end
        assert joined.answers[1] == Stored(Receipt(end + 1, 5000)), "behind the decree, which is behind the import"
        assert type(joined.answers[2]).__name__ == "Gap"


def _lives_in(key: bytes, bucket: int, buckets: int) -> bool:
    return bool(bucket_mask(build([key], ["v"]), bucket, buckets).all())


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=20), st.integers(1, 2), st.data())
def test_however_an_archive_is_cut_the_streams_say_the_same(
    sizes: list[int], buckets: int, data: st.DataObject
) -> None:
    """Rows that were kept in some other form are put together as it comes: times and offsets then are columns."""
    original = lived()
    rows = [(content, place) for content in archive(original, "b") for place in range(len(content))]
    joined = importing(buckets=buckets)
    position = 0
    while position < len(rows):
        chunk = rows[position : position + sizes[position % len(sizes)]]
        contents = list(dict.fromkeys(id(content) for content, _ in chunk))
        by_id = {id(content): content for content, _ in chunk}
        parts = [
            Part(by_id[key], np.array([place for content, place in chunk if id(content) == key])) for key in contents
        ]
        assert isinstance(take(joined, gather(parts)), Stored | Repeated)
        if data.draw(st.booleans()):
            take(joined, gather(parts))
        position += len(chunk)
    kept, wanted = joined.phasers["b"].ledger.streams, original.phasers["b"].ledger.streams
    assert changes(joined.disks["b"].log, 0, buckets) == changes(original.disks["b"].log, 0, buckets)
    assert kept.forgotten == wanted.forgotten
    assert [(c, s.last, s.timestamp) for c, s in kept.settled.items()] == [
        (c, s.last, s.timestamp) for c, s in wanted.settled.items()
    ]
    for connection, stream in wanted.settled.items():
        for piece in stream.pieces:
            known = kept.judge(connection, piece.first, piece.first, -1)
            assert getattr(known, "receipt", None) == Receipt(piece.offset, piece.timestamp)


# Places.


def test_what_is_here_already_is_repeated_and_the_rest_of_it_taken() -> None:
    joined = importing()
    assert take(joined, placed(batch(0, count=4), 2)) == Stored(Receipt(2, 100))
    assert take(joined, placed(batch(1, count=2), 3)) == Repeated(Receipt(3, 100))
    assert take(joined, placed(batch(2, count=6), 4)) == Stored(Receipt(6, 100), 2)
    assert [(change.offset, change.series) for change in changes(joined.disks["c"].log)] == [
        (2 + number, number) for number in range(8)
    ][: len(changes(joined.disks["c"].log))]
    assert joined.disks["c"].current.end == 10


def test_free_offsets_stay_free_however_many() -> None:
    joined = importing()
    far = 5 << 31
    take(joined, placed(batch(0), 3))
    take(joined, placed(batch(1), far))
    assert [change.offset for change in changes(joined.disks["b"].log)] == [3, far]
    assert joined.disks["b"].current.end == far + 1
    assert isinstance(take(joined, placed(batch(2), 1 << 60)), Invalid)


def test_batch_without_changes_moves_the_end() -> None:
    """Where the log that it was ended with something of its own, bookmarks point behind that."""
    joined = importing()
    take(joined, placed(batch(0), 0))
    assert take(joined, covering(1, 7, 3, 100)) == Stored(Receipt(1, 100))
    assert joined.disks["b"].current.end == 7 and len(changes(joined.disks["b"].log)) == 1


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (placed(batch(5), 5, 99), "times go back: it begins at 99, and the log has come to 100"),
        (placed(batch(3), 5), "connection 7 goes back from series 3 to 3"),
        (as_batch(Decree(1, THREE, False)).stamped(epoch=1, base_offset=5, timestamp=100), "not imported"),
        (placed(batch(0, 8, count=2), (1 << 41) + 5), "the log ends at 4"),
    ],
)
def test_what_cannot_follow_is_refused_with_the_reason(wrong: Batch, reason: str) -> None:
    joined = importing()
    take(joined, placed(batch(0, count=4), 0))
    outcome = take(joined, wrong)
    assert isinstance(outcome, Invalid) and reason in outcome.reason
    assert joined.disks["a"].current.end == 4, "and nothing of it is stored"


# When it is stored, and when not.


def test_stored_means_on_every_disk(shape: Shape) -> None:
    joined = importing(shape)
    joined.stalled = {"c"}
    joined.happen("a", Import(1, placed(batch(0), 0), FAR, 0))
    joined.happen("a", Import(2, placed(batch(0), 0), FAR, 0))
    assert not joined.answers, "a repetition is no better than the first one"
    joined.resume("c")
    assert joined.answers == {1: Stored(Receipt(0, 100)), 2: Repeated(Receipt(0, 100))}


def test_members_commit_as_it_comes_and_keep_little_in_memory(shape: Shape) -> None:
    joined = importing(shape, Settings(tail_bytes_max=1, checkpoint_batches=4))
    for number in range(20):
        take(joined, placed(batch(number), number))
    for node in "abc":
        ledger = joined.phasers[node].ledger
        assert ledger.committed >= 19 and len(ledger.tail) <= 2 and not ledger.uncommitted
        assert ledger.saved > 10, "a restart does not begin at the beginning"


def test_too_much_at_once_is_sent_back() -> None:
    joined = importing(settings=Settings(flight_bytes_max=200))
    joined.stalled = {"b"}
    outcomes = []
    for number in range(4):
        joined.happen("a", Import(number, placed(batch(number), number), FAR, 0))
        outcomes.append(joined.answers.get(number))
    assert outcomes == [None, None, Busy(), Busy()]
    joined.resume("b")
    assert take(joined, placed(batch(2), 2)) == Stored(Receipt(2, 100))


def test_before_the_members_match_there_is_nobody_to_import_to() -> None:
    joined = Joined("abc")
    joined.happen("a", Imports(True))
    assert take(joined, placed(batch(0), 0)) == NotLeader(None, 0)
    joined.lose = lambda sender, to, message: sender == "c"
    joined.appoint(THREE)
    assert take(joined, placed(batch(0), 0)) == Busy()


def test_deadlines() -> None:
    joined = importing()
    joined.happen("a", Import(1, placed(batch(0), 0), 0, 0))
    assert joined.answers[1] == Expired()
    joined.stalled = {"b"}
    joined.happen("a", Import(2, placed(batch(0), 0), 500_000, 0))
    joined.tick()
    assert joined.answers[2] == Unknown()


def test_new_leader_leaves_it_unknown_and_takes_it_again(shape: Shape) -> None:
    joined = importing(shape)
    take(joined, placed(batch(0), 0))
    joined.stalled = {"c"}
    joined.happen("a", Import(1, placed(batch(1), 1), FAR, 0))
    joined.appoint(Government(2, "b", ("a", "b", "c"), shape=shape))
    joined.resume("c")
    assert joined.answers[1] == Unknown()
    assert take(joined, placed(batch(0), 0), node="b") == Repeated(Receipt(0, 100))
    assert isinstance(take(joined, placed(batch(1), 1), node="b"), Stored | Repeated)
    assert [change.series for change in changes(joined.disks["c"].log)] == [0, 1]
    assert take(joined, placed(batch(2), 2), node="a") == NotLeader(None, 2)


def test_leader_that_is_appointed_again_leaves_it_unknown() -> None:
    joined = importing()
    joined.stalled = {"c"}
    joined.happen("a", Import(1, placed(batch(0), 0), FAR, 0))
    joined.appoint(Government(2, "a", ("a", "b")))
    assert joined.answers[1] == Unknown()
    assert isinstance(take(joined, placed(batch(0), 0)), Repeated)


# Opening.


def test_it_opens_when_it_is_over_and_not_before(shape: Shape) -> None:
    joined = importing(shape)
    take(joined, placed(batch(0), 0))
    joined.happen("a", Accepted(Achievement.OPENED, 1))
    assert leading(joined).phase is Phase.IMPORTING and not joined.reports
    finish(joined)
    assert len(joined.reports) == 1 and leading(joined).phase is Phase.OPEN
    outcome = take(joined, placed(batch(1), 9))
    assert isinstance(outcome, Invalid) and "is open" in outcome.reason
    assert joined.disks["b"].log[-1].header.base_offset == 1, "the decree follows what was imported"


def test_clients_are_certainly_not_stored_meanwhile() -> None:
    joined = Joined("abc")
    joined.happen("a", submit(1, 0))
    assert not joined.answers, "it waits for a government"
    joined.happen("a", Imports(True))
    joined.appoint(THREE)
    joined.happen("a", submit(2, 1))
    assert joined.answers == {1: Importing(), 2: Importing()} and not joined.disks["a"].log


def test_restarts_find_it_all(shape: Shape) -> None:
    joined = importing(shape, Settings(checkpoint_batches=3))
    for number in range(8):
        take(joined, placed(batch(number), number))
    before = image(joined)
    for node in "abc":
        joined.crash(node)
    for node in "abc":
        joined.restart(node)
        joined.happen(node, Imports(True))
    joined.appoint(replace(THREE, shape=shape))
    assert take(joined, placed(batch(7), 7)) == Repeated(Receipt(7, 100))
    assert all(image(joined, node) == before for node in "abc")


def test_copy_of_an_import_that_was_lost_begins_anew(shape: Shape) -> None:
    """Everybody who had it is gone, and the bucket was given to others, because none had ever opened."""
    joined = importing(shape, Settings(checkpoint_batches=1))
    for number in range(8):
        take(joined, placed(batch(number), number))
    joined.crash("c")
    joined.restart("c")
    assert joined.phasers["c"].ledger.committed > 0
    for node in "de":
        joined.add(node)
        joined.happen(node, Imports(True))
    joined.happen("c", Imports(True))
    joined.appoint(Government(5, "d", ("d", "e", "c"), shape=shape), "d", "e", "c")
    joined.tick()
    assert leading(joined, "d").phase is Phase.IMPORTING
    for number in range(3):
        assert isinstance(take(joined, placed(batch(number), number), node="d"), Stored)
    for node in "dec":
        assert [change.series for change in changes(joined.disks[node].log)] == [0, 1, 2]
    assert epoch_of(joined.phasers["c"].term) == 5
