"""The short way: what most turns of a busy bucket are, done without a look at all that they are not.

    a leader, open and with nothing waiting, gets one submission of a stream    `submitted`
    a member gets the batch that follows what it has                            `followed`

Somebody waits for each of them, and the disks of others: so what goes out is wanted at once, and what this copy has to
know of it is noted in the second half of the turn (`Ledger.catch_up`, `Desk.catch_up`). Each says whether it was done.
Where anything is unusual nothing is done and the long way is taken, which comes to the same; so no rule is only here,
and the one mistake that can be made here is to take too much. tests/phaser/test_short.py looks for that.
"""

from typing import Final

from hansard.batch import Flag

from .desk import NOT_A_CLIENTS, Desk
from .effect import Send
from .event import Received, Submit
from .leader import OPEN, Leader
from .member import Member
from .message import Append
from .relay import Relay
from .streams import NO_CONNECTION, NO_SERIES, Fresh, last_series

INTERNAL: Final = Flag.INTERNAL
"""It may be a decree, from which much follows."""


def followed(following: Member, received: Received) -> bool:
    """In a turn of its own: it is written, and in a chain passed on."""
    message, ledger, relay = received.message, following.ledger, following.relay
    if type(message) is not Append or message.term != ledger.promised:
        return False
    batch, lineage = message.batch, ledger.lineage
    header, runs = batch.header, lineage.runs
    if (
        not message.previous_end == lineage.end == header.base_offset
        or not runs
        or not runs[-1].term == message.previous_term == header.epoch
        or header.flags & INTERNAL
        or following.demanded
        or following.foreign
        or ledger.collection is not None
        or ledger.writes
        or (relay.feeds and not in_step(relay))
    ):
        return False
    following.upstream = received.sender
    ledger.commit_known = max(ledger.commit_known, message.committed)
    if relay.feeds:
        pass_on(relay, message)
    ledger.hasten(batch)
    return True


def submitted(leading: Leader, desk: Desk, submit: Submit, now_us: int, wall_us: int) -> bool:
    """In a turn of its own: it is journalled, and sent to everybody."""
    ledger, relay, batch = desk.ledger, leading.relay, submit.batch
    header, runs, settings = batch.header, ledger.lineage.runs, ledger.settings
    if (
        relay is None
        or leading.phase is not OPEN
        or not runs
        or runs[-1].term != leading.term
        or leading.government.newcomers
        or desk.paused
        or desk.hindrance is not None
        or desk.backlog.queue
        or submit.buckets != desk.buckets
        or submit.continues is not None
        or submit.deadline_us <= now_us
        or header.connection == NO_CONNECTION
        or not header.change_count
        or header.flags & NOT_A_CLIENTS
        or ledger.uncommitted_bytes >= settings.flight_bytes_max
        or batch.length > settings.backlog_bytes_max
        or (ledger.unsettled and (ledger.derived.decrees or not ledger.streams.keeps_all))
        or ledger.writes
        or not in_step(relay)
    ):
        return False
    verdict = ledger.streams.judge(header.connection, header.first_series, last_series(batch), header.previous_series)
    if type(verdict) is not Fresh or verdict.after != NO_SERIES:
        return False
    end, term, timestamp = ledger.lineage.end, leading.term, max(wall_us, ledger.timestamp)
    batch = batch.stamped(epoch=term, base_offset=end, timestamp=timestamp)
    pass_on(relay, Append(term, term, end, batch, ledger.commit_known))
    ledger.hasten(batch)
    desk.late = submit, batch
    return True


def in_step(relay: Relay) -> bool:
    """Everybody further down was sent all that there is, and takes more."""
    end, flight_bytes_max = relay.ledger.lineage.end, relay.ledger.settings.flight_bytes_max
    for feed in relay.feeds.values():
        if (
            feed.next != end
            or not feed.introduced
            or feed.transfer is not None
            or feed.fetching
            or feed.flight_bytes >= flight_bytes_max
        ):
            return False
    return True


def pass_on(relay: Relay, message: Append) -> None:
    """What comes next, to everybody further down; the commit point rides along."""
    ledger, batch, effects, now_us = relay.ledger, message.batch, relay.effects, relay.now_us
    known = ledger.commit_known
    if message.committed != known:
        message = Append(message.term, message.previous_term, message.previous_end, batch, known)
    end, length = batch.header.end_offset, batch.length
    for node, feed in relay.feeds.items():
        feed.commit_sent = known
        if not feed.flight:
            feed.progress_us = now_us
        effects.append(Send(node, message))
        feed.sent(end, length)
