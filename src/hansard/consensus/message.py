"""What participants say to each other about the atomic log.

    voting        PreAsk, PreVote, Ask, Vote
    replication   Append, Appended, Part, PartKept
    leadership    Abdicate
    for others    Offer, Directions, ReadAsk, ReadAt, Gone

They may be lost, doubled, delayed and reordered; each is safe to handle at any time and any number of times. Indexes
count entries from 0; an `end` is the index after the last one.
"""

from msgspec import Struct

from .cluster import ClusterId, NodeId, Peer
from .content import Content, Entry


class PreAsk(Struct, frozen=True, array_like=True, tag=1, gc=False):
    """Would you vote for me in this term? Binds nobody."""

    term: int
    end: int
    last_term: int


class PreVote(Struct, frozen=True, array_like=True, tag=2, gc=False):
    term: int
    """As it was asked for, if granted; the voter's own if not."""
    granted: bool


class Ask(Struct, frozen=True, array_like=True, tag=3, gc=False):
    """Vote for me."""

    term: int
    end: int
    last_term: int
    abdicated: bool
    """The leader that you may be hearing has asked me to."""


class Vote(Struct, frozen=True, array_like=True, tag=4, gc=False):
    """On disk before it is said."""

    term: int
    granted: bool


class Append(Struct, frozen=True, array_like=True, tag=5, gc=False):
    """The entries from `start` on; the one before is of `previous_term`. Without entries it says that there is a
    leader, and asks what the other has."""

    term: int
    start: int
    previous_term: int
    entries: tuple[Entry, ...]
    committed: int
    round: int
    """Answered in kind: the leader knows then that it led when it asked."""


class Appended(Struct, frozen=True, array_like=True, tag=6, gc=False):
    term: int
    round: int
    through: int
    """All before this is as the leader has it, and on my disk."""
    end: int
    """If something was sent that does not follow: go on from here, or before."""
    end_term: int
    """Of the entry before that."""
    missing: bool


class Collection(Struct, frozen=True, array_like=True, gc=False):
    """A state of the log's content, cut into parts, known by what it is."""

    end: int
    term: int
    total: int
    """The number of its parts."""
    crc: int
    """CRC32C of all of it."""


class Part(Struct, frozen=True, array_like=True, tag=7, gc=False):
    term: int
    round: int
    collection: Collection
    number: int
    content: bytes


class PartKept(Struct, frozen=True, array_like=True, tag=8, gc=False):
    """So many parts are on my disk."""

    term: int
    round: int
    collection: Collection
    parts: int


class Abdicate(Struct, frozen=True, array_like=True, tag=9, gc=False):
    """Your log is as long as mine: become leader at once."""

    term: int


class Offer(Struct, frozen=True, array_like=True, tag=10, gc=False):
    """For the leader's log. Whoever is not leader passes it on, once."""

    contents: tuple[Content, ...]
    passed: bool


class Directions(Struct, frozen=True, array_like=True, tag=11, gc=False):
    """The answer to an offer: who leads, as far as I know; and who else there is."""

    leader: NodeId
    contacts: tuple[tuple[NodeId, str], ...]
    refusal: str = ""
    """Why nothing will come of the offer as things are; said by a leader alone."""
    former: int = 0
    """The last incarnation of whoever asks, if it has departed."""


class ReadAsk(Struct, frozen=True, array_like=True, tag=12, gc=False):
    """How far must I have come to read what is true now?"""

    number: int


class ReadAt(Struct, frozen=True, array_like=True, tag=13, gc=False):
    number: int
    end: int


class Gone(Struct, frozen=True, array_like=True, tag=14, gc=False):
    """By the log, this life of yours has ended, which was this incarnation."""

    life: int
    incarnation: int


Message = (
    PreAsk
    | PreVote
    | Ask
    | Vote
    | Append
    | Appended
    | Part
    | PartKept
    | Abdicate
    | Offer
    | Directions
    | ReadAsk
    | ReadAt
    | Gone
)


class Envelope(Struct, frozen=True, array_like=True, gc=False):
    """What goes over the wire: a message, and whose it is."""

    cluster: ClusterId
    sender: Peer
    address: str
    """Where the sender can be reached."""
    to_life: int
    """Of the receiver, if the sender knows it, or 0: what was meant for a former life is not for this one."""
    message: Message
