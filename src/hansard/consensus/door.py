"""Whose messages are heard: those of our own cluster, in its present incarnation, that are meant for this life."""

from enum import Enum, auto

from .cluster import NO_CLUSTER, ClusterId, Peer
from .content import Arrive, Content
from .message import Append, Directions, Envelope, Gone, Offer, Part


class Verdict(Enum):
    HEARD = auto()
    WELCOME = auto()
    """We have no cluster yet, and this one has let us in."""
    IGNORED = auto()
    STRANGE = auto()
    """It is from another cluster."""
    OLD = auto()
    """It is from what is left of our cluster's former incarnation, which has to hear that it is over."""
    SUPERSEDED = auto()
    """Our own incarnation is over: its majority was given up for lost, and the cluster goes on without it."""


def judged(envelope: Envelope, cluster: ClusterId, me: Peer) -> Verdict:
    theirs = envelope.cluster
    if NO_CLUSTER not in (theirs, cluster) and theirs != cluster:
        if theirs.id != cluster.id or theirs.incarnation == cluster.incarnation:
            return Verdict.STRANGE
        return Verdict.OLD if theirs.incarnation < cluster.incarnation else Verdict.SUPERSEDED
    if envelope.sender.node == me.node or envelope.to_life not in (0, me.life):
        return Verdict.IGNORED
    if cluster == NO_CLUSTER:
        return _judged_outside(envelope, me)
    return Verdict.HEARD if theirs == cluster or isinstance(envelope.message, Offer) else Verdict.IGNORED


def _judged_outside(envelope: Envelope, me: Peer) -> Verdict:
    """We belong to the cluster whose leader lets us in first; until then we only ask for directions. One that has let
    us in without our noticing, and has given us up since, says so."""
    if envelope.cluster == NO_CLUSTER:
        return Verdict.IGNORED
    if isinstance(envelope.message, (Append, Part)):
        return Verdict.WELCOME if envelope.to_life == me.life else Verdict.IGNORED
    return Verdict.HEARD if isinstance(envelope.message, (Directions, Gone)) else Verdict.IGNORED


def admissible(envelope: Envelope, content: Content) -> bool:
    """Who has not joined yet may only say that it is there."""
    return envelope.cluster != NO_CLUSTER or (isinstance(content, Arrive) and content.peer == envelope.sender)
