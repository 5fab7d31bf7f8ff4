"""Disks that take nothing for now, ours and others': what would have to be written there is refused, and not collected.

A submission that is refused was certainly not stored. What was journalled before stays what it is, not committed, until
there is room; nothing is acknowledged that is not on every member's disk, whatever is known here. So all of this may be
late or wrong, and costs a refusal or a wait: who is hindered says so to everybody, again and again, and is not believed
for long without.
"""

from typing import Final

from hansard.distributor.bucket import Bucket
from hansard.phaser import event as phaser
from hansard.phaser.outcome import ReadOnly

from .copies import Copies
from .here import Here
from .message import Hindered

REPEAT_US: Final = 1_000_000
FORGET_US: Final = 5_000_000
"""Who has not said it again for so long is not hindered any more, or is gone."""
RELIEVED: Final = 3
"""So many times it is said that it is over: one of them may be lost."""


class Hindrances:
    def __init__(self, here: Here, copies: Copies) -> None:
        self._here = here
        self._copies = copies
        self.mine = ""
        """Why our own disk takes nothing; empty if it does."""
        self.others: dict[str, tuple[str, int]] = {}
        """Why others' do not, and when they said so."""
        self._hindering = False
        """Some phaser was told to refuse everything."""
        self._said_us = 0
        self._relief = 0
        """How often it is still to be said that there is no hindrance."""

    def hindered(self, reason: str) -> None:
        """Our own disk takes nothing any more, or takes something again."""
        if reason != self.mine:
            self.mine = reason
            self._relief = 0 if reason else RELIEVED
            self._say()
            self.look()

    def received(self, sender: str, message: Hindered) -> None:
        self.others.pop(sender, None)
        if message.reason:
            self.others[sender] = (message.reason, self._here.now_us)
        self.look()

    def tick(self) -> None:
        now_us = self._here.now_us
        if (self.mine or self._relief) and now_us - self._said_us >= REPEAT_US:
            self._say()
        for node in [node for node, (_, said_us) in self.others.items() if now_us - said_us >= FORGET_US]:
            del self.others[node]
        self.look()

    def _say(self) -> None:
        here = self._here
        self._said_us = here.now_us
        self._relief -= self._relief > 0
        for member in here.distributor.slots.present:
            if member.node != here.node:
                here.send(member.node, Hindered(self.mine))

    def look(self) -> None:
        """Every phaser knows what is in its way."""
        if not (self.mine or self.others or self._hindering):
            return
        buckets = self._here.distributor.buckets
        for number, copy in self._copies.running.items():
            hindrance = self._of(buckets[number]) if self.mine or self.others else None
            if hindrance != copy.hindrance and self._copies.happen(number, phaser.Hindered(hindrance)):
                copy.hindrance = hindrance
        self._hindering = any(copy.hindrance is not None for copy in self._copies.running.values())

    def _of(self, bucket: Bucket) -> ReadOnly | None:
        """Nothing of a bucket is acknowledged without any of those that it is kept by."""
        for member in bucket.kept:
            reason = self.mine if member == self._here.member else self.others.get(member.node, ("", 0))[0]
            if reason:
                return ReadOnly(member.node, reason)
        return None
