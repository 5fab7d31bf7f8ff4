"""Three nodes in one loop, with real sockets and disks: what a client is told, and what cannot disturb the others."""

from pathlib import Path
from random import Random
from typing import Any

from hansard.batch import Batch, build
from hansard.phaser import Settings
from hansard.phaser.government import Shape
from hansard.wire.submission import Expired, Gap, Invalid, NotLeader, Repeated, Stored, StoredInPart, Unknown

from .caller import change, submission
from .trio import NAMES, Trio, check_alike, clients_batches, told, until, values

# What a client is told.


def test_submissions_get_receipts_with_rising_offsets(tmp_path: Path, loop: Any, shape: Shape) -> None:
    offsets: list[int] = []

    async def story(trio: Trio) -> None:
        async with await trio.dial() as caller:
            for number in range(50):
                caller.submit(submission(number, change(f"v{number}")))
                offsets.extend(await caller.receipts(number))

    told(tmp_path, story, loop=loop, shape=shape)
    assert offsets == list(range(offsets[0], offsets[0] + 50))
    assert values(tmp_path / "a") == [f"v{number}" for number in range(50)]
    check_alike(tmp_path, offsets[-1] + 1)


def test_members_hear_of_the_last_commit_though_nothing_follows_it(tmp_path: Path, loop: Any, shape: Shape) -> None:
    """A commit point waits for a batch to carry it, but not for ever; nobody reminds anybody here."""

    async def story(trio: Trio) -> None:
        trio.remind_nobody()
        async with await trio.dial() as caller:
            caller.submit(submission(1, change("v")))
            (offset,) = await caller.receipts(1)
            await until(lambda: all(trio.phasers[name].ledger.committed > offset for name in NAMES))

    told(tmp_path, story, loop=loop, shape=shape)


def test_one_frame_of_many_streams_is_one_batch_and_one_frame_of_receipts(
    tmp_path: Path, loop: Any, shape: Shape
) -> None:
    async def story(trio: Trio) -> None:
        async with await trio.dial() as caller:
            caller.submit(*[submission(n, change(f"v{n}", connection=n + 1)) for n in range(100)])
            offsets = await caller.receipts(*range(100))
            assert offsets == list(range(offsets[0], offsets[0] + 100))
            assert len(caller.frames) == 1

    told(tmp_path, story, loop=loop, shape=shape)
    for name in NAMES:
        (batch,) = clients_batches(tmp_path / name)
        assert batch.connections.tolist() == list(range(1, 101))


def test_same_submission_twice_is_stored_once_and_told_its_first_receipt(tmp_path: Path) -> None:
    async def story(trio: Trio) -> None:
        async with await trio.dial() as caller, await trio.dial() as other:
            caller.submit(submission(1, change("once", connection=9)))
            (offset,) = await caller.receipts(1)
            other.submit(submission(1, change("once", connection=9)))
            (again,) = await other.hear(1)
            first = caller.answers[1]
            assert isinstance(first, Stored)
            assert again == Repeated(1, offset, first.timestamps[0])

    told(tmp_path, story)
    assert values(tmp_path / "b") == ["once"]


def test_same_submission_twice_in_one_frame_is_stored_once(tmp_path: Path) -> None:
    async def story(trio: Trio) -> None:
        async with await trio.dial() as caller:
            caller.submit(*[submission(n, change("once", connection=9)) for n in range(3)])
            first, second, third = await caller.hear(0, 1, 2)
            assert isinstance(first, Stored)
            assert isinstance(second, Repeated) and isinstance(third, Repeated)
            assert second.offset == third.offset == first.offsets[0]

    told(tmp_path, story)
    assert values(tmp_path / "c") == ["once"]


def test_submission_that_overlaps_what_is_stored_is_stored_in_part(tmp_path: Path) -> None:
    def part(first: int, end: int) -> Batch:
        numbers = [f"v{number}" for number in range(first, end)]
        return build(numbers, numbers, connection=9, first_series=first, previous_series=-1)

    async def story(trio: Trio) -> None:
        async with await trio.dial() as caller:
            caller.submit(submission(1, part(0, 3)))
            (offset,) = await caller.receipts(1)
            caller.submit(submission(2, part(1, 5)))
            (answer,) = await caller.hear(2)
            assert isinstance(answer, StoredInPart)
            assert answer.repeated == 2 and answer.offset > offset + 2

    told(tmp_path, story)
    assert values(tmp_path / "a") == [f"v{number}" for number in range(5)]


def test_gap_is_refused_with_what_is_expected(tmp_path: Path) -> None:
    async def story(trio: Trio) -> None:
        async with await trio.dial() as caller:
            caller.submit(submission(1, change("early", connection=9, series=5)))
            caller.submit(submission(2, change("first", connection=9, series=0)))
            caller.submit(submission(3, change("late", connection=9, series=7)))
            early, _, late = await caller.hear(1, 2, 3)
            assert early == Gap(1, -1) and late == Gap(3, 0)

    told(tmp_path, story)
    assert values(tmp_path / "a") == ["first"]


def test_member_names_the_leader_and_its_address(tmp_path: Path, shape: Shape) -> None:
    async def story(trio: Trio) -> None:
        for name in ("b", "c"):
            host, port = trio.doors[name, "a"].address
            async with await trio.dial(name) as caller:
                caller.submit(submission(1, change("v")))
                assert await caller.hear(1) == [NotLeader(1, "a", f"{host}:{port}", 1)]

    told(tmp_path, story, shape=shape)
    assert values(tmp_path / "a") == []


def test_unknown_bucket_is_invalid_and_its_neighbours_are_stored(tmp_path: Path) -> None:
    async def story(trio: Trio) -> None:
        async with await trio.dial() as caller:
            nowhere = submission(2, change("nowhere"), bucket=77)
            caller.submit(submission(1, change("before")), nowhere, submission(3, change("after")))
            invalid, _, _ = await caller.hear(2, 1, 3)
            assert isinstance(invalid, Invalid) and "77" in invalid.reason

    told(tmp_path, story)
    assert values(tmp_path / "a") == ["before", "after"]


def test_batch_that_only_a_leader_may_write_is_invalid(tmp_path: Path) -> None:
    internal = change("decree").marked_internal()
    dated = build(["key"], ["dated"], timestamps=[5])
    several = build(["k", "k"], ["one", "two"], connections=[1, 2], series=[0, 0])

    async def story(trio: Trio) -> None:
        async with await trio.dial() as caller:
            caller.submit(*[submission(number, batch) for number, batch in enumerate((internal, dated, several))])
            assert all(isinstance(answer, Invalid) for answer in await caller.hear(0, 1, 2))

    told(tmp_path, story)
    assert values(tmp_path / "a") == []


def test_clients_that_use_the_same_ids_get_their_own_answers(tmp_path: Path, loop: Any) -> None:
    places: dict[str, int] = {}

    async def story(trio: Trio) -> None:
        callers = [await trio.dial() for _ in range(10)]
        for number in range(20):
            for who, caller in enumerate(callers):
                caller.submit(submission(number, change(f"{who}/{number}")))
        for who, caller in enumerate(callers):
            for number, offset in enumerate(await caller.receipts(*range(20))):
                places[f"{who}/{number}"] = offset
            caller.hang_up()

    told(tmp_path, story, loop=loop)
    assert sorted(places, key=lambda value: places[value]) == values(tmp_path / "c")


def test_large_and_compressed_batches_are_stored_as_they_are(tmp_path: Path, loop: Any, shape: Shape) -> None:
    noise = Random(1).randbytes(7 << 20)
    large = [build(["big"], [noise]), build([f"k{n}" for n in range(60_000)], ["v" * 100] * 60_000).compressed()]

    async def story(trio: Trio) -> None:
        async with await trio.dial() as caller:
            for number, batch in enumerate(large):
                caller.submit(submission(number, batch))
            await caller.receipts(0, 1)

    told(tmp_path, story, loop=loop, shape=shape)
    for name in NAMES:
        assert [bytes(batch.body) for batch in clients_batches(tmp_path / name)] == [bytes(b.body) for b in large]


def test_thousands_of_streams_from_many_clients_each_get_their_receipt(tmp_path: Path) -> None:
    async def story(trio: Trio) -> None:
        callers = [await trio.dial() for _ in range(20)]
        for who, caller in enumerate(callers):
            caller.submit(*[submission(n, change(f"{who}/{n}", connection=1 + 200 * who + n)) for n in range(200)])
        offsets = []
        for caller in callers:
            offsets += await caller.receipts(*range(200))
            caller.hang_up()
        assert len(set(offsets)) == 4000

    told(tmp_path, story)
    assert len(set(values(tmp_path / "b"))) == 4000
    assert len(clients_batches(tmp_path / "b")) < 100


# Deadlines and pressure.

ONE_AT_A_TIME = Settings(flight_bytes_max=1_000)
"""A submission of this size is journalled, and the next one waits until it is committed."""


def test_deadline_that_passes_in_the_backlog_is_expired_and_in_the_log_unknown(tmp_path: Path) -> None:
    async def story(trio: Trio) -> None:
        async with await trio.dial() as caller:
            await trio.stop("c")
            caller.submit(submission(1, change(b"x" * 2_000), wait_us=300_000))
            caller.submit(submission(2, change("waits"), wait_us=300_000))
            caller.submit(submission(3, change("too late"), wait_us=0))
            assert await caller.hear(3, 2, 1) == [Expired(3), Expired(2), Unknown(1)]
            await trio.start("c")
            caller.submit(submission(4, change("in time")))
            await caller.receipts(4)

    told(tmp_path, story, settings=ONE_AT_A_TIME)
    assert values(tmp_path / "c") == ["x" * 2_000, "in time"]


def test_unknown_that_is_submitted_again_is_found_to_be_stored(tmp_path: Path, shape: Shape) -> None:
    async def story(trio: Trio) -> None:
        async with await trio.dial() as caller:
            await trio.stop("c")
            caller.submit(submission(1, change("once", connection=9), wait_us=200_000))
            assert await caller.hear(1) == [Unknown(1)]
            await trio.start("c")
            caller.submit(submission(2, change("once", connection=9)))
            (answer,) = await caller.hear(2)
            assert isinstance(answer, Repeated)

    told(tmp_path, story, shape=shape)
    assert values(tmp_path / "a") == values(tmp_path / "c") == ["once"]


def test_leader_reads_nothing_more_while_a_member_is_away_and_goes_on_when_it_is_back(
    tmp_path: Path, loop: Any, shape: Shape
) -> None:
    """It would have to refuse what it has no room for: nobody is refused, since it waits on the client's side."""
    count = 350
    small = Settings(backlog_count_max=200, flight_bytes_max=256 << 10, patience_us=60_000_000)

    async def story(trio: Trio) -> None:
        async with await trio.dial() as caller, await trio.dial() as late:
            await trio.stop("c")
            for number in range(count):
                caller.submit(submission(number, change(f"{number}".ljust(100_000))))
            await until(lambda: trio.end("a") > 2)
            late.submit(submission(1, change("late")))
            await trio.start("c")
            offsets = await caller.receipts(*range(count))
            assert offsets == sorted(offsets)
            await late.receipts(1)

    told(tmp_path, story, loop=loop, shape=shape, settings=small)
    there = [value.strip() for value in values(tmp_path / "c") if value != "late"]
    assert there == [f"{number}" for number in range(count)]
