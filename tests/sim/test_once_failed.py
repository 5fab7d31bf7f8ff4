"""Seeds that broke a promise once. They stay, though changes of the simulator make them other worlds than they were."""

import pytest

from sim.run import run

ONCE_FAILED = {
    8: "a newcomer showed what is committed before its log had reached its state",
    47: "an acknowledgement that was lost in a chain was never asked for again",
    51: "a leader was held to count a newcomer for what it had acknowledged before",
    2051: "a copy that began anew further back did not acknowledge what it got",
    2888: "what is in flight need not reach up to what is sent next, after a reset",
    7100307: "a log that was trimmed up to its end was held to end at its beginning",
}


@pytest.mark.parametrize("seed", ONCE_FAILED)
def test_a_seed_that_failed_once_keeps_all_promises(seed: int) -> None:
    assert run(seed).broken == ""
