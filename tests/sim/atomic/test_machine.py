"""The recorder's chain tells histories apart, and an image brings it back."""

from hansard.consensus.content import Fact, Proposed, Upgraded
from sim.atomic.machine import RECENT, Recorder, chained


def told(*facts: Fact, first: int = 0) -> Recorder:
    recorder = Recorder()
    for index, fact in enumerate(facts, first):
        recorder.apply(index, fact)
    return recorder


def proposed(number: int) -> Proposed:
    return Proposed("a", 1, b"%d" % number)


def test_the_same_facts_give_the_same_chain_and_others_another() -> None:
    facts: list[Fact] = [proposed(1), Upgraded(2), proposed(2)]
    assert told(*facts).chain == told(*facts).chain
    others = [told(*facts[:2]), told(facts[0], facts[2], facts[1]), told(*facts, first=1), told(*facts, proposed(3))]
    assert len({told(*facts).chain, *[other.chain for other in others]}) == 5


def test_an_image_brings_back_all_of_it() -> None:
    recorder = told(*[proposed(number) for number in range(RECENT + 5)])
    other = told(proposed(77))
    other.restore(recorder.image())
    assert (other.chain, other.count, other.image()) == (recorder.chain, recorder.count, recorder.image())
    other.apply(50, proposed(50))
    recorder.apply(50, proposed(50))
    assert other.chain == recorder.chain == chained(told(*[proposed(n) for n in range(15)]).chain, 50, proposed(50))


def test_an_empty_image_is_the_state_before_any_fact() -> None:
    recorder = told(proposed(1))
    recorder.restore(b"")
    assert (recorder.chain, recorder.count, recorder.image()) == (0, 0, Recorder().image())
