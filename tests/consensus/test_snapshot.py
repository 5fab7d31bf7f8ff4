"""The log is forgotten where a state covers it, and who has missed that gets the state, part by part."""

from collections import Counter
from random import Random

import msgspec
import pytest

from hansard.consensus.content import Entry, Proposed
from hansard.consensus.effect import Applied, Restored
from hansard.consensus.facts import Facts
from hansard.consensus.message import Appended, Message, Part, PartKept
from hansard.consensus.recovered import State, encode
from hansard.consensus.roster import Roster
from hansard.consensus.settings import Settings
from hansard.consensus.snapshot import Snapshot, snapshot
from tests.consensus.joined import Joined, formed
from tests.consensus.single import FIRST, A, B, C, Single, of_terms, only

END = len(FIRST)
SMALL = Settings(lease_us=3_600_000_000, compact_entries=50, keep_entries=20, part_bytes=500)


def contents(joined: Joined, node: str) -> list[bytes]:
    return [fact.content for _, fact in joined.facts(node) if isinstance(fact, Proposed)]


def propose(joined: Joined, node: str, count: int, name: str = "x") -> list[bytes]:
    """So many, settled."""
    wanted = [b"%s%d" % (name.encode(), number) for number in range(count)]
    joined.settle(*[joined.propose(node, content) for content in wanted])
    return wanted


def behind(size: int = 4, count: int = 200, settings: Settings = SMALL) -> tuple[Joined, str]:
    """A cluster of which one, that does not vote if there are four, was cut off while much happened."""
    joined = formed(size, settings)
    away = [node for node in joined.members if node != joined.leader][-1]
    joined.cut(away)
    propose(joined, joined.leader, count)
    return joined, away


# Forgetting.


def test_the_log_does_not_grow_for_ever() -> None:
    joined = formed(3, SMALL)
    for _ in range(10):
        propose(joined, "b", 60)
        joined.run(0.1)
        for core in joined.up:
            assert core.log.end - core.log.start <= SMALL.compact_entries + SMALL.keep_entries
            assert core.log.start > 0


def test_the_state_is_the_same_everywhere() -> None:
    joined = formed(5, SMALL)
    propose(joined, "c", 130)
    joined.until(lambda: joined.settling)
    assert len({core.ledger.snapshot for core in joined.up}) == 1


def test_a_restart_goes_on_from_the_state_and_the_log_behind_it() -> None:
    joined = formed(3, SMALL)
    wanted = propose(joined, "a", 130)
    joined.run(1)
    voters = joined.core("a").voters
    joined.crash("a", "b", "c")
    for node in "abc":
        core = joined.restart(node)
        assert core.log.start > 0
        assert core.voters == voters
    propose(joined, "a", 1, "after")
    joined.until(lambda: joined.settling)
    for node in "abc":
        assert contents(joined, node) == [*wanted, b"after0"]
        assert joined.told(node, Applied)[0].index < 150


@pytest.mark.parametrize("kept", range(6))
def test_a_crash_between_any_two_writes_of_a_compaction_leaves_something_good(kept: int) -> None:
    joined = formed(3, SMALL)
    wanted = propose(joined, "a", 35)
    joined.stalled.add("c")
    wanted += propose(joined, "a", 30, "y")
    joined.run(0.1)
    joined.crash("c", kept=len(joined.members["c"].disk.under_way) - kept)
    joined.stalled.clear()
    joined.restart("c")
    joined.until(lambda: contents(joined, "c") == wanted)


# Sending it.


def test_one_that_is_far_behind_gets_the_state_in_parts() -> None:
    joined, away = behind()
    joined.heal(away)
    begin_us = joined.now_us
    joined.until(lambda: contents(joined, away) == contents(joined, joined.leader))
    parts = joined.messages(Part, to=away, since_us=begin_us)
    total = parts[0].collection.total
    assert sorted({part.number for part in parts}) == list(range(total))
    assert 3 < total <= len(parts) <= total + 1
    assert all(len(part.content) <= SMALL.part_bytes for part in parts)
    (restored,) = joined.told(away, Restored)
    assert restored.end == parts[0].collection.end
    assert joined.core(away).voters == joined.core(joined.leader).voters


def test_one_that_is_a_little_behind_gets_entries() -> None:
    joined, away = behind(count=15)
    joined.heal(away)
    joined.until(lambda: contents(joined, away) == contents(joined, joined.leader))
    assert not joined.messages(Part)


def test_others_are_not_slowed_down_by_it() -> None:
    joined, away = behind()
    joined.heal(away)
    joined.until(lambda: joined.messages(PartKept))
    assert joined.settle(joined.propose(joined.leader, b"meanwhile")) == 2 * joined.delay_us


@pytest.mark.parametrize("seed", range(5))
def test_parts_that_are_lost_are_sent_again(seed: int) -> None:
    joined, away = behind()
    random = Random(seed)
    joined.lose = lambda sent: away in (sent.sender, sent.to) and random.random() < 0.4
    joined.heal(away)
    joined.until(lambda: contents(joined, away) == contents(joined, joined.leader), 60)
    assert len(joined.told(away, Restored)) == 1


def test_a_transfer_that_was_interrupted_goes_on_where_it_was() -> None:
    joined, away = behind()
    joined.heal(away)
    for _ in range(3):
        before = len(joined.messages(PartKept, sender=away))
        joined.until(lambda: len(joined.messages(PartKept, sender=away)) >= before + 2)  # noqa: B023
        joined.cut(away)
        joined.run(1)
        joined.heal(away)
    joined.until(lambda: contents(joined, away) == contents(joined, joined.leader))
    kept = [message.parts for message in joined.messages(PartKept, sender=away)]
    assert kept == sorted(kept)


def test_so_does_one_that_a_crash_of_the_receiver_has_interrupted() -> None:
    joined, away = behind()
    joined.heal(away)
    joined.until(lambda: len(joined.messages(PartKept, sender=away)) >= 5)
    joined.crash(away)
    joined.run(1)
    joined.restart(away)
    begin_us = joined.now_us
    joined.until(lambda: contents(joined, away) == contents(joined, joined.leader))
    assert min(part.number for part in joined.messages(Part, to=away, since_us=begin_us)) >= 4


def test_so_does_one_that_another_leader_has_begun() -> None:
    """Everybody has the same state, so a new leader asks for the first part, and is told how many there are."""
    joined, away = behind()
    joined.heal(away)
    joined.until(lambda: len(joined.messages(PartKept, sender=away)) >= 5)
    old = joined.leader
    joined.crash(old)
    joined.until(lambda: joined.leader not in ("", old))
    begin_us = joined.now_us
    joined.until(lambda: contents(joined, away) == contents(joined, joined.leader))
    numbers = [part.number for part in joined.messages(Part, to=away, since_us=begin_us)]
    assert set(numbers) & set(range(1, 4)) == set()
    assert len(joined.told(away, Restored)) == 1


def test_a_state_that_is_no_longer_there_is_replaced_by_a_newer_one() -> None:
    joined, away = behind()
    joined.heal(away)
    joined.until(lambda: len(joined.messages(PartKept, sender=away)) >= 3)
    joined.cut(away)
    propose(joined, joined.leader, 200, "y")
    old = joined.leader
    joined.crash(old)
    joined.until(lambda: joined.leader not in ("", old))
    joined.heal(away)
    joined.until(lambda: contents(joined, away) == contents(joined, joined.leader))
    assert len({part.collection for part in joined.messages(Part, to=away)}) >= 2
    documents = joined.members[away].disk.documents
    joined.run(0.5)
    assert not [name for name in documents if name.startswith("part-")]


def test_a_tail_that_nobody_else_has_goes_with_it() -> None:
    joined = formed(3, SMALL)
    lonely = joined.leader
    joined.cut(lonely)
    ids = [joined.propose(lonely, b"lonely%d" % number) for number in range(120)]
    joined.until(lambda: joined.leader not in ("", lonely))
    propose(joined, joined.leader, 150)
    joined.heal(lonely)
    joined.settle(*ids)
    joined.until(lambda: joined.settling)
    assert contents(joined, "a") == contents(joined, "b") == contents(joined, "c")
    assert Counter(contents(joined, lonely)).most_common(1)[0][1] == 1
    assert len(contents(joined, lonely)) == 270


def test_a_voter_gets_it_too_and_counts_when_it_has_it_on_disk() -> None:
    joined, away = behind(size=3)
    joined.stalled.add(away)
    joined.heal(away)
    other = next(node for node in "abc" if node not in (away, joined.leader))
    joined.run(1)
    joined.crash(other)
    id = joined.propose(joined.leader, b"needs it")
    joined.run(0.2)
    assert id not in joined.settled
    joined.stalled.clear()
    joined.sync(away)
    joined.settle(id)


# Taking it.


def made(end: int, machine: Facts | None = None, part_bytes: int = 50) -> Snapshot:
    """A state of the log that `FIRST` and then entries of term 1 make."""
    roster = Roster()
    machine = machine or Facts()
    for index, entry in enumerate([*FIRST, *of_terms(*[1] * (end - END))]):
        fact = roster.apply(entry.content)
        if fact is not None:
            machine.apply(index, fact)
    state = State(end=end, term=1, voters=(A, B, C), roster=roster.image(), image=machine.image())
    return snapshot(end, 1, encode(state), part_bytes)


def parts(state: Snapshot, term: int = 2) -> list[Part]:
    return [state.part(term, 0, number) for number in range(state.collection.total)]


def test_a_part_is_on_disk_before_that_is_said() -> None:
    single = Single(syncing=False)
    first, second, *_ = parts(made(50))
    assert only(PartKept, single.hear(B, first)) == []
    assert [kept.parts for kept in only(PartKept, single.sync())] == [1]
    assert only(PartKept, single.hear(B, second)) == []
    assert [kept.parts for kept in only(PartKept, single.sync())] == [2]


def test_parts_come_in_order_and_once() -> None:
    single = Single()
    first, second, third, *rest = parts(made(50))
    for part, kept in ((second, 0), (first, 1), (first, 1), (third, 1), (second, 2), (first, 2), (third, 3)):
        assert [message.parts for message in only(PartKept, single.hear(B, part))] == [kept]
    for part in rest:
        single.hear(B, part)
    assert single.core.committed == single.core.log.start == 50
    assert list(single.core.roster.participants) == ["a", "b", "c"]


def test_a_state_of_what_is_committed_here_is_not_taken() -> None:
    single = Single(of_terms(*[1] * 10))
    single.hear(B, single.append(term=2, committed=END + 10))
    before = (single.core.log.end, single.core.committed)
    for part in parts(made(END + 5)):
        said = single.hear(B, part)
        assert not only(PartKept, said)
        assert [answer.through for answer in only(Appended, said)] == [END + 10]
    assert (single.core.log.end, single.core.committed) == before
    assert not [effect for effect in single.effects if isinstance(effect, Restored)]


def test_newer_entries_stay_where_the_log_goes_through_the_state() -> None:
    """They may have been acknowledged: to throw them away for a state that is older would lose them."""
    single = Single(of_terms(*[1] * 10))
    for part in parts(made(END + 5)):
        single.hear(B, part)
    assert single.core.committed == END + 5
    assert single.core.log.end == END + 10
    assert not [effect for effect in single.effects if isinstance(effect, Restored)]
    single.start()
    assert single.core.log.end == END + 10


def test_entries_that_differ_go_where_the_state_is() -> None:
    single = Single(of_terms(*[2] * 10), term=2)
    for part in parts(made(END + 5), term=3):
        single.hear(B, part)
    assert (single.core.committed, single.core.log.end) == (END + 5, END + 5)
    assert [effect.end for effect in single.effects if isinstance(effect, Restored)] == [END + 5]
    single.start()
    assert (single.core.committed, single.core.log.end) == (END + 5, END + 5)


def test_damaged_parts_make_no_state_and_it_begins_again() -> None:
    single = Single()
    said: list[tuple[str, Message]] = []
    good = parts(made(50))
    damaged = msgspec.structs.replace(good[1], content=bytes(len(good[1].content)))
    for part in (good[0], damaged, *good[2:]):
        assert single.core.committed == 0
        said = single.hear(B, part)
    assert [message.parts for message in only(PartKept, said)] == [0]
    assert single.core.committed == 0
    for part in good:
        single.hear(B, part)
    assert single.core.committed == 50


@pytest.mark.parametrize("kept", range(9))
def test_a_crash_between_any_two_writes_of_the_last_part_leaves_something_good(kept: int) -> None:
    single = Single(of_terms(*[2] * 10), term=2)
    *most, last = parts(made(END + 5, part_bytes=2000), term=3) if kept % 2 else parts(made(END + 5), term=3)
    for part in most:
        single.hear(B, part)
    single.syncing = False
    single.hear(B, last)
    writes = [write for persist in single.under_way for write in persist.writes]
    for write in writes[:kept]:
        single.disk.apply(write)
    single.start()
    single.syncing = True
    assert single.core.committed in (0, END + 5)
    for part in parts(made(END + 5), term=3):
        single.hear(B, part)
    single.hear(B, single.append(Entry(3, FIRST[1].content), term=3, start=END + 5, committed=END + 6))
    assert (single.core.committed, single.core.log.end) == (END + 6, END + 6)
    assert list(single.core.roster.participants) == ["a", "b", "c"]


def test_nothing_is_left_over_of_a_transfer() -> None:
    joined, away = behind()
    joined.heal(away)
    joined.until(lambda: contents(joined, away) == contents(joined, joined.leader))
    for sent in [sent for sent in joined.sent if isinstance(sent.envelope.message, Part)]:
        joined._deliver(sent)  # all of it comes once more, late
    joined.run(1)
    assert [name for name in joined.members[away].disk.documents if name.startswith("part-")] == []
    assert len(joined.told(away, Restored)) == 1
