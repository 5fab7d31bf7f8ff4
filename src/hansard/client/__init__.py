"""The client: submits changes over the binary protocol, from asyncio.

    client.py       AsyncClient: what a program calls
    change.py       a change as it is given, checked
    gate.py         how much may gather
    submission.py   a batch on its way, and what is known of it
    stream.py       order, numbers, and what becomes of each batch; no IO
    courier.py      carries them to the leader: when to send, when to connect, when to give up
    roster.py       where the leader may be
    link.py         one connection
    receipts.py     what a submission is answered with
    errors.py       and what it may fail with

It imports nothing of a server's.
"""

from .client import AsyncClient
from .errors import (
    BucketsChanged,
    ClientClosed,
    ClientError,
    ConnectionTaken,
    DeadlinePassed,
    InvalidSubmission,
    NoRoom,
    NotReachable,
    NotStored,
    OutcomeUnknown,
    Overloaded,
    SeriesGap,
    StreamBroken,
    StreamEnded,
    WrongType,
)
from .receipts import Receipt, Receipts
from .settings import Settings

__all__ = [
    "AsyncClient",
    "BucketsChanged",
    "ClientClosed",
    "ClientError",
    "ConnectionTaken",
    "DeadlinePassed",
    "InvalidSubmission",
    "NoRoom",
    "NotReachable",
    "NotStored",
    "OutcomeUnknown",
    "Overloaded",
    "Receipt",
    "Receipts",
    "SeriesGap",
    "Settings",
    "StreamBroken",
    "StreamEnded",
    "WrongType",
]
