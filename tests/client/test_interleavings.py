"""Whatever happens to connections, leaders and answers: stored once, in order, and callers are told the truth."""

from collections import Counter

import pytest

from hansard.client import NotStored, OutcomeUnknown
from tests.client.world import World


@pytest.mark.parametrize("hundred", range(4))
def test_with_time_enough_everything_is_stored_once_and_in_order(hundred: int) -> None:
    for seed in range(100 * hundred, 100 * hundred + 100):
        world = World(seed, patient=True)
        world.live(150)
        world.check()


@pytest.mark.parametrize("hundred", range(4))
def test_when_deadlines_pass_every_caller_is_told_what_is_known(hundred: int) -> None:
    for seed in range(1000 + 100 * hundred, 1000 + 100 * hundred + 100):
        world = World(seed, patient=False)
        world.live(150)
        world.check()


def test_the_worlds_see_what_they_are_there_for() -> None:
    """Or the tests above would pass for nothing."""
    seen: Counter[str] = Counter()
    for seed in range(1000, 1100):
        world = World(seed, patient=False)
        world.live(150)
        seen["ended"] += world.stream.ended is not None
        stored = set(world.bucket.values)
        for submission in world.submissions:
            match submission.told:
                case NotStored() if submission.numbered:
                    seen["sent, and stepped over"] += 1
                case OutcomeUnknown():
                    seen["unknown, and stored" if stored & set(submission.values) else "unknown, and not stored"] += 1
                case told:
                    seen[type(told).__name__] += 1
    for what in (
        "ended",
        "sent, and stepped over",
        "unknown, and stored",
        "unknown, and not stored",
        "Receipts",
        "StreamEnded",
        "DeadlinePassed",
    ):
        assert seen[what] > 10, (what, seen)


def test_without_a_stream_nothing_is_stored_twice_and_callers_are_told_the_truth() -> None:
    for seed in range(2000, 2150):
        world = World(seed, patient=False, connection=0)
        world.live(150)
        world.check()
