"""What must hold in every state of a participant, and over every step; tests and the simulator check it each turn.

What must hold between participants (one leader for each term, logs that match) is checked by those who see all of them.
"""

from collections.abc import Sequence

from msgspec import Struct

from .cluster import Peer
from .consensus import Consensus
from .content import Council, Entry


class Moment(Struct, frozen=True):
    """What is compared before and after a turn."""

    term: int
    vote: Peer | None
    life: int
    session: int
    committed: int
    entries: Sequence[Entry]
    start: int
    rules: int


def moment(core: Consensus) -> Moment:
    ledger = core.ledger
    return Moment(
        ledger.term,
        ledger.vote,
        ledger.life,
        ledger.session,
        ledger.committed,
        tuple(ledger.log.entries[: ledger.committed - ledger.log.start]),
        ledger.log.start,
        ledger.roster.rules,
    )


def check_state(core: Consensus) -> None:
    ledger, log, seat = core.ledger, core.log, core.seat
    assert log.start <= ledger.committed <= log.end
    assert ledger.synced <= log.end
    assert ledger.snapshot is None or log.start <= ledger.snapshot.collection.end <= ledger.committed
    assert log.start == 0 or ledger.snapshot is not None, "what is forgotten is in a state"
    assert log.last_term <= ledger.term
    terms = [entry.term for entry in log.entries]
    assert terms == sorted(terms) and (not terms or terms[0] >= log.start_term)
    councils = [(i, e.content.voters) for i, e in enumerate(log.entries, log.start) if isinstance(e.content, Council)]
    assert councils == log.councils
    assert len([part for part in (seat.leading, seat.following, seat.election) if part is not None]) <= 1
    assert core.peer == Peer(core.me, ledger.life) == core.post.peer
    assert [ticket.number for ticket in ledger.tickets] == list(range(ledger.persisted_ticket + 1, ledger.ticket + 1))
    if seat.following is not None:
        assert ledger.committed <= seat.following.matched <= log.end
    if seat.leading is not None:
        _check_leading(core)


def _check_leading(core: Consensus) -> None:
    leading, log = core.seat.leading, core.log
    assert leading is not None and leading.term == core.term
    assert all(peer.node != core.me for peer in leading.peers)
    for progress in leading.peers.values():
        assert progress.through <= progress.next <= log.end
        assert list(progress.flight) == sorted(progress.flight)
        assert len(progress.flight) <= core.settings.flight_max
    changed = [index for index, _ in log.councils if index >= core.committed]
    assert len(changed) <= 1 or changed[-1] < leading.begin, "one voter at a time"
    assert all(index < leading.begin for index in changed) or leading.open, "not before an entry of its own term"


def check_step(before: Moment, core: Consensus) -> None:
    """`before` is of the same process."""
    ledger, log = core.ledger, core.log
    assert ledger.term >= before.term
    assert ledger.term > before.term or before.vote is None or ledger.vote == before.vote, "one vote for each term"
    assert ledger.session == before.session
    assert ledger.committed >= before.committed
    assert ledger.roster.rules >= before.rules
    for index, entry in enumerate(before.entries, before.start):
        assert index < log.start or log.entry(index) == entry, "what is committed stays"
