"""The story of the cluster as its log tells it, for whoever looks after it: who came and went and why, what moved, what
is wrong. Nothing is said of single changes.

Who comes and goes is told at once. What follows for the buckets is gathered for a moment, so that what happens to many
is told together, and the steps on the way to where a bucket is then are not told at all.
"""

import logging
from collections.abc import Callable
from typing import Final

from hansard.consensus.content import Why
from hansard.consensus.effect import Departing, Led, Left, Outdated, Refused, Strange, Superseded
from hansard.distributor.bucket import Bucket
from hansard.distributor.member import Member
from hansard.participant.effect import Bereft, Thinned
from hansard.participant.participant import Participant

from .turnover import LISTED_MAX, Turn, listed, told, turnover

log = logging.getLogger("hansard")

GATHER_US: Final = 500_000
OPENING_US: Final = 3_000_000
"""As long as that a government that is about to open is waited for: what is told is that it has opened."""
LEADERLESS_US: Final = 3_000_000
"""An election takes less; nothing is said of the moment between two leaders."""
REMIND_US: Final = 600_000_000
"""What is missing is said again, so often."""

Told = Thinned | Bereft | Led | Departing | Strange | Refused | Left | Superseded | Outdated

REASONS: Final = {
    Why.SILENT: (logging.WARNING, "has departed: nothing was heard of it for longer than its lease"),
    Why.LEFT: (logging.INFO, "has left, as it wanted to"),
    Why.GIVEN_UP: (logging.WARNING, "has departed: it was given up by order"),
    Why.DAMAGED: (logging.WARNING, "has departed: its disk is damaged, and it comes again as a newcomer"),
    None: (logging.WARNING, "has departed"),
}


class Story:
    def __init__(self, node: str, now_us: Callable[[], int]) -> None:
        self._node = node
        self._now_us = now_us
        self._member: Member | None = None
        self._version = -1
        self._present: dict[Member, str] = {}
        """Who is there by what was told, and where."""
        self._buckets: list[Bucket] = []
        """As they were told."""
        self._due_us: int | None = None
        """When what has become of them since will be told."""
        self._begun_us = 0
        """Since when that is gathered."""
        self._thinned: tuple[int, ...] = ()
        self._missing = 0
        """Of how many buckets it was said last that they have fewer copies than they should."""
        self._missing_us = 0
        self._bereft: Bereft | None = None
        """What is lost, and is not told yet."""
        self._lost: set[int] = set()
        self._led_by = ""
        self.leaving = False
        """It departs because it was told to stop."""
        self._leaderless_us: int | None = None
        self._said: dict[str, str] = {}
        """What was said last of something that is said again and again."""

    # What the participant says.

    def tell(self, effect: Told) -> None:
        match effect:
            case Thinned():
                self._thinned = effect.buckets
                self._gather()
            case Bereft():
                self._bereft = effect
            case Led():
                self._led(effect)
            case Departing() if self.leaving:
                pass
            case Departing():
                log.warning("%s has departed by the log: it gives up all that it leads", self._node, extra=self._mine)
            case Left():
                log.info("%s has left, and nothing depends on it any more", self._node, extra=self._mine)
            case _:
                about = f"{type(effect).__name__} {getattr(effect, 'sender', '')}"
                if self._said.get(about) != (why := self.why(effect)):
                    self._said[about] = why
                    log.error("%s", why)

    @property
    def _mine(self) -> dict[str, object]:
        return {"participant": self._node}

    def _lose(self, bereft: Bereft) -> None:
        """At once, after who has departed, and whether or not we take part: who could bring them back must be found."""
        news = [lost for lost in bereft.lost if lost.bucket not in self._lost]
        if len(news) > LISTED_MAX:
            nodes = sorted({node for lost in news for node in lost.nodes})
            what = "nobody is there who has all of them; some of these had"
            log.error("%d buckets are lost: %s: %s", len(news), what, " ".join(nodes), extra={"count": len(news)})
            news = []
        for lost in news:
            had = " or ".join(lost.nodes) or "nobody who is known"
            what = f"nobody is there who has all of it; {had} could bring it back"
            log.error("bucket %d is lost: %s", lost.bucket, what, extra={"bucket": lost.bucket, "epoch": lost.opened})
        self._lost = {lost.bucket for lost in bereft.lost}

    def _led(self, led: Led) -> None:
        if not led.leader:
            self._leaderless_us = self._now_us() + LEADERLESS_US if self._led_by else None
            return
        self._leaderless_us = None
        if led.leader != self._led_by:
            fields = {"participant": led.leader, "term": led.term}
            log.info("%s leads the atomic log, in term %d", led.leader, led.term, extra=fields)
        self._led_by = led.leader

    def why(self, effect: Told) -> str:
        match effect:
            case Strange():
                who = f"{effect.sender or 'somebody'} at {effect.address}"
                return f"{who} belongs to another cluster ({effect.cluster.id}) and is not listened to"
            case Refused():
                return f"cannot come in: {effect.reason}; trying on"
            case Superseded():
                return (
                    f"cluster {effect.cluster.id} was recovered without this participant and goes on as incarnation "
                    f"{effect.cluster.incarnation}: run `hansard recover --rejoin` on its directory, and start it again"
                )
            case Outdated():
                return f"the cluster follows rules {effect.rules}, which this version does not know: upgrade it"
            case _:
                return str(effect)

    # What the log says.

    def look(self, core: Participant) -> None:
        """After each turn. A table that a start finds on disk may be old: nothing is told of it before we take part."""
        member = core.here.member
        if member != self._member:
            self._member = member
            if member is not None:
                self._begin(core, member)
        if member is not None and core.distributor.version != self._version:
            self._version = core.distributor.version
            self._look_around(core)
            self._gather()
        if self._bereft is not None:
            self._lose(self._bereft)
            self._bereft = None
        if self._due_us is not None and self._now_us() >= self._due_us:
            self._catch_up(core.distributor.buckets if member is not None else self._buckets)
        if self._leaderless_us is not None and self._now_us() >= self._leaderless_us:
            self._leaderless_us, self._led_by = None, ""
            log.warning("nobody leads the atomic log: no majority of the voters is there, and nothing is agreed on")

    def _gather(self) -> None:
        if self._due_us is None:
            self._begun_us = self._now_us()
            self._due_us = self._begun_us + GATHER_US

    def _begin(self, core: Participant, member: Member) -> None:
        self._version = core.distributor.version
        self._present = _present(core)
        self._buckets = list(core.distributor.buckets)
        others = [other.node for other in self._present if other != member]
        led = sum([bucket.leader == member for bucket in self._buckets])
        whole = f"{len(self._buckets)} buckets, of which it leads {led}" if self._buckets else "no buckets yet"
        log.info(
            "%s takes part in cluster %s, %s: %s",
            *(member, core.consensus.cluster.id, f"with {', '.join(others)}" if others else "alone", whole),
            extra={"participant": member.node, "incarnation": member.incarnation},
        )

    def _look_around(self, core: Participant) -> None:
        present, roster = _present(core), core.consensus.roster
        for member in self._present:
            if member not in present:
                why = roster.why_departed(member.node, member.incarnation)
                level, what = REASONS[why]
                fields = {"participant": member.node, "incarnation": member.incarnation, "why": why}
                log.log(level, "%s %s", member, what, extra=fields)
        for member, address in present.items():
            fields = {"participant": member.node, "incarnation": member.incarnation, "address": address}
            if member not in self._present:
                log.info("%s has arrived, at %s", member, address, extra=fields)
            elif address != self._present[member]:
                log.info("%s is at %s now", member, address, extra=fields)
        self._present = present

    def _catch_up(self, buckets: list[Bucket]) -> None:
        now_us, turns = self._now_us(), turnover(self._buckets, buckets)
        if turns[Turn.APPOINTED] and now_us - self._begun_us < OPENING_US:
            self._due_us = now_us + GATHER_US
            return
        self._due_us = None
        for line in told(turns, self._buckets, buckets):
            log.info("%s", line.text, extra=line.fields)
        self._buckets = list(buckets)
        self._count_copies()

    def _count_copies(self) -> None:
        """That some are missing is said when it begins, when it gets worse, now and then, and when it is over."""
        count, now_us = len(self._thinned), self._now_us()
        if count > self._missing or (count and now_us - self._missing_us >= REMIND_US):
            having = "1 bucket has" if count == 1 else f"{count} buckets have"
            log.warning("%s fewer copies than wanted: %s", having, listed(self._thinned), extra={"count": count})
            self._missing, self._missing_us = count, now_us
        elif not count and self._missing:
            log.info("all buckets have all their copies again")
            self._missing = 0


def _present(core: Participant) -> dict[Member, str]:
    return {member: core.here.address(member.node) for member in core.distributor.slots.present}
