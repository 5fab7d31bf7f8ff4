"""The invariants of what is derived from the log: a part of invariants.py, which has the rest."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from .ledger import Ledger
from .streams import RECEIPTS_MAX, Piece, Streams

WALKED_MAX: Final = 200
"""Longer queues are looked at only at their ends: they were walked when they were shorter."""


def check_derived(ledger: Ledger) -> None:
    """What is derived from the log stands and falls with the entries that it comes from."""
    found = ledger.derived
    decrees, streams, state_from = found.decrees, found.streams, found.state_from
    if ledger.collection is not None:
        assert state_from is None, "a state, though one is being collected"
        assert ledger.start == ledger.end, "a log grows before its state is there"
        assert len(ledger.parts) < ledger.collection.total, "all parts are there, and no state was made of them"
    else:
        assert not ledger.parts, "parts of nothing"
    assert ledger.late is None, "a turn is not finished"
    if state_from is None:
        nothing = not (decrees or found.decree or found.held or streams.pending or streams.settled)
        assert nothing, "something is derived from a log without a state"
        return
    floor = max(ledger.committed, state_from) if not ledger.unsettled else state_from
    places = [offset for offset, _ in decrees]
    if places:
        assert all(a < b for a, b in pairwise([floor - 1, *places, ledger.end])), f"decrees at {places}"
    if streams.pending:
        assert streams.pending[0].offset >= floor, "committed, and yet pending"
        assert streams.pending[-1].offset < ledger.end, "pending, though it was unrolled"
    check_applications(ledger, floor)


def check_applications(ledger: Ledger, settled: int) -> None:
    """They have seen what is settled and nothing else; what they have not seen is at hand."""
    held, hosts, end = ledger.derived.held, ledger.derived.hosts, ledger.end
    assert hosts or not held, "batches are held for nobody"
    if not hosts or not ledger.stated:
        assert not held, "batches are held before there is a state"
        return
    for host in hosts:
        assert host.offset == settled, f"{host.name} is at {host.offset}, and {settled} is settled"
        assert host.level == ledger.derived.level, f"{host.name} is at level {host.level}"
    ends = [settled, *[batch.header.end_offset for batch, _ in held]]
    assert [batch.header.base_offset for batch, _ in held] == ends[:-1], "a hole in what is held"
    assert ends[-1] == end, f"held up to {ends[-1]}, and the log ends at {end}"


def check_streams(streams: Streams) -> None:
    """`pending` is in log order and by_connection has the same; `settled` is in the order of its timestamps."""
    pending, by_connection, settled = streams.pending, streams.by_connection, streams.settled
    if len(pending) <= WALKED_MAX:
        nothing: Iterator[Piece] = iter(())
        places = {connection: iter(waiting) for connection, waiting in by_connection.items()}
        for piece in pending:
            assert next(places.get(piece.connection, nothing), None) is piece, (
                f"{piece} has another place by its connection"
            )
        assert sum(map(len, by_connection.values())) == len(pending), "more waits by connection than in all"
        assert all(by_connection.values()), "a connection with nothing pending"
        assert all(a.offset < b.offset for a, b in pairwise(pending)), "pending is not in log order"
    for waiting in by_connection.values() if len(pending) <= WALKED_MAX else ():
        stream = settled.get(waiting[0].connection)
        last = stream.last if stream is not None else -1
        lasts = [last, *[piece.last for piece in waiting]]
        assert all(a < b for a, b in pairwise(lasts)), f"series do not rise: {lasts}"
    if len(settled) <= WALKED_MAX:
        times = [stream.timestamp for stream in settled.values()]
        assert all(a <= b for a, b in pairwise(times)), "streams are not in the order in which they were heard of"
        for connection, stream in settled.items():
            pieces = stream.pieces
            assert len(pieces) <= RECEIPTS_MAX, f"{len(pieces)} receipts of {connection}"
            if pieces:
                assert (stream.last, stream.timestamp) == (pieces[-1].last, pieces[-1].timestamp), f"{connection}"
        counted = [connection for connection, stream in settled.items() if stream.pieces]
        assert counted == list(streams.recent), "connections with receipts are not those that are counted"
        receipt_count = sum(len(stream.pieces) for stream in settled.values())
        assert receipt_count == streams.receipt_count, "receipts were not counted"
