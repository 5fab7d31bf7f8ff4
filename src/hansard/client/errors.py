"""What a caller of the client has to decide about. The one question that matters is whether a change is stored.

    ClientError
    ├── NotStored               certainly not stored
    │   ├── DeadlinePassed      its time was over before it could be stored: submit it again, or later
    │   ├── Overloaded          there was no room for it until its deadline: slow down, submit it again later
    │   ├── NoRoom              a disk that it must be on takes nothing for now: submit it again later
    │   ├── NotReachable        no participant that leads could be reached until the deadline
    │   ├── InvalidSubmission   no client may submit such a batch: submitting it again is of no use
    │   ├── BucketsChanged      there are more buckets now than this client can know of: connect anew
    │   ├── SeriesGap           the bucket lacks something earlier of this stream
    │   ├── StreamBroken        the bucket has forgotten the stream: connect with a new connection number
    │   ├── ConnectionTaken     somebody else has used the connection number: connect with a new one
    │   ├── StreamEnded         the stream cannot go on: connect with a new connection number
    │   └── ClientClosed        close() was called
    ├── OutcomeUnknown          it may be stored, now or later; `__cause__` says more where there is more to say
    ├── PartlyStored            of many, some are and some are not, or are unknown: `outcomes` says it of each
    └── ReadError               nothing was submitted
        ├── NotReadable         no participant that has the bucket could be reached in time
        ├── Gone                what is asked for is not retained any more: `start` is where the log begins by now, and
        │                       `checkpoint` the newest one, if there is one
        ├── BadCheckpoint       the files of a checkpoint cannot be had, or are not what its record says
        └── Refused             the cluster says that it cannot be, and why

    WrongType (a BadInput and a TypeError)   something that is no key, value or list of tags

`BatchError` (LimitExceeded, BadInput) comes at once, from the call that was given what no batch can hold.
"""

from collections.abc import Mapping, Sequence

from hansard.batch.errors import BadInput
from hansard.bookmark import Bookmark

from .checkpoints import Checkpoint
from .receipts import Receipt


class WrongType(BadInput, TypeError):
    pass


class ClientError(Exception):
    """Each can be made again from its arguments, because every caller of a batch gets an error of their own."""

    def again(self) -> "ClientError":
        error = type(self)(*self.args)
        error.__cause__ = self.__cause__
        return error


class NotStored(ClientError):
    """Certainly not stored, and it will not be."""


class DeadlinePassed(NotStored):
    def __init__(self, timeout_s: float) -> None:
        super().__init__(timeout_s)

    def __str__(self) -> str:
        return f"not stored: its turn had not come after {self.args[0]:g} s; submit it again, or allow more time"


class Overloaded(NotStored):
    def __init__(self, where: str) -> None:
        super().__init__(where)

    def __str__(self) -> str:
        return f"not stored: {self.args[0]}; submit less at a time, and this again later"


class NoRoom(NotStored):
    def __init__(self, node: str, reason: str) -> None:
        super().__init__(node, reason)
        self.node, self.reason = node, reason

    def __str__(self) -> str:
        return f"not stored: the disk of {self.node} takes nothing now ({self.reason}); submit it again when it does"


class NotReachable(NotStored):
    def __init__(self, why: str) -> None:
        super().__init__(why)

    def __str__(self) -> str:
        return (
            f"not stored: no leader could be reached in time ({self.args[0]}); look at the participants, then try again"
        )


class InvalidSubmission(NotStored):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"not stored: {self.reason}; submitting the same batch again is of no use"


class BucketsChanged(NotStored):
    def __init__(self, buckets: int) -> None:
        super().__init__(buckets)
        self.buckets = buckets

    def __str__(self) -> str:
        return f"not stored: there are {self.buckets} buckets now, and some of the keys live in another; connect anew"


class SeriesGap(NotStored):
    def __init__(self, expected: int) -> None:
        super().__init__(expected)
        self.expected = expected
        """The last series that the bucket has, -1 if none."""

    def __str__(self) -> str:
        return (
            f"not stored: the last series that the bucket has of this stream is {self.expected}; submit what comes "
            "after it in order, or connect with a new connection number"
        )


class StreamBroken(NotStored):
    def __init__(self, connection: int) -> None:
        super().__init__(connection)
        self.connection = connection

    def __str__(self) -> str:
        return (
            f"not stored: the bucket has forgotten connection {self.connection}, which was silent for too long; "
            "connect with a new connection number"
        )


class ConnectionTaken(NotStored):
    def __init__(self, connection: int) -> None:
        super().__init__(connection)
        self.connection = connection

    def __str__(self) -> str:
        return (
            f"not stored: the bucket has changes of connection {self.connection} that this client did not send; "
            "connect with a number that nobody has used"
        )


class StreamEnded(NotStored):
    def __init__(self, connection: int, why: str) -> None:
        super().__init__(connection, why)
        self.connection = connection

    def __str__(self) -> str:
        return (
            f"not stored: the stream of connection {self.connection} cannot go on ({self.args[1]}); "
            "connect with a new connection number"
        )


class ClientClosed(NotStored):
    def __str__(self) -> str:
        return "not stored: the client is closed; connect again"


class OutcomeUnknown(ClientError):
    def __init__(self, why: str) -> None:
        super().__init__(why)

    def __str__(self) -> str:
        return (
            f"it may be stored or not ({self.args[0]}); read the log to find out before you submit it again, or submit "
            "it again if twice does no harm"
        )


class PartlyStored(ClientError):
    """Changes of one call that live in several buckets are stored, or not, by themselves."""

    def __init__(self, outcomes: Sequence[Receipt | ClientError]) -> None:
        super().__init__(outcomes)
        self.outcomes = outcomes
        """For each change, in the order of the call, its receipt or what became of it instead."""

    def __str__(self) -> str:
        errors = [outcome for outcome in self.outcomes if isinstance(outcome, ClientError)]
        unknown = sum([isinstance(error, OutcomeUnknown) for error in errors])
        stored = len(self.outcomes) - len(errors)
        missing = len(errors) - unknown
        return (
            f"of {len(self.outcomes)} changes {stored} are stored, {missing} are not, and of {unknown} it is not known "
            f"(`outcomes` says it of each); the first that is not stored: {errors[0]}"
        )


class ReadError(ClientError):
    """It was about reading, or asking: nothing was submitted."""


class NotReadable(ReadError):
    def __init__(self, what: str, why: str) -> None:
        super().__init__(what, why)

    def __str__(self) -> str:
        return f"{self.args[0]} could not be had in time ({self.args[1]}); look at the participants, then try again"


class Gone(ReadError):
    def __init__(self, asked: Mapping[int, int], start: Bookmark) -> None:
        super().__init__(asked, start)
        self.asked = asked
        """The offsets that are not retained, by bucket."""
        self.start = start
        """The beginning of what is."""
        self.checkpoint: Checkpoint | None = None
        """The newest of what was asked for, if there is one from which on everything is retained."""

    @property
    def retained(self) -> Mapping[int, int]:
        """From which offset on each bucket is retained."""
        return self.start.offsets

    def __str__(self) -> str:
        found = self.checkpoint
        remedy = "make a checkpoint, or" if found is None else f"start from {found} (`bootstrap`), or"
        what = "what is asked for is not retained any more"
        if self.asked:  # who may not know of offsets is not told
            bucket, offset = min(self.asked.items())
            what = f"bucket {bucket} is retained from offset {self.retained.get(bucket, 0)} on, and not from {offset}"
        return f"{what}; {remedy} read on from the beginning of what there is (`start`)"


class BadCheckpoint(ReadError):
    def __init__(self, where: str, why: str) -> None:
        super().__init__(where, why)
        self.where, self.why = where, why

    def __str__(self) -> str:
        return (
            f"the checkpoint at {self.where} cannot be read: {self.why}; look whether this machine reaches its files "
            "(`location` says where they are from here), or make another one"
        )


class Refused(ReadError):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"refused: {self.reason}"
