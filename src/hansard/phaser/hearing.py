"""What a phaser waits for.

Whose word is awaited: an acknowledgement, or that of one's own disk, from which nothing follows before others come.
What is on every disk ends where the one ends that has the least. That moves only when all have moved that end there; so
until each of them has said something, a turn of the phaser would find nothing to do. Whoever runs it may spare it that,
and hand over their words together. Nothing depends on it: a word that is handed over at once is as good.
"""

from .leader import OPEN
from .phaser import Phaser


def idle(phaser: Phaser) -> bool:
    """It does not wait for time to pass: a Tick would change nothing."""
    desk, barrier, relay = phaser.desk, phaser.barrier, phaser.relay
    if desk.backlog.queue or desk.pending or desk.repetitions or barrier.running or barrier.waiting:
        return False
    if relay is None or not relay.settled or phaser.ledger.unsettled:
        return False
    if phaser.leading is not None:
        return phaser.leading.phase is OPEN
    return phaser.following is not None and phaser.following.complaint != phaser.ledger.end


def patient(phaser: Phaser) -> bool:
    """A leader has answered all that there was. Most likely it is sent more soon, and what is left of its turn is
    better done when that is under way to the disks: nobody waits for it then, and the commit point has gone along.
    Within a moment it has to be done anyway; and it is, before anything but a submission."""
    ledger, desk = phaser.ledger, phaser.desk
    return (
        ledger.unsettled
        and ledger.late is None
        and phaser.leading is not None
        and not (desk.pending or desk.backlog.queue or desk.backlog.pressed or ledger.derived.hosts)
    )


def awaited(phaser: Phaser) -> int:
    """How many have to be heard of, this disk among them, before anything can follow from what they say. 0 where it may
    at once: somebody has to be sent more, or is being acclimated, or waits for an answer of another kind; or something
    waits to be taken; or more is committed than this disk has, or than was settled."""
    leading, following, relay = phaser.leading, phaser.following, phaser.relay
    ledger, barrier = phaser.ledger, phaser.barrier
    if relay is None or not relay.feeds or ledger.unsettled:
        return 0
    if leading is not None and (
        leading.phase is not OPEN or leading.government.newcomers or barrier.running or phaser.desk.backlog.queue
    ):
        return 0
    if following is not None and (following.owes or ledger.commit_known > ledger.committed):
        return 0
    end, least, count = ledger.lineage.end, ledger.synced, 1
    for feed in relay.feeds.values():
        if feed.next < end or not feed.introduced or feed.transfer is not None:
            return 0
        if feed.through == least:
            count += 1
        elif feed.through < least:
            least, count = feed.through, 1
    return count
