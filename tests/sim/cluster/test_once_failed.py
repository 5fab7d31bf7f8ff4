"""Seeds of whole clusters that broke a promise once. They stay, though changes of the simulator make them other worlds
than they were."""

import pytest

from sim.cluster.run import run

ONCE_FAILED = {
    35: "who had departed while a backlog was long held its clients back for ever",
    54: "the same",
    70: "a copy had two turns in one of its node's, and what the first had answered was not told to who judges",
    99: "a leader of the atomic log that had just restarted believed the one of two clocks that was wrong",
    157: "two left in order while the third had lost its disk and was not known to be gone: nobody could come back",
    244: "an expansion did not come to its end",
    263: "a pause that was ordered late was never ended",
    542: "what was sent again below what had come stayed in flight for ever",
    581: "a cluster that was never founded was waited for",
    623: "hops went to where a node had been",
    2103: "a name was gone because one clock that was wrong was the only one that voted",
    2110: "a hop came again after its receiver had restarted",
    20005: "of two clocks that were heard the wrong one was believed, and that was taken for the log's fault",
    20205: "who was told to stop went on when all healed, and led nothing",
    20262: "a client went on asking at those who were gone for good",
    30209: "a leader that had slept opened when others had gone on, and was expected to have what they had",
    700586: "a node that started dropped a copy by the old table on its disk, and its leader counted on it",
    701237: "what was granted to a former life of a node was taken for its own",
    810021: "one of three voters was cut off, and the clocks of the others were two days apart",
    820013: "the same, with the third one down",
    860162: "the same, after a restart of who had heard the third one before",
    850037: "a copy that was given up when its bucket was split was forked twice, and the second fork stayed",
    1003250: "an order by which more copies were wanted moved nothing, and nobody said that there were too few",
    1003315: "of two voters' clocks the wrong one was believed before the council without the third was committed",
    1003350: "the same as 1003250, with all buckets",
    2008570: "one that had slept took the answers that had waited for it for the time, and told everybody",
    2009166: "of two clocks the wrong one was believed, and no majority was heard for long: that was taken for a fault",
    3000093: "a name was used by the time of a clock that was days behind, and gone when the right time was back",
    3000530: "a disk was lost though another voter was down for good: no majority was left",
    4001612: "one was told the wrong one of two times, and nobody told it another for long: taken for a fault",
    702137: "the only disk of a bucket was lost while its report was on the way",
}


@pytest.mark.parametrize("seed", ONCE_FAILED)
def test_a_seed_that_failed_once_keeps_all_promises(seed: int) -> None:
    assert run(seed).broken == ""
