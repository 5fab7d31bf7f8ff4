"""What a run has seen is counted by what happened, and by nothing that only looks like it."""

from collections.abc import Sequence
from typing import cast

import pytest

from hansard.batch import build
from hansard.phaser.effect import Cut, Effect, Note, Persist, Reset, Send, Write
from hansard.phaser.event import Connected, Continues, Event, Received, Submit, Tick
from hansard.phaser.government import Government, first_term
from hansard.phaser.leader import Phase
from hansard.phaser.message import Collection, Part, PartKept, Refuse, Wedged
from hansard.phaser.outcome import Busy, Gap, Outcome, Receipt, Repeated, Stored
from sim.run import run
from sim.world import edict as real_edict
from sim.world import participant as real
from sim.world.coverage import REQUIRED, Coverage

TERM = first_term(3)
COLLECTION = Collection(offset=10, start=0, start_term=0, total=5, crc=1)


class FakeLeading:
    def __init__(self, phase: Phase, term: int) -> None:
        self.phase = phase
        self.term = term
        self.inherited_end = 10


class FakePhaser:
    def __init__(self) -> None:
        self.leading: FakeLeading | None = None


class FakeParticipant:
    def __init__(self, name: str) -> None:
        self.name = name
        self.phaser = FakePhaser()


class FakeEdict:
    def __init__(self, newest: Government, *full: str) -> None:
        self.newest = newest
        self.full = full


class Watch:
    """Coverage, and the turns of one participant that it is told of."""

    def __init__(self) -> None:
        self.coverage = Coverage()
        self.participant = FakeParticipant("a1")

    def leads(self, phase: Phase | None, term: int = TERM) -> None:
        self.participant.phaser.leading = None if phase is None else FakeLeading(phase, term)

    def turn(
        self, *events: Event, effects: Sequence[Effect] = (), after: Phase | None = None, term: int = TERM
    ) -> None:
        """With these events and effects; `after` is what it is then."""
        participant = cast(real.Participant, self.participant)
        self.coverage.before_turn(participant, events)
        self.leads(after, term)
        self.coverage.after_turn(participant, events, effects)

    def answered(self, outcome: Outcome, continues: Continues | None = None) -> None:
        self.coverage.answered(Submit(1, build([b"k"], [b"v"]), 0, continues=continues), outcome)

    def crashed(self, government: Government, *full: str) -> None:
        edict = cast(real_edict.Edict, FakeEdict(government, *full))
        self.coverage.crashed(cast(real.Participant, self.participant), edict)

    @property
    def counted(self) -> set[str]:
        return {what for what, number in self.coverage.counts.items() if number}

    @property
    def required(self) -> set[str]:
        return self.counted & set(REQUIRED)


@pytest.fixture
def watch() -> Watch:
    return Watch()


def wedged(end: int | None, term: int = TERM, parts: int = 0) -> Received:
    return Received("b1", Wedged(term, end, through=0, stated=True, collection=None, parts=parts))


def persist(*writes: Write) -> Persist:
    return Persist(1, writes)


def part(number: int) -> Send:
    return Send("b1", Part(TERM, COLLECTION, number, b""))


# Usurping.


def test_a_log_that_is_cut_is_a_member_ahead(watch: Watch) -> None:
    watch.turn(effects=[persist(Note(b""))])
    assert not watch.required
    watch.turn(effects=[persist(Note(b""), Cut(3))])
    assert watch.required == {"usurpation with a member ahead"}


def test_a_log_that_is_begun_anew_is_no_member_ahead(watch: Watch) -> None:
    watch.turn(effects=[persist(Reset(3))])
    assert watch.counted == {"copy begun anew"}


def test_a_member_whose_log_ends_before_the_leader_s_is_behind(watch: Watch) -> None:
    watch.leads(Phase.USURPING)
    watch.turn(wedged(9), after=Phase.USURPING)
    assert watch.required == {"usurpation with a member behind"}


@pytest.mark.parametrize(
    ("phase", "event"),
    [
        (Phase.USURPING, wedged(10)),
        (Phase.USURPING, wedged(None)),
        (Phase.USURPING, wedged(9, term=TERM - 1)),
        (Phase.OPEN, wedged(9)),
        (None, wedged(9)),
    ],
    ids=["it has all", "it has nothing in common", "of another term", "the term is open", "it does not lead"],
)
def test_a_member_that_lacks_nothing_of_this_term_s_beginning_is_not_behind(
    watch: Watch, phase: Phase | None, event: Event
) -> None:
    watch.leads(phase)
    watch.turn(event, after=phase)
    assert not watch.required


# Leaders.


def test_a_leader_that_is_open_and_leads_no_more_was_wedged(watch: Watch) -> None:
    watch.turn(Tick(), after=Phase.REPORTING)
    watch.turn(Tick(), after=Phase.OPEN)
    assert watch.counted == {"government opened"}
    watch.turn(Received("b1", Refuse(TERM, TERM + 1)))
    assert watch.required == {"leader wedged"}
    watch.turn(Tick())
    assert watch.coverage.counts["leader wedged"] == 1


def test_a_leader_that_never_opened_was_not_wedged(watch: Watch) -> None:
    watch.turn(Tick(), after=Phase.REPORTING)
    watch.turn(Received("b1", Refuse(TERM, TERM + 1)))
    assert not watch.counted


def test_a_leader_that_is_appointed_again_was_not_wedged(watch: Watch) -> None:
    watch.turn(Tick(), after=Phase.OPEN)
    watch.turn(Tick(), after=Phase.PROMISING, term=first_term(4))
    assert watch.counted == {"government opened", "leader reappointed"}
    watch.turn(Tick(), after=Phase.OPEN, term=first_term(4))
    watch.turn(Tick(), after=Phase.OPEN, term=first_term(4))
    assert watch.coverage.counts["government opened"] == 2


# Acclimating.


def test_the_crash_of_a_newcomer_interrupts_its_acclimation(watch: Watch) -> None:
    government = Government(3, "b1", ("b1",), ("a1",))
    watch.crashed(government, "b1")
    assert watch.required == {"acclimation interrupted"}
    assert watch.coverage.counts["crash"] == 1


@pytest.mark.parametrize("full", [("b1", "a1"), ("b1", "a1", "c1")])
def test_the_crash_of_a_full_member_interrupts_no_acclimation(watch: Watch, full: tuple[str, ...]) -> None:
    watch.crashed(Government(3, "b1", ("b1",), ("a1",)), *full)
    watch.crashed(Government(3, "b1", ("b1", "a1"), ("c1",)), "a1", "b1")
    assert watch.counted == {"crash"}


@pytest.mark.parametrize("event", [Connected("b1"), wedged(None, parts=2)], ids=["connected", "wedged"])
def test_a_later_part_that_follows_an_interruption_resumes_a_snapshot(watch: Watch, event: Event) -> None:
    watch.turn(event, effects=[part(2)])
    assert watch.required == {"snapshot resumed"}


def test_a_snapshot_that_begins_or_goes_on_by_itself_was_not_resumed(watch: Watch) -> None:
    watch.turn(wedged(None), effects=[part(0)])
    watch.turn(Received("b1", PartKept(TERM, COLLECTION, 1)), effects=[part(1)])
    watch.turn(Tick(), effects=[part(1)])
    watch.turn(Connected("b1"), effects=[])
    assert not watch.required


# Submitting.


@pytest.mark.parametrize(
    ("outcome", "what"), [(Repeated(None), "duplicate refused"), (Gap(3), "gap refused")], ids=["duplicate", "gap"]
)
def test_refusals_are_counted_by_their_outcome(watch: Watch, outcome: Outcome, what: str) -> None:
    watch.answered(outcome)
    assert watch.required == {what}


def test_a_wrap_counts_when_it_is_stored(watch: Watch) -> None:
    continues, stored = Continues(1, 30), Stored(Receipt(0, 1))
    watch.answered(stored)
    watch.answered(Gap(3), continues)
    watch.answered(Busy(), continues)
    assert watch.required == {"gap refused"}
    watch.answered(stored, continues)
    assert watch.coverage.counts["wrap"] == 1


def test_a_submission_that_was_stored_in_part_before_is_counted(watch: Watch) -> None:
    watch.answered(Stored(Receipt(0, 1), repeated=0))
    assert "repeated in part" not in watch.counted
    watch.answered(Stored(Receipt(0, 1), repeated=2))
    assert "repeated in part" in watch.counted


# In worlds.


def test_a_few_worlds_see_most_of_what_is_required() -> None:
    """The rest is rare: it is asked of batches of hundreds."""
    seen: set[str] = set()
    for seed in range(5):
        result = run(seed)
        assert not result.broken
        seen |= {what for what, number in result.counts.items() if number}
    rare = {"usurpation with a member ahead", "usurpation with a member behind", "snapshot resumed"}
    assert set(REQUIRED) - seen <= rare
