"""The short way comes to what the long way comes to: the same effects in the same half of the turn, and the same phaser
afterwards. Whatever is unusual does not go it.

Here every turn that goes the short way is gone the long way too, by a copy of the phaser as it was before. If the last
turn was not finished by then, that is done first; on the short way it is done after.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Sequence
from copy import deepcopy
from enum import Enum
from typing import ClassVar

import pytest
from msgspec import Struct
from msgspec.structs import replace

from hansard.batch import Batch, build, covering, merge, select
from hansard.phaser import Phaser, Settings
from hansard.phaser.decree import Decree, as_batch
from hansard.phaser.effect import Effect, Persist, Send
from hansard.phaser.event import Continues, Event, Hindered, Import, Imports, Paused, Read, Received, Submit, Trimmed
from hansard.phaser.government import NO_TERM, Government, Shape, first_term
from hansard.phaser.message import Acknowledge, Append, Commit, Estranged, Part
from hansard.phaser.outcome import ReadOnly
from sim.world import participant as participant_module
from sim.world.plan import plan
from sim.world.world import World
from tests.phaser import joined as joined_module
from tests.phaser.joined import FAR, Joined, batch, formed, submit
from tests.phaser.test_applications import three
from tests.phaser.test_turn import BOTH, acknowledged, deaf

STAR, CHAIN = Shape.STAR, Shape.CHAIN
TERM = first_term(1)


# Both ways.


class Both(Phaser):
    """Goes both ways, in every turn in which it takes the short one."""

    __slots__ = ()
    others: ClassVar[dict[int, Phaser]]
    """Copies that went the long way in a turn that is not finished."""
    ways: ClassVar[Counter[str]]
    """The short ones that were taken."""

    def begin(self, events: Sequence[Event], now_us: int, wall_us: int) -> list[Effect]:
        other = deepcopy(self) if len(events) == 1 and may_be_short(events[0]) else None
        effects = super().begin(events, now_us, wall_us)
        self.others.pop(id(self), None)
        if other is None or self.ledger.late is None:
            return effects
        if other.ledger.unsettled:
            self.ways["after what was put off"] += 1
            if any(isinstance(effect, Persist) for effect in other.finish() + deepcopy(self).finish()):
                return effects  # a state is stored, before what has come or after it: that is as good, and not the same
        with_nothing = Paused(other.desk.paused)  # two events at once go the long way
        assert other.begin([*events, with_nothing], now_us, wall_us) == effects and other.ledger.late is None
        self.others[id(self)] = other
        return effects

    def finish(self) -> list[Effect]:
        effects = super().finish()
        other = self.others.pop(id(self), None)
        if other is not None:
            assert other.finish() == effects
            assert plain(other, {}) == plain(self, {})
            passes_on = self.following is not None and self.following.relay.feeds
            self.ways["submitted" if self.leading is not None else "passed on" if passes_on else "followed"] += 1
        return effects


def may_be_short(event: Event) -> bool:
    """No others are copied, which takes long."""
    return isinstance(event, Submit) or (isinstance(event, Received) and isinstance(event.message, Append))


def plain(thing: object, told: dict[int, int]) -> object:
    """All that there is of it, in its order if it has one; what several others have is told once, and then numbered."""
    if isinstance(thing, Batch | Struct | Enum):
        return thing
    if isinstance(thing, dict):
        pairs = [(key, plain(value, told)) for key, value in thing.items()]
        return pairs if isinstance(thing, OrderedDict) else dict(pairs)
    if isinstance(thing, list | tuple | deque):
        return [plain(item, told) for item in thing]
    names = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    names += getattr(thing, "__dict__", {})
    if not names or id(thing) in told:
        return told.get(id(thing), thing)
    told[id(thing)] = len(told)
    return {name: plain(getattr(thing, name), told) for name in names}


@pytest.fixture(autouse=True)
def ways(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Everybody goes both ways; this is how often. Nothing changes a batch, so all copies share it."""
    taken: Counter[str] = Counter()
    monkeypatch.setattr(Batch, "__deepcopy__", lambda batch, memo: batch, raising=False)
    monkeypatch.setattr(Both, "ways", taken, raising=False)
    monkeypatch.setattr(Both, "others", {}, raising=False)
    monkeypatch.setattr(participant_module, "Phaser", Both)
    monkeypatch.setattr(joined_module, "Phaser", Both)
    return taken


def tell(joined: Joined, node: str, event: Event) -> list[Effect]:
    """In a turn of its own. What it wants is not carried out."""
    return joined.phasers[node].turn([event], joined.now_us, joined.wall_us)


def is_short(joined: Joined, node: str, event: Event) -> bool:
    before = Both.ways.total()
    tell(joined, node, event)
    return Both.ways.total() > before


@pytest.mark.parametrize("seed", [4, 6, 11, 0, 9, 18])
def test_a_world_with_faults_is_the_same_by_either_way(seed: int, ways: Counter[str]) -> None:
    world = World(plan(seed))
    world.run()
    assert world.nemesis.took_effect >= 10
    assert ways["submitted"] >= 100 and ways["followed"] >= 100
    assert ways["passed on"] >= 200 if world.plan.shape is CHAIN else not ways["passed on"]


# The usual.


def test_a_lone_submission_goes_the_short_way_everywhere(shape: Shape, ways: Counter[str]) -> None:
    joined = formed(three(shape))
    joined.happen("a", submit(1, 0))
    assert len(joined.answers) == 1
    assert ways["submitted"] == 1 and ways["passed on"] == (shape is CHAIN) and ways.total() == 3


USUAL = {
    "the first of a stream": batch(0, 8),
    "several changes": batch(1, count=3),
    "series with gaps": build(["a", "b"], ["v", "w"], connection=7, first_series=3, previous_series=0, series=[3, 9]),
    "neither keys nor values": build([None], [None], connection=7, first_series=1, previous_series=0),
    "compressed": batch(1, value=b"v" * 1000).compressed(),
    "larger than what is merged": batch(1, value=b"v" * 10_000),
}


@pytest.mark.parametrize("content", USUAL.values(), ids=USUAL)
def test_what_a_client_submits_in_order_is_usual(content: Batch) -> None:
    assert is_short(leader(), "a", Submit(9, content, FAR))


def test_a_leader_by_itself_goes_the_short_way_as_long_as_there_is_room() -> None:
    joined = formed(Government(1, "a", ("a",)), Settings(flight_bytes_max=10_000))
    assert is_short(joined, "a", Submit(1, batch(0, value=b"v" * 10_000), FAR))
    assert not is_short(joined, "a", submit(2, 1))


def test_what_is_under_way_is_not_waited_for(shape: Shape, ways: Counter[str]) -> None:
    """Nor does it matter that the clock has gone back."""
    joined = formed(three(shape))
    joined.lose = lambda sender, to, message: isinstance(message, Acknowledge)
    for series in range(3):
        joined.wall_us -= 1000
        joined.happen("a", submit(series, series))
    assert ways["submitted"] == 3 and ways.total() == 9


def test_what_an_earlier_term_has_written_is_usual() -> None:
    """A member that lacks it gets it in a later one, perhaps from somebody else than what came before."""
    joined = member()
    joined.accepting = False
    joined.appoint(three(STAR, 2))
    message = following(joined, "c")
    assert message.batch.header.epoch < message.term
    assert is_short(joined, "c", Received("b", message))


@pytest.mark.parametrize("committed", [0, 1, 2, 3, 99])
def test_what_is_passed_on_has_the_newest_commit_point_that_is_known(committed: int, ways: Counter[str]) -> None:
    """It may have been on its way for longer than that."""
    joined = member()
    joined.lose = lambda sender, to, message: isinstance(message, Commit)
    joined.happen("a", submit(2, 1))
    ledger = joined.phasers["b"].ledger
    assert ledger.commit_known == 2 < ledger.synced
    (sent, *_) = tell(joined, "b", Received("a", following(joined, committed=committed)))
    assert isinstance(sent, Send) and isinstance(sent.message, Append)
    assert sent.to == "c" and sent.message.committed == max(committed, 2)
    assert ways["passed on"] == 3


# What is unusual for a leader.


def leader() -> Joined:
    """It has a submission of one stream, has forgotten another one, and has little room."""
    settings = Settings(flight_bytes_max=10_000, backlog_bytes_max=15_000, checkpoint_batches=2, part_bytes=40)
    joined = formed(replace(three(STAR), memory_us=1000), settings)
    joined.happen("a", submit(0, 0, 5))
    joined.wall_us += 5000
    joined.happen("a", submit(1, 0))
    return joined


UNUSUAL = {
    "stored before": submit(9, 0),
    "stored before in part": submit(9, 0, count=3),
    "too early": submit(9, 5),
    "of a stream that is forgotten": submit(9, 1, 5),
    "too late": replace(submit(9, 1), deadline_us=0),
    "cut for more buckets": replace(submit(9, 1), buckets=2),
    "going on from another stream": replace(submit(9, 0, 8), continues=Continues(7, 0)),
    "of no stream": Submit(9, build([b"k"], [b"v"]), FAR),
    "of several streams": Submit(9, merge([batch(1), batch(0, 8)]), FAR),
    "with its own places": Submit(9, select(batch(1, count=3), batch(1, count=3).series != 2), FAR),
    "with its own times": Submit(9, build(["k"], ["v"], connection=7, first_series=1, timestamps=[5]), FAR),
    "internal": Submit(9, batch(1).marked_internal(), FAR),
    "of nothing": Submit(9, covering(0, 1, 0, 0), FAR),
    "too large": Submit(9, batch(1, value=b"v" * 15_000), FAR),
}


@pytest.mark.parametrize("unusual", UNUSUAL.values(), ids=UNUSUAL)
def test_what_is_not_simply_the_next_of_its_stream_goes_the_long_way(unusual: Submit) -> None:
    assert not is_short(leader(), "a", unusual)


def fill(joined: Joined, slow: str) -> None:
    """There is no room for more before this one has it on disk."""
    joined.stalled = {slow}
    joined.happen("a", Submit(2, batch(1, value=b"v" * 10_000), FAR))


def bring(joined: Joined) -> None:
    """An import in the next term, which does not open: what it writes first is no decree."""
    joined.accepting = False
    joined.happen("a", Imports(True))
    joined.appoint(three(STAR, 2))
    joined.happen("a", Import(5, following(joined, "a").batch, FAR, 0), Imports(False))


def add_a_newcomer(joined: Joined) -> None:
    joined.add("d")
    joined.appoint(Government(2, "a", ("a", "b", "c"), ("d",), memory_us=1000))
    joined.happen("a", submit(2, 1))


LEADING: dict[str, Callable[[Joined], object]] = {
    "paused": lambda joined: joined.happen("a", Paused(True)),
    "with a backlog": lambda joined: joined.happen("a", Paused(True), submit(2, 1)),
    "hindered": lambda joined: joined.happen("a", Hindered(ReadOnly("b", "its disk is full"))),
    "importing": lambda joined: joined.happen("a", Imports(True)),
    "not open": bring,
    "full": lambda joined: fill(joined, "b"),
    "with a member that has restarted": lambda joined: tell(joined, "a", Received("b", Estranged(TERM))),
    "with a newcomer": add_a_newcomer,
    "with a read under way": lambda joined: tell(joined, "a", Read(1, FAR)),
}


@pytest.mark.parametrize("arrange", LEADING.values(), ids=LEADING)
def test_a_leader_with_anything_else_to_do_goes_the_long_way(arrange: Callable[[Joined], object]) -> None:
    joined = leader()
    arrange(joined)
    assert not is_short(joined, "a", submit(9, 0, 9))


def put_off(joined: Joined) -> Joined:
    """The leader has heard that everybody has all, and has not finished that turn."""
    joined.phasers["a"].begin([acknowledged(joined)], joined.now_us, joined.wall_us)
    assert joined.phasers["a"].ledger.unsettled
    return joined


def test_what_is_left_of_a_turn_may_wait_for_the_next_submission(ways: Counter[str]) -> None:
    """The commit point goes with that, and not by itself. All else is the same."""
    assert is_short(put_off(deaf()), "a", submit(2, 1))
    assert ways["after what was put off"] == 1


def test_it_does_not_wait_where_there_is_a_decree_in_it() -> None:
    joined = Joined("ab")
    joined.lose = lambda sender, to, message: isinstance(message, Acknowledge)
    joined.appoint(BOTH)
    assert not is_short(put_off(joined), "a", submit(1, 0))


def test_it_does_not_wait_where_a_stream_may_be_forgotten_by_it() -> None:
    joined = deaf()
    joined.happen("a", acknowledged(joined))
    joined.wall_us += 5000
    joined.happen("a", submit(2, 0, 8))
    assert not is_short(put_off(joined), "a", submit(3, 1))


# What is unusual for a member.


def member() -> Joined:
    """In a chain, between a leader and another member."""
    joined = formed(three(CHAIN), Settings(flight_bytes_max=10_000))
    joined.happen("a", submit(1, 0))
    return joined


def following(joined: Joined, node: str = "b", content: Batch | None = None, **changes: object) -> Append:
    """What follows all that it has, in the same term."""
    ledger = joined.phasers[node].ledger
    term, end = ledger.lineage.last_term, ledger.end
    placed = (content or batch(50, previous=0)).stamped(epoch=term, base_offset=end, timestamp=ledger.timestamp)
    return replace(Append(ledger.promised, term, end, placed, ledger.commit_known), **changes)


def further_on(joined: Joined) -> Append:
    message = following(joined)
    end = message.previous_end + 1
    return replace(message, previous_end=end, batch=message.batch.placed(epoch=message.term, base_offset=end))


def first_of_its_term(joined: Joined) -> Append:
    """Where a term begins is noted."""
    joined.lose = lambda sender, to, message: isinstance(message, Append)
    bring(joined)
    return joined.messages(Append, "a", "b")[-1]


SENT: dict[str, Callable[[Joined], Append]] = {
    "there already": lambda joined: joined.messages(Append, "a", "b")[-1],
    "further on": further_on,
    "after nobody knows what": lambda joined: following(joined, previous_term=NO_TERM),
    "of an earlier term": lambda joined: following(joined, term=TERM - 1),
    "of a later term": lambda joined: following(joined, term=TERM + 1),
    "the first of its term": first_of_its_term,
    "a decree": lambda joined: following(joined, content=as_batch(Decree(TERM, three(CHAIN), False))),
}


@pytest.mark.parametrize("unusual", SENT.values(), ids=SENT)
def test_what_does_not_simply_follow_goes_the_long_way(unusual: Callable[[Joined], Append]) -> None:
    joined = member()
    assert not is_short(joined, "b", Received("a", unusual(joined)))


def ask(joined: Joined) -> None:
    """It will say what it has once its promise is on disk."""
    joined.stalled = {"b"}
    joined.appoint(three(CHAIN, 2))
    joined.happen("b", Received("a", Commit(first_term(2), 0)))
    member = joined.phasers["b"].following
    assert member is not None and member.demanded


def leave_behind(joined: Joined) -> None:
    """What the next one lacks is being fetched."""
    joined.lose = lambda sender, to, message: isinstance(message, Append) and to == "c"
    joined.happen("a", submit(2, 1))
    joined.restart("b")
    joined.slow = {"b"}
    joined.appoint(three(CHAIN), "b")
    relay = joined.phasers["b"].relay
    assert relay is not None and relay.feeds["c"].introduced and relay.feeds["c"].fetching


FOLLOWING: dict[str, Callable[[Joined], object]] = {
    "asked what it has": ask,
    "importing": lambda joined: joined.happen("b", Imports(True)),
    "restarted": lambda joined: joined.restart("b"),
    "before one that has restarted": lambda joined: tell(joined, "b", Received("c", Estranged(TERM))),
    "before one that takes no more": lambda joined: fill(joined, "c"),
    "before one that is behind": leave_behind,
}


@pytest.mark.parametrize("arrange", FOLLOWING.values(), ids=FOLLOWING)
def test_a_member_with_anything_else_to_do_goes_the_long_way(arrange: Callable[[Joined], object]) -> None:
    joined = member()
    arrange(joined)
    assert not is_short(joined, "b", Received("a", following(joined)))


@pytest.mark.parametrize("parts", [0, 1])
def test_a_copy_that_begins_anew_takes_no_batch(parts: int) -> None:
    """It has a log that has nothing to do with the others, or some parts of a state."""
    joined = leader()
    for node in "abc":
        joined.happen(node, Trimmed(joined.disks[node].trim(joined.phasers[node].droppable)))
    joined.add("d", formed(Government(5, "d", ("d",))).disks["d"])
    joined.lose = lambda sender, to, message: isinstance(message, Part) and message.number >= parts
    joined.appoint(Government(6, "a", ("a", "b", "c"), ("d",)))
    newcomer = joined.phasers["d"]
    assert newcomer.following is not None and newcomer.ledger.lineage.runs
    assert newcomer.following.foreign == (parts == 0) and len(newcomer.ledger.parts) == parts
    assert not is_short(joined, "d", Received("a", following(joined, "d")))
