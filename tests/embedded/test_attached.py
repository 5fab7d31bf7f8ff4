"""Applications on a log in one process."""

from pathlib import Path
from random import Random
from threading import Barrier, Thread

import pytest

import hansard
from hansard.application import Entries
from hansard.application.image import decode, encode
from hansard.batch import Batch, Change
from hansard.embedded import Attached, open_on
from hansard.storage.errors import ReadOnly
from hansard.storage.settings import StoreSettings
from hansard.storage.write import Keep
from sim.counter import Counter
from sim.disk import SimDisk
from tests.embedded.conftest import Clock

DOCUMENT = "application-counter"


class Watched(Counter):
    """Remembers how many changes this very object was given."""

    def __init__(self) -> None:
        super().__init__()
        self.given = 0

    def count(self, key: bytes | None, value: bytes | None) -> bytes | None:
        self.given += 1
        return super().count(key, value)


def test_an_update_returns_what_the_application_says_to_it(log: hansard.Log) -> None:
    counter = log.attach(Counter())
    assert [counter.update("apples", "3"), counter.update("apples", "4"), counter.update("pears")] == [b"3", b"7", b"0"]
    assert (counter.query("apples"), counter.query()) == (b"7", b"3")
    assert [change.key for change in log.read()] == [b"apples", b"apples", b"pears"]


def test_what_is_appended_elsewhere_reaches_the_application(log: hansard.Log) -> None:
    log.append("apples", "1")
    counter = log.attach(Counter())
    log.append("apples", "2")
    log.append_many([("apples", "3"), ("pears", "4")])
    log.append_columns(["apples"], ["5"])
    assert (counter.query("apples"), counter.query("pears"), counter.query()) == (b"11", b"4", b"5")


def test_a_crash_at_any_moment_leaves_a_state_of_what_is_stored(disk: SimDisk, clock: Clock) -> None:
    """What was acknowledged is counted, once, whether or not a checkpoint was cut short."""
    acknowledged: list[tuple[int, int]] = []
    with open_on(disk, clock_ns=clock) as log:
        counter = log.attach(Counter())
        for number in range(1, 6):
            assert counter.update("k", "1") == b"%d" % number
            acknowledged.append((disk.operation_count, number))
            if number == 3:
                log.retain()  # which keeps a checkpoint first
    first = acknowledged[0][0]
    for at in range(first, disk.operation_count + 1):
        for seed in range(2):
            with open_on(disk.crashed(at, Random(seed)), clock_ns=clock) as log:
                least = max([number for place, number in acknowledged if place <= at])
                application = Watched()
                counted = int(log.attach(application).query("k"))
                assert least <= counted == len(list(log.read())), f"crashed at {at}"


def test_threads_that_update_one_key_get_each_result_once(log: hansard.Log) -> None:
    counter, start = log.attach(Counter()), Barrier(8)
    results: list[bytes | None] = []

    def update() -> None:
        start.wait()
        results.extend(counter.update("k", "1") for _ in range(20))

    threads = [Thread(target=update) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(result) for result in results if result is not None) == list(range(1, 161))


def test_an_application_that_is_attached_amid_appends_sees_each_change_once(tmp_path: Path) -> None:
    with hansard.open(tmp_path / "log") as log:
        start = Barrier(5)

        def append() -> None:
            start.wait()
            for _ in range(50):
                log.append("k", "1")

        threads = [Thread(target=append) for _ in range(4)]
        for thread in threads:
            thread.start()
        start.wait()
        counter = log.attach(Counter())
        for thread in threads:
            thread.join()
        assert (counter.query("k"), counter.query()) == (b"200", b"200")


# Checkpoints.


def test_opening_again_replays_nothing_that_was_applied_before_it_was_closed(tmp_path: Path) -> None:
    with hansard.open(tmp_path) as log:
        counter = log.attach(Counter())
        for _ in range(10):
            counter.update("k", "1")
    application = Watched()
    with hansard.open(tmp_path) as log:
        assert log.attach(application).query("k") == b"10"
        assert application.given == 0


def test_opening_after_a_crash_replays_what_came_after_the_last_checkpoint(tmp_path: Path) -> None:
    large = b"0" * 4_000_000
    with hansard.open(tmp_path) as log:
        counter = log.attach(Counter())
        for _ in range(11):
            counter.update("k", large)
        kept = decode(log._store.document(0, DOCUMENT) or b"")
        assert 4 < kept.offset < 11, "twice in forty megabytes"
        held = [(hold.name, hold.offset) for hold in log.info().holds]
        assert held == [(DOCUMENT, kept.offset)]
        stored = encode(kept)
    with hansard.open(tmp_path) as log:  # as if it had not been closed
        log._store.write([Keep(0, DOCUMENT, stored)])
        application = Watched()
        assert log.attach(application).query() == b"11"
        assert application.given == 11 - kept.offset


def test_many_small_batches_are_a_reason_for_a_checkpoint_too(tmp_path: Path) -> None:
    with hansard.open(tmp_path) as log:
        counter = log.attach(Counter())
        assert decode(log._store.document(0, DOCUMENT) or b"").offset == 0
        for _ in range(4100):
            log.append("k", "1")
        assert decode(log._store.document(0, DOCUMENT) or b"").offset == 4096
        assert counter.query("k") == b"4100"


@pytest.mark.parametrize("damage", ["missing", "cut short", "nonsense", "another's", "ahead of the log"])
def test_a_checkpoint_that_is_of_no_use_is_made_anew_from_the_log(tmp_path: Path, damage: str) -> None:
    with hansard.open(tmp_path) as log:
        counter = log.attach(Counter())
        for _ in range(3):
            counter.update("k", "1")
        image = decode(log._store.document(0, DOCUMENT) or b"")
    (path,) = tmp_path.rglob(f"{DOCUMENT}.document")
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "cut short":
        path.write_bytes(content[:-1])
    else:
        with hansard.open(tmp_path) as log:
            other = type(image)("other", 2, 3, 1, ()) if damage == "another's" else type(image)("counter", 2, 9, 1, ())
            log._store.write([Keep(0, DOCUMENT, b"nonsense" if damage == "nonsense" else encode(other))])
    application = Watched()
    with hansard.open(tmp_path) as log:
        counter = log.attach(application)
        assert (counter.query("k"), application.given) == (b"3", 3)
        counter.update("k", "1")
    with hansard.open(tmp_path) as log:
        assert log.attach(Counter()).query("k") == b"4"


class Newer(Watched):
    version = 3


def test_another_version_is_made_anew_from_the_log(tmp_path: Path) -> None:
    with hansard.open(tmp_path) as log:
        log.attach(Counter()).update("k", "1")
    for make in (Newer, Watched):
        application = make()
        with hansard.open(tmp_path) as log:
            assert (log.attach(application).query("k"), application.given) == (b"1", 1)


SMALL = StoreSettings(segment_bytes=200)


def filled(disk: SimDisk, clock: Clock, application: Counter) -> int:
    """A log with an application whose beginning is dropped; where it begins now."""
    with open_on(disk, clock_ns=clock, settings=SMALL) as log:
        log.attach(application)
        for _ in range(10):
            log.append("k", bytes(200))
        log.retain(max_changes=0)
        return log.info().start


def test_retention_drops_what_the_application_has_kept_a_state_of(disk: SimDisk, clock: Clock) -> None:
    assert filled(disk, clock, Counter()) == 10
    with open_on(disk, clock_ns=clock) as log:
        assert log.attach(Counter()).query() == b"10"


def test_retention_keeps_what_an_application_has_not_seen(disk: SimDisk, clock: Clock) -> None:
    """It is not attached now, and will be again."""
    with open_on(disk, clock_ns=clock, settings=SMALL) as log:
        log.attach(Counter()).update("k", bytes(200))
    with open_on(disk, clock_ns=clock, settings=SMALL) as log:
        log.append("k", bytes(200))
        log.append("k", bytes(200))
        log.retain(max_changes=0)
        assert log.info().start == 1
        assert log.attach(Counter()).query("k") == b"3"
        log.retain(max_changes=0)
        assert log.info().start == 3


def test_an_application_that_comes_late_is_refused_where_the_beginning_is_gone(disk: SimDisk, clock: Clock) -> None:
    start = filled(disk, clock, Counter())

    class Late(Counter):
        name = "late"

    with open_on(disk, clock_ns=clock) as log:
        with pytest.raises(hansard.HistoryGone, match=f"'late' has no state.*from offset {start} on"):
            log.attach(Late())
        assert log.attach(Counter()).query() == b"10", "and others may be attached"


def test_an_older_application_is_refused_where_the_beginning_is_gone(disk: SimDisk, clock: Clock) -> None:
    filled(disk, clock, Newer())
    with open_on(disk, clock_ns=clock) as log, pytest.raises(hansard.NewerImage, match="stored by its version 3"):
        log.attach(Counter())


def test_an_older_state_is_translated_where_the_beginning_is_gone(disk: SimDisk, clock: Clock) -> None:
    filled(disk, clock, Counter())
    application = Newer()
    with open_on(disk, clock_ns=clock) as log:
        assert (log.attach(application).query(), application.given) == (b"10", 0)


# What can go wrong.


def test_one_name_is_attached_once(log: hansard.Log) -> None:
    log.attach(Counter())
    with pytest.raises(hansard.AlreadyAttached, match="'counter' is attached"):
        log.attach(Counter())


def test_a_log_that_is_read_only_answers_and_takes_nothing(tmp_path: Path) -> None:
    with hansard.open(tmp_path) as log:
        log.append("k", "2")
    before = sorted(tmp_path.rglob("*.document"))
    with hansard.open(tmp_path, read_only=True) as log:
        counter = log.attach(Counter())
        assert counter.query("k") == b"2"
        with pytest.raises(ReadOnly):
            counter.update("k", "1")
    assert sorted(tmp_path.rglob("*.document")) == before


def test_a_closed_log_is_not_asked(tmp_path: Path) -> None:
    with hansard.open(tmp_path) as log:
        counter = log.attach(Counter())
    with pytest.raises(hansard.LogClosed):
        counter.query()
    with pytest.raises(hansard.LogClosed):
        counter.update("k", "1")


class Faulty(Counter):
    def apply(self, change: Change) -> bytes | None:
        if change.value == b"bad":
            raise RuntimeError("no idea")
        return super().apply(change)

    def apply_batch(self, batch: Batch) -> list[bytes | None]:
        return [self.apply(change) for change in batch.changes()]


def test_an_application_that_raises_stops_itself_and_not_the_log(tmp_path: Path) -> None:
    with hansard.open(tmp_path) as log:
        faulty, echo = log.attach(Faulty()), log.attach(type("Other", (Counter,), {"name": "other"})())
        faulty.update("k", "1")
        with pytest.raises(hansard.ApplicationFailed, match=r"'counter' raised RuntimeError.*at offset 1"):
            faulty.update("k", "bad")
        with pytest.raises(hansard.ApplicationFailed):
            faulty.query("k")
        log.append("k", "2")
        assert (echo.query("k"), log.info().end) == (b"4", 3)
        with pytest.raises(hansard.ApplicationFailed):
            faulty.update("k", "1")
        assert log.info().end == 3, "one that is known to have failed is not given more"
    with hansard.open(tmp_path) as log, pytest.raises(RuntimeError, match="no idea"):
        log.attach(Faulty())
    with hansard.open(tmp_path) as log:
        assert log.attach(Counter()).query("k") == b"4", "mended"


class Unkeepable(Counter):
    """Its image is nothing that could be stored, from a third change on."""

    def __init__(self, problem: str) -> None:
        super().__init__()
        self.problem = problem

    def image(self) -> Entries:
        if self.seen >= 3:
            if self.problem == "raises":
                raise RuntimeError("no image")
            yield b"k", "text"  # type: ignore[misc]
        yield from super().image()


@pytest.mark.parametrize("problem", ["raises", "is of another kind"])
def test_a_state_that_cannot_be_kept_stops_the_application_and_not_who_appends(
    disk: SimDisk, clock: Clock, problem: str
) -> None:
    """And nothing is dropped that the state which is kept does not cover."""
    with open_on(disk, clock_ns=clock, settings=SMALL) as log:
        counter = log.attach(Unkeepable(problem))
        for _ in range(6):
            log.append("k", bytes(200))
        log.retain(max_changes=0)
        assert log.info().start == 0
        log.append("k", "1")
        with pytest.raises(hansard.ApplicationFailed, match="when its state was to be kept"):
            counter.query("k")
        with pytest.raises(hansard.ApplicationFailed):
            counter.update("k", "1")
    with open_on(disk, clock_ns=clock) as log:
        with pytest.raises(hansard.ApplicationFailed):
            log.attach(Unkeepable(problem))
        assert log.attach(Counter()).query() == b"7", "mended, and attached again"


def test_nothing_is_kept_of_an_application_before_it_has_become_what_was_kept(disk: SimDisk, clock: Clock) -> None:
    """As when one thread attaches it while another one drops what is old."""
    filled(disk, clock, Counter())
    with open_on(disk, clock_ns=clock) as log:
        before = log._store.document(0, DOCUMENT)
        attached = Attached(Counter(), log._store, log._door.visit, log._update)
        attached.checkpoint_if(at_all=True)
        assert log._store.document(0, DOCUMENT) == before
        attached.catch_up()
        assert attached.query() == b"10"


class Meddling(Counter):
    """Does to its log what the change says, while it is applied."""

    log: hansard.Log
    me: hansard.Attached

    def count(self, key: bytes | None, value: bytes | None) -> bytes | None:
        match key:
            case b"append":
                self.log.append("k", "1")
            case b"update":
                self.me.update("k", "1")
            case b"query":
                self.me.query("k")
            case _:
                pass
        return super().count(key, value)


@pytest.mark.parametrize("what", ["append", "update", "query"])
def test_an_application_that_uses_its_own_log_fails_instead_of_waiting_for_itself(tmp_path: Path, what: str) -> None:
    with hansard.open(tmp_path) as log:
        meddling = Meddling()
        meddling.log, meddling.me = log, log.attach(meddling)
        assert meddling.me.update("k", "1") == b"1"
        with pytest.raises(hansard.ApplicationFailed, match="UsedFromInside"):
            meddling.me.update(what, "1")
        log.append("k", "1")
        assert log.info().end == 3


def test_a_question_without_an_answer_is_the_askers_mistake(log: hansard.Log) -> None:
    counter = log.attach(Counter())
    with pytest.raises(hansard.BadQuestion, match="nothing was counted"):
        counter.query("k")
    assert counter.update("k", "1") == b"1"
