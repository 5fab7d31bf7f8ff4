"""What is always true of a phaser between two turns, and of a turn as a whole.

`check_state` looks at one phaser; `check_step` compares two summaries of the same life, before and after a turn. Both
raise AssertionError with what is wrong. They are for tests and simulators: a few tens of microseconds for a phaser that
has little in memory, so that every turn can be followed by them.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from .barrier import Barrier
from .desk import Desk
from .feed import Feed
from .government import NO_TERM, NodeId, Term, epoch_of
from .hearing import patient
from .leader import Leader, Phase
from .ledger import Ledger
from .lineage import Lineage
from .member import Member
from .message import Collection
from .phaser import Phaser
from .relay import Relay
from .settings import Settings
from .soundness import WALKED_MAX, check_derived, check_streams

_DECREES_BYTES: Final = 4 << 10
"""Decrees are journalled whether there is room or not; there are two in a term."""


def check_state(phaser: Phaser) -> None:
    """All that holds after a turn."""
    ledger = phaser.ledger
    assert not phaser.effects, "effects stay behind"
    assert not ledger.writes, "writes stay behind"
    assert not ledger.unsettled or patient(phaser), "a turn is not finished"
    check_lineage(ledger.lineage, ledger.promised)
    check_places(ledger)
    check_tickets(ledger)
    check_memory(ledger)
    check_derived(ledger)
    check_counted(ledger)
    check_streams(ledger.streams)
    check_role(phaser)
    check_desk(phaser.desk, ledger)
    check_barrier(phaser.barrier, phaser.leading, purged=ledger.purged)


# The log.


def check_lineage(lineage: Lineage, promised: Term) -> None:
    """Two logs are compared by their runs, so those have to be true of the log."""
    start, end, runs = lineage.start, lineage.end, lineage.runs
    assert 0 <= start <= end, f"the log goes from {start} to {end}"
    assert runs or start == end, f"nobody wrote what is before {end}"
    assert all(a.term < b.term and a.start < b.start for a, b in pairwise(runs)), f"runs do not rise: {runs}"
    if runs:
        assert runs[0].term > NO_TERM, f"a run of no term: {runs}"
        assert runs[-1].start < end, f"the run {runs[-1]} has no entry before {end}"
        assert runs[-1].term <= promised, f"an entry of {runs[-1].term}, though only {promised} is promised"


def check_places(ledger: Ledger) -> None:
    """start <= committed <= synced <= end: readers see nothing that a crash could take away."""
    start, committed, synced, end = ledger.start, ledger.committed, ledger.synced, ledger.end
    assert start <= committed, f"committed {committed} lies before the log's beginning {start}"
    assert committed <= synced, f"committed {committed}, though only {synced} is on disk"
    assert synced <= end, f"{synced} is on disk, though the log ends at {end}"
    assert committed <= max(ledger.commit_known, start, ledger.state_from or 0), f"nobody said that {committed} is"
    assert ledger.promised_synced <= ledger.promised, "a promise on disk that was never made"


def check_tickets(ledger: Ledger) -> None:
    """What is under way to the disk: in order, and the last one has all of it."""
    tickets = ledger.tickets
    assert len(tickets) == ledger.ticket - ledger.persisted_ticket, "a ticket was lost"
    if not tickets:
        assert (ledger.synced, ledger.promised_synced) == (ledger.end, ledger.promised), "something was never written"
        assert ledger.counted_synced == ledger.counted, "that it counts was never written"
        return
    first, last = tickets[0], tickets[-1]
    assert (first.number, last.number) == (ledger.persisted_ticket + 1, ledger.ticket), (
        "tickets are not numbered through"
    )
    assert (last.end, last.promised) == (ledger.end, ledger.promised), "the last ticket does not have all"
    assert last.counted == ledger.counted, "that it counts is not under way"
    assert ledger.synced <= first.end and ledger.promised_synced <= first.promised, "a ticket takes something back"
    if len(tickets) <= WALKED_MAX:
        assert all(a.end <= b.end and a.promised <= b.promised for a, b in pairwise(tickets)), "tickets do not rise"


def check_memory(ledger: Ledger) -> None:
    """The batches in memory are the end of the log, and what is counted of them is right."""
    tail, uncommitted = ledger.tail, ledger.uncommitted
    if not tail:
        assert not ledger.tail_bytes, f"{ledger.tail_bytes} bytes in an empty tail"
    elif len(tail) <= WALKED_MAX:
        next_offset = next(iter(tail))
        for offset, batch in tail.items():
            assert offset == next_offset == batch.header.base_offset, f"a hole in the tail before {offset}"
            next_offset = batch.header.end_offset
        assert next_offset == ledger.end, f"the tail ends at {next_offset}, the log at {ledger.end}"
        assert ledger.tail_bytes == sum([batch.length for batch in tail.values()]), "tail_bytes is not the sum"
    else:
        assert tail[next(reversed(tail))].header.end_offset == ledger.end, "the tail ends before the log"
    _check_queue(uncommitted, ledger.uncommitted_bytes, "uncommitted")
    if uncommitted:
        assert uncommitted[-1][0] == ledger.end, "what was appended last is not counted as uncommitted"


def check_counted(ledger: Ledger) -> None:
    """A copy says that it counts only where it has the state and the entries for that, and only once on disk."""
    counted, expansion, epoch = ledger.counted, ledger.expansion, epoch_of(ledger.promised)
    assert ledger.counted_synced <= counted <= epoch, f"it counts in {counted}, and has promised {epoch}"
    if counted or expansion is not None:
        assert ledger.stated, "it counts without a state"
    if expansion is not None:
        assert counted < expansion.epoch <= epoch, f"{expansion}, though it counts in {counted} of {epoch}"
        assert expansion.end <= ledger.end, f"{expansion}, though the log ends at {ledger.end}"


# The part that it has in its term.


def check_role(phaser: Phaser) -> None:
    leading, following, government, ledger = phaser.leading, phaser.following, phaser.government, phaser.ledger
    assert leading is None or following is None, "it leads and follows at once"
    if government is not None:
        assert government.epoch == epoch_of(ledger.promised), f"the government of {ledger.promised} is {government}"
    if leading is not None:
        assert government == leading.government and government.leader == phaser.me, "it leads another's government"
        check_leader(leading)
    if following is not None:
        assert government == following.relay.wedge.government, "it follows another government than it knows of"
        assert government.leader != phaser.me, "it follows itself"
        check_member(following)
        early = [waiting.submit.epoch for waiting in phaser.desk.backlog.queue]
        assert all(epoch > government.epoch for epoch in early), "a member keeps what is its leader's"
        assert not phaser.desk.pending, "a member owes an answer"


def check_leader(leading: Leader) -> None:
    """Nobody hears of a term that is not on this disk; nothing is committed that not everybody has who counts."""
    ledger, relay = leading.ledger, leading.relay
    assert leading.term == ledger.promised, f"it leads {leading.term}, and has promised {ledger.promised}"
    assert ledger.stated, "it leads without a state"
    assert ledger.counted == leading.government.epoch, f"it leads, and counts in {ledger.counted}"
    assert (relay is None) == (leading.phase is Phase.PROMISING), f"{leading.phase} and {relay}"
    if relay is None:
        return
    assert ledger.promised_synced == leading.term, "others heard of a term that is not on this disk"
    assert relay.wedge.term == leading.term and relay.wedge.expanded == leading.expanded, "it tells something else"
    newcomers = leading.government.newcomers if leading.phase is Phase.OPEN and not leading.expanded else ()
    assert set(relay.feeds) == {*leading.counted, *newcomers}, f"it feeds {list(relay.feeds)}"
    check_relay(relay, ledger.settings)
    for feed in relay.feeds.values():
        assert feed.through <= ledger.end, f"{feed.node} has more of this term than its leader"
        assert feed.confirmed <= relay.round, f"{feed.node} confirmed a round that was never begun"
        assert feed.next <= ledger.end or not feed.streaming, f"{feed.node} is to get what is not there yet"
    if leading.phase is Phase.OPEN:
        assert ledger.committed >= leading.inherited_end, "it has opened and takes back what it inherited"
        room = ledger.settings.flight_bytes_max + _DECREES_BYTES
        last = ledger.uncommitted[-1][1] if ledger.uncommitted else 0
        assert ledger.uncommitted_bytes - last < room, f"{ledger.uncommitted_bytes} bytes are not committed"
        if not leading.expanded or ledger.committed >= leading.expansion_end:
            assert ledger.committed <= leading.common_end(), "committed, and not on the disk of everybody who counts"


def check_member(following: Member) -> None:
    """It never says that something is on disk which is not."""
    ledger, relay = following.ledger, following.relay
    assert relay.wedge.term == ledger.promised, f"it follows {relay.wedge.term}, and has promised {ledger.promised}"
    assert following.acknowledged <= ledger.synced, f"{following.acknowledged} acknowledged, {ledger.synced} on disk"
    if ledger.promised_synced != ledger.promised:
        assert following.acknowledged == -1, "it acknowledged before its promise was on disk"
    if following.wedged_mark is None and following.me in relay.wedge.government.members and ledger.stated:
        assert ledger.counted_synced == epoch_of(ledger.promised), "it said that it follows before it counts on disk"
    assert following.round_answered <= following.round, "it confirmed what nobody asked"
    if following.part_mark is not None:
        assert following.part_of is not None and following.part_mark <= ledger.ticket, "a part that is nobody's"
    check_relay(relay, ledger.settings)


def check_relay(relay: Relay, settings: Settings) -> None:
    for node, feed in relay.feeds.items():
        assert feed.node == node, f"{feed.node} is fed as {node}"
        assert feed.commit_sent <= relay.ledger.commit_known, f"{node} was told of a commit that nobody knows of"
        check_feed(feed, settings)


def check_feed(feed: Feed, settings: Settings) -> None:
    """Bytes in flight are bounded: by the setting, what is read from disk at a time, and one batch that goes beyond."""
    flight, transfer = feed.flight, feed.transfer
    _check_queue(flight, feed.flight_bytes, f"in flight to {feed.node}")
    if flight:
        assert flight[-1][0] <= feed.next, "in flight, though it is still to be sent"
        room = settings.flight_bytes_max + settings.fetch_bytes
        assert feed.flight_bytes - flight[-1][1] < room, f"{feed.flight_bytes} bytes in flight to {feed.node}"
    if transfer is not None:
        assert not transfer.done, f"{feed.node} has the state, and is sent it"
        assert not flight, f"{feed.node} is sent batches before it has a state"


# Clients.


def check_desk(desk: Desk, ledger: Ledger) -> None:
    """Bounded, and in order: what is answered first waits first."""
    backlog, settings, pending = desk.backlog, desk.settings, desk.pending
    assert len(backlog) <= settings.backlog_count_max, f"{len(backlog)} submissions wait"
    assert 0 <= backlog.byte_count <= settings.backlog_bytes_max, f"{backlog.byte_count} bytes wait"
    if len(backlog) <= WALKED_MAX:
        assert backlog.byte_count == sum([waiting.submit.batch.length for waiting in backlog.queue]), "not the sum"
    if pending:
        assert pending[0].end > ledger.committed, "it is committed, and not answered"
        assert pending[-1].end <= ledger.end, "an answer waits for what was unrolled"
    if len(pending) <= WALKED_MAX:
        assert all(a.end <= b.end for a, b in pairwise(pending)), "answers are out of order"


def check_barrier(barrier: Barrier, leading: Leader | None, *, purged: bool = True) -> None:
    """Reads wait for the round under way or the next one, and only a leader has any. After a split none begins before
    the applications are purged."""
    waiting = barrier.waiting
    is_open = leading is not None and leading.phase is Phase.OPEN
    assert is_open or not barrier.running, "a round goes on, and nobody leads"
    assert leading is not None or not waiting, "reads wait, and nobody leads"
    assert not (is_open and waiting and purged) or barrier.running, "reads wait, and no round goes on"
    if waiting:
        assert waiting[-1].round <= barrier.round + 1, "a read waits for a round after the next"
        assert all(a.round <= b.round for a, b in pairwise(waiting)), "reads are out of order"
    if leading is not None and leading.relay is not None:
        assert leading.relay.round <= barrier.round, "a round that was never begun"
        assert not barrier.running or leading.relay.round == barrier.round, "a round that nobody was asked for"


def _check_queue(queue: Sequence[tuple[int, int]], byte_count: int, what: str) -> None:
    """Ends and lengths."""
    assert queue or not byte_count, f"{byte_count} bytes {what}, of nothing"
    if 0 < len(queue) <= WALKED_MAX:
        assert byte_count == sum([length for _, length in queue]), f"bytes {what}: not the sum"
        assert all(a[0] < b[0] for a, b in pairwise(queue)), f"{what}: ends do not rise"


# A turn as a whole.


class Summary(Struct, frozen=True, gc=False):
    """What `check_step` compares."""

    promised: Term
    promised_synced: Term
    counted: int
    counted_synced: int
    start: int
    committed: int
    synced: int
    end: int
    last_term: Term
    commit_known: int
    timestamp: int
    saved_synced: int
    ticket: int
    persisted_ticket: int
    state_from: int | None
    collection: Collection | None
    completed: Collection | None
    forgotten: int
    round: int
    leads: bool
    follows: bool
    phase: int
    inherited_end: int
    expanded: bool
    through: tuple[tuple[NodeId, int], ...]

    @property
    def snapshot(self) -> tuple[int | None, Collection | None, Collection | None]:
        """Differs from the one before if the copy has begun anew."""
        return self.state_from, self.collection, self.completed


def summary(phaser: Phaser) -> Summary:
    ledger, leading, following, relay = phaser.ledger, phaser.leading, phaser.following, phaser.relay
    return Summary(
        promised=ledger.promised,
        promised_synced=ledger.promised_synced,
        counted=ledger.counted,
        counted_synced=ledger.counted_synced,
        start=ledger.start,
        committed=ledger.committed,
        synced=ledger.synced,
        end=ledger.end,
        last_term=ledger.lineage.last_term,
        commit_known=ledger.commit_known,
        timestamp=ledger.timestamp,
        saved_synced=ledger.saved_synced,
        ticket=ledger.ticket,
        persisted_ticket=ledger.persisted_ticket,
        state_from=ledger.state_from,
        collection=ledger.collection,
        completed=following.completed if following is not None else None,
        forgotten=ledger.streams.forgotten,
        round=phaser.barrier.round,
        leads=leading is not None,
        follows=following is not None,
        phase=leading.phase.value if leading is not None else 0,
        inherited_end=leading.inherited_end if leading is not None else 0,
        expanded=relay.wedge.expanded if relay is not None else False,
        through=tuple([(node, feed.through) for node, feed in relay.feeds.items()]) if relay is not None else (),
    )


_RISING: Final = ("promised", "promised_synced", "commit_known", "timestamp", "ticket", "persisted_ticket", "round")
_RISING_IN_A_LOG: Final = ("counted", "counted_synced", "start", "committed", "saved_synced", "forgotten")
_RISING_IN_A_TERM: Final = ("synced", "end", "last_term", "phase", "inherited_end", "expanded")


def check_step(before: Summary, after: Summary) -> None:
    """What a turn may have done. Both are of the same life: a restart forgets what was not on disk."""
    _check_rising(before, after, _RISING)
    if before.snapshot == after.snapshot:
        _check_rising(before, after, _RISING_IN_A_LOG)
        assert after.end >= before.committed, f"{before.committed} was committed, and {after.end} is left"
        shows = after.follows or after.phase in (Phase.IMPORTING.value, Phase.OPEN.value)
        assert shows or after.committed == before.committed, "it shows something new, and is not in an open term"
    if after.promised == before.promised and (before.leads or before.follows):
        same = (after.leads, after.follows) == (before.leads, before.follows)
        assert same, "it changed its part within a term"
        if before.snapshot == after.snapshot:
            _check_rising(before, after, _RISING_IN_A_TERM)
        earlier = dict(before.through)
        for node, through in after.through:
            assert through >= earlier.get(node, -1), f"{node} had {earlier[node]} on disk, and now {through}"


def _check_rising(before: Summary, after: Summary, fields: Sequence[str]) -> None:
    for field in fields:
        was, now = getattr(before, field), getattr(after, field)
        assert was <= now, f"{field} fell from {was} to {now}"
