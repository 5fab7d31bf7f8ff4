"""Clients of a cluster: `AsyncClient` for asyncio, `Client` for everybody else.

    client.py          AsyncClient: what a program calls
    binary.py          reaching a cluster over the binary protocol; keeping up with the table
    web/               reaching it over HTTP, where nothing else goes out
    blocking.py        Client: the same, for programs without a loop
    loop.py            a loop in a thread, for those
    atlas.py           which buckets there are and who has them, as far as it is known; no IO

Submitting:

    change.py          a change as it is given, checked
    columns.py         many of them, checked as a whole
    gate.py            how much may gather
    submitter.py       which change goes into which bucket's lane; splits; new connections
    lane.py            one bucket: its stream, its courier, the draft that gathers
    submission.py      a batch on its way, and what is known of it
    callers.py         who waits for its changes
    delivery.py        what a caller waits for whose changes went into several buckets
    numbering.py       connection, series, ids
    stream.py          order, numbers, and what becomes of each batch; no IO
    window.py          what of it is in flight, and what may be; no IO
    chain.py           which batch comes before which, where the caller numbers them; no IO
    recut.py           what is not settled, cut anew after a split; no IO
    courier.py         carries a stream to the leader: when to send, when to connect, when to give up
    roster.py          where the leader may be
    producer.py        many changes, one after the other, with a bounded window
    receipts.py        what a submission is answered with

Reading:

    wish.py            what a reader asks for
    library.py         pages, bookmarks, names that hold a place
    records.py         what it knows of checkpoints
    following.py       reading to the end, and for ever
    checkpoints.py     which checkpoints there are, by their records in the log
    bootstrap.py       starting from one, and following from there
    state.py           a checkpoint's files, merged
    cursor.py          all buckets merged into one sequence
    shelf.py           one bucket's part of that; splits; no IO
    reading.py         a page of one bucket, from whichever member has it
    tide.py            waiting for more
    page.py            what a reader is given

For operators:

    operator.py        questions and orders, asked of any participant
    importing.py       bringing a log to a cluster that was founded to take it

Underneath:

    correspondence.py  a question and its answer
    switchboard.py     connections, one for each participant
    link.py            one connection
    settings.py        bounds
    errors.py          what can be the matter

It imports nothing of a server's.
"""

from .blocking import Client
from .bootstrap import Bootstrap
from .checkpoints import Checkpoint
from .client import AsyncClient
from .errors import (
    BadCheckpoint,
    BucketsChanged,
    ClientClosed,
    ClientError,
    ConnectionTaken,
    DeadlinePassed,
    Gone,
    InvalidSubmission,
    NoRoom,
    NotReachable,
    NotReadable,
    NotStored,
    OutcomeUnknown,
    Overloaded,
    PartlyStored,
    ReadError,
    Refused,
    SeriesGap,
    StreamBroken,
    StreamEnded,
    WrongType,
)
from .following import Follow, Reading
from .page import Change, Page
from .producer import Producer
from .receipts import Receipt, Receipts
from .settings import Settings

__all__ = [
    "AsyncClient",
    "BadCheckpoint",
    "Bootstrap",
    "BucketsChanged",
    "Change",
    "Checkpoint",
    "Client",
    "ClientClosed",
    "ClientError",
    "ConnectionTaken",
    "DeadlinePassed",
    "Follow",
    "Gone",
    "InvalidSubmission",
    "NoRoom",
    "NotReachable",
    "NotReadable",
    "NotStored",
    "OutcomeUnknown",
    "Overloaded",
    "Page",
    "PartlyStored",
    "Producer",
    "ReadError",
    "Reading",
    "Receipt",
    "Receipts",
    "Refused",
    "SeriesGap",
    "Settings",
    "StreamBroken",
    "StreamEnded",
    "WrongType",
]
