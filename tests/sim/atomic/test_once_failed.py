"""Seeds of the atomic log that broke a promise once. They stay, though changes of the simulator make them other worlds
than they were."""

import pytest

from sim.atomic.run import run

ONCE_FAILED = {
    1: "a life that had departed arrived again",
    4: "where two logs differed the leader asked at the same place for ever",
    11: "a state whose last receipt was lost was sent for ever",
    12: "a voter was removed while another was dead, and nobody could commit that",
    15: "a voter that was needed was told that it is gone",
    23: "what was proposed was applied again two lives later",
    27: "the only log that was long enough was of one that did not vote by it",
    30: "one that did not vote was declared departed, and nobody told it",
    124: "a leader fed a former life of a voter",
    140: "one that left in order was needed still",
    150: "a leader in a new life was answered at its old address",
    201261: "a leader that had moved was asked where it was heard last, whatever others said",
    3681: "restarted with its own removal in the only long log, one did not know that it may still vote",
}


@pytest.mark.parametrize("seed", ONCE_FAILED)
def test_a_seed_that_failed_once_keeps_all_promises(seed: int) -> None:
    assert run(seed).broken == ""
