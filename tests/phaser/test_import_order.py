"""What is imported comes in order, and all of it, before a bucket opens."""

from hansard.phaser.event import Imports
from hansard.phaser.leader import Phase
from hansard.phaser.outcome import Gap, Importing, Invalid, Receipt, Stored
from tests.phaser.joined import batch, submit
from tests.phaser.test_importing import importing, leading, placed, take


def test_what_does_not_follow_what_is_here_waits_for_what_is_missing() -> None:
    """Or else the places of a batch that was sent back would be taken for empty."""
    joined = importing()
    take(joined, placed(batch(0), 0))
    assert take(joined, placed(batch(2), 7), follows=3) == Gap(1)
    assert take(joined, placed(batch(1), 1), follows=1) == Stored(Receipt(1, 100))
    assert take(joined, placed(batch(2), 7), follows=2) == Stored(Receipt(7, 100)), "what is between them is empty"


def test_it_is_not_over_before_all_of_it_is_there() -> None:
    joined = importing()
    take(joined, placed(batch(0), 0))
    for node in "abc":
        joined.happen(node, Imports(False, 2))
    joined.happen("a", submit(1, 0, 9))
    assert joined.answers[1] == Importing() and not joined.reports
    assert leading(joined).phase is Phase.IMPORTING
    assert isinstance(take(joined, placed(batch(1), 1)), Stored)
    joined.tick()
    assert leading(joined).phase is Phase.OPEN
    assert isinstance(take(joined, placed(batch(2), 2)), Invalid)
