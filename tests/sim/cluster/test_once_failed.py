"""Seeds of whole clusters that broke a promise once. They stay, though changes of the simulator make them other worlds
than they were."""

import pytest

from sim.cluster.run import run

ONCE_FAILED = {
    99: "a leader of the atomic log that had just restarted believed the one of two clocks that was wrong",
    244: "an expansion did not come to its end",
    263: "a pause that was ordered late was never ended",
    542: "what was sent again below what had come stayed in flight for ever",
    581: "a cluster that was never founded was waited for",
    623: "hops went to where a node had been",
    2103: "a name was gone because one clock that was wrong was the only one that voted",
    2110: "a hop came again after its receiver had restarted",
}


@pytest.mark.parametrize("seed", ONCE_FAILED)
def test_a_seed_that_failed_once_keeps_all_promises(seed: int) -> None:
    assert run(seed).broken == ""
