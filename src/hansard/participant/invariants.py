"""What must hold of a participant after every turn; tests and the simulator look at it."""

from itertools import pairwise

from hansard.distributor.records import has

from .event import Submit
from .held import Place
from .name import named
from .participant import Participant
from .routing import Router


def check_state(participant: Participant) -> None:
    check_copies(participant)
    check_router(participant.router, set(participant.copies.running))
    assert not participant.here.effects, "what was to be done was not handed out"
    assert not participant.copies.stopped, "who waited for a phaser that was given up was not told"


def check_copies(participant: Participant) -> None:
    """A phaser runs for whoever has a part in its bucket, under the name that it has there, and for nobody else."""
    member, buckets = participant.here.member, participant.distributor.buckets
    for number, copy in participant.copies.running.items():
        assert member is not None, f"a phaser of bucket {number} runs, and we have departed"
        assert copy.bucket == number
        if copy.phaser is not None:
            assert copy.phaser.me == named(member), f"the phaser of bucket {number} has a former name"
            assert has(buckets[number], member), f"a phaser of bucket {number} runs, and we have no part in it"
            assert not copy.inbox, f"bucket {number} has something to do"
            assert copy.told <= buckets[number].epoch
            assert copy.level == buckets[number].level == copy.phaser.desk.buckets, f"bucket {number} was split"
    if member is not None:
        for number, record in enumerate(buckets):
            if member in record.members or member in record.newcomers:
                assert number in participant.copies.running, f"nobody looks after bucket {number}"


def check_router(router: Router, running: set[int]) -> None:
    """Every submission is in one place, and all of them are counted."""
    local, away = list(router.local.values()), list(router.away.values())
    parked = [held for queue in router.parked.queues.values() for held in queue]
    assert all(isinstance(held, Submit) or held.place is Place.LOCAL for held in local)
    assert all(held.bucket in running for held in local)
    assert all(held.place is Place.AWAY for held in away)
    assert all(held.place is Place.PARKED for held in parked)
    assert all(router.parked.queues.values()), "a queue without anything in it holds up what comes next"
    for queue in router.parked.queues.values():
        assert all(one.order < other.order for one, other in pairwise(queue)), "something was overtaken"
    assert router.ways.total == len(local) + len(away), "something is taken for under way that is not"
    everything = [*local, *away, *parked]
    assert router.count == len(everything), f"{router.count} submissions are counted, and {len(everything)} are there"
    assert router.bytes == sum([held.batch.length for held in everything])
