"""That the invariants bite: each of these states would be a bug, and each is caught."""

from collections.abc import Callable

import msgspec
import pytest

from hansard.phaser import Phaser
from hansard.phaser.government import Government, Shape
from hansard.phaser.invariants import Summary, check_state, check_step, summary
from hansard.phaser.recovered import Expansion
from tests.phaser.joined import Joined, formed, submit


def busy() -> Joined:
    joined = formed(Government(1, "a", ("a", "b", "c"), shape=Shape.STAR))
    joined.happen("a", submit(1, 0), submit(2, 0, 8))
    joined.stalled = {"c"}
    joined.happen("a", submit(3, 1))
    joined.happen("a", submit(4, 2))
    return joined


def committed_ahead_of_the_disk(phaser: Phaser) -> None:
    phaser.ledger.committed = phaser.ledger.synced + 1


def committed_ahead_of_a_member(phaser: Phaser) -> None:
    phaser.ledger.commit_known = phaser.ledger.synced
    phaser.ledger.commit()
    phaser.desk.pending.clear()
    phaser.effects.clear()


def hole_in_the_tail(phaser: Phaser) -> None:
    phaser.ledger.tail.pop(next(iter(phaser.ledger.tail)))


def bytes_miscounted(phaser: Phaser) -> None:
    phaser.ledger.uncommitted_bytes += 1


def run_of_no_entry(phaser: Phaser) -> None:
    phaser.ledger.lineage.end = phaser.ledger.lineage.runs[-1].start


def stream_unrolled_by_half(phaser: Phaser) -> None:
    phaser.ledger.streams.pending.pop()


def receipt_forgotten(phaser: Phaser) -> None:
    phaser.ledger.streams.by_connection.clear()


def term_not_promised(phaser: Phaser) -> None:
    phaser.ledger.promised_synced = 0


def answers_out_of_order(phaser: Phaser) -> None:
    phaser.desk.pending.reverse()


def flight_miscounted(phaser: Phaser) -> None:
    assert phaser.relay is not None
    phaser.relay.feeds["c"].flight_bytes = 0


def acknowledged_by_nobody(phaser: Phaser) -> None:
    assert phaser.relay is not None
    phaser.relay.feeds["c"].through = phaser.ledger.end + 1


def counts_in_memory_only(phaser: Phaser) -> None:
    phaser.ledger.counted_synced = 0
    for ticket in phaser.ledger.tickets:
        ticket.counted = 0


def counts_in_an_epoch_that_is_not_promised(phaser: Phaser) -> None:
    phaser.ledger.counted = phaser.ledger.counted_synced = 2
    for ticket in phaser.ledger.tickets:
        ticket.counted = 2


def leads_and_does_not_count(phaser: Phaser) -> None:
    phaser.ledger.counted = 0
    counts_in_memory_only(phaser)


def expanded_by_an_entry_that_it_lacks(phaser: Phaser) -> None:
    leads_and_does_not_count(phaser)
    phaser.leading = None
    phaser.barrier.running = False
    phaser.ledger.expansion = Expansion(1, phaser.ledger.end + 1)


@pytest.mark.parametrize(
    "spoil",
    [
        committed_ahead_of_the_disk,
        committed_ahead_of_a_member,
        hole_in_the_tail,
        bytes_miscounted,
        run_of_no_entry,
        stream_unrolled_by_half,
        receipt_forgotten,
        term_not_promised,
        answers_out_of_order,
        flight_miscounted,
        acknowledged_by_nobody,
        counts_in_memory_only,
        counts_in_an_epoch_that_is_not_promised,
        leads_and_does_not_count,
        expanded_by_an_entry_that_it_lacks,
    ],
)
def test_a_state_that_must_not_be_is_caught(spoil: Callable[[Phaser], None]) -> None:
    phaser = busy().phasers["a"]
    check_state(phaser)
    spoil(phaser)
    with pytest.raises(AssertionError):
        check_state(phaser)


def test_a_member_that_acknowledges_what_is_not_on_its_disk_is_caught() -> None:
    phaser = busy().phasers["c"]
    check_state(phaser)
    assert phaser.following is not None
    phaser.following.acknowledged = phaser.ledger.end
    with pytest.raises(AssertionError, match="acknowledged"):
        check_state(phaser)


def test_a_member_that_said_that_it_follows_before_it_counts_on_disk_is_caught() -> None:
    phaser = busy().phasers["b"]
    check_state(phaser)
    phaser.ledger.counted = phaser.ledger.counted_synced = 0
    with pytest.raises(AssertionError, match="before it counts"):
        check_state(phaser)


STEPS: dict[str, Callable[[Summary], dict[str, object]]] = {
    "promised": lambda before: {"promised": before.promised - 1},
    "counted": lambda before: {"counted": before.counted - 1},
    "counted_synced": lambda before: {"counted_synced": before.counted_synced - 1},
    "committed": lambda before: {"committed": before.committed - 1},
    "end": lambda before: {"end": before.end - 1},
    "timestamp": lambda before: {"timestamp": before.timestamp - 1},
    "phase": lambda before: {"phase": before.phase - 1},
    "its part": lambda before: {"leads": False, "follows": True},
    "had": lambda before: {"through": tuple([(node, end - 1) for node, end in before.through])},
}


@pytest.mark.parametrize("what", STEPS)
def test_a_step_that_must_not_be_is_caught(what: str) -> None:
    before = summary(busy().phasers["a"])
    check_step(before, before)
    after = msgspec.structs.replace(before, **STEPS[what](before))
    with pytest.raises(AssertionError, match=what):
        check_step(before, after)


def test_a_copy_that_begins_anew_may_fall_back() -> None:
    before = summary(busy().phasers["c"])
    after = msgspec.structs.replace(before, state_from=2, start=2, committed=2, synced=2, end=2)
    check_step(before, after)
