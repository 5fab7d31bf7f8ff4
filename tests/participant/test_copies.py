"""What is kept on disk, and what is dropped."""

from hansard.distributor.bucket import Bucket
from hansard.distributor.distributor import Distributor
from hansard.distributor.member import Member
from hansard.participant.copies import Copies, Standing
from hansard.participant.effect import Drop
from hansard.participant.here import Here
from hansard.participant.settings import Settings


def test_nothing_is_dropped_by_a_table_that_may_be_old() -> None:
    """A later table may need the copy, and its leader may count on what it has acknowledged since."""
    distributor = Distributor()
    other = Member("b", 1)
    distributor.buckets = [Bucket(epoch=3, leader=other, members=(other,), opened=3, full=(other,), level=1)]
    here = Here("a", Settings(), distributor, lambda: 0.0)
    copies = Copies(here, {0: Standing(counted=0, expanded=0, end=4)})
    copies.follow(0)
    assert here.effects == []
    here.member = Member("a", 2)
    copies.follow(0)
    assert here.effects == [Drop(0)]
