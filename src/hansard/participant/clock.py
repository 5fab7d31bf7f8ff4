"""The cluster's time: the median of the voters' clocks, whatever one of them says.

Whoever leads the atomic log asks the voters for their time; everybody else asks the leader for the median. Each keeps
it as a difference to its own steady clock, so that it goes on when nobody answers. A leader of a bucket stamps its
changes with its own clock as long as that is near the cluster's, and with the nearest time that is otherwise.

An answer that took long says little: whoever asked may have been asleep meanwhile. It counts only if nothing better is
known and everybody's answers keep taking long. So what is known is off by half of `RTT_US_MAX`, twice, and by what this
machine's clock drifts until the next answer; where the network itself is slower than that, by more.
"""

from collections.abc import Sequence
from typing import Final

from .message import ClockTold

RTT_US_MAX: Final = 600_000
UNKNOWN_RTT_US_MAX: Final = 5_000_000
"""As long as nothing better is known."""
TOLERANCE_US: Final = 250_000
"""With what is off besides this keeps every stamp within a second of the median."""
UNKNOWN_US: Final = 100_000
"""So often it is asked for as long as it is not known."""
PATIENCE: Final = 2
"""So many times of asking a new leader that does not know the time waits for all voters."""
FRESH: Final = 3
"""So many times of asking an answer is good for."""
SLOW: Final = 3
"""So many answers must have taken long, each to a question put after the one before had come, until one is believed."""


class ClusterClock:
    def __init__(self, node: str, ask_us: int) -> None:
        self._node = node
        self._ask_us = ask_us
        self._asked_us = -ask_us
        self._offset_us: int | None = None
        self._voters: dict[str, tuple[int, int]] = {}
        """Each one's clock less our steady one, and when that was."""
        self._slow: dict[str, tuple[int, int]] = {}
        """How many answers of each one took long, one after the other, and when the last of them came."""
        self._measured_us: int | None = None
        """When we last knew the median ourselves."""
        self._led_us: int | None = None
        """Since when we lead."""

    @property
    def known(self) -> bool:
        return self._offset_us is not None

    def ask(self, leader: str, voters: Sequence[str], now_us: int) -> list[str]:
        """Whom to ask now."""
        if now_us - self._asked_us < (self._ask_us if self.known else UNKNOWN_US):
            return []
        self._asked_us = now_us
        if leader == self._node:
            return [voter for voter in voters if voter != self._node]
        return [leader] if leader else []

    def told(self, sender: str, told: ClockTold, leader: str, now_us: int) -> None:
        rtt_us = now_us - told.asked_us
        if not 0 <= rtt_us <= (RTT_US_MAX if self.known else UNKNOWN_RTT_US_MAX):
            return
        if rtt_us <= RTT_US_MAX:
            self._slow.pop(sender, None)
        elif not self._always_slow(sender, told.asked_us, now_us):
            return
        self._voters[sender] = (told.wall_us + rtt_us // 2 - now_us, now_us)
        if told.cluster_us and sender == leader and leader != self._node:
            self._offset_us = told.cluster_us + rtt_us // 2 - now_us

    def _always_slow(self, sender: str, asked_us: int, now_us: int) -> bool:
        """What waited while one of the two slept comes all at once; what is asked after that is answered quickly."""
        count, heard_us = self._slow.get(sender, (0, asked_us))
        if asked_us < heard_us:
            return False
        self._slow[sender] = (count + 1, now_us)
        return count + 1 >= SLOW

    def measure(self, leader: str, voters: Sequence[str], now_us: int, wall_us: int) -> None:
        """If we lead, and have heard a majority of the voters lately, the median is known. Who has no idea of the time
        yet waits a while for all of them: of two clocks nobody can say which one is wrong."""
        if leader != self._node:
            self._measured_us = self._led_us = None
            return
        self._led_us = now_us if self._led_us is None else self._led_us
        heard = [self._voters[voter] for voter in voters if voter in self._voters and voter != self._node]
        known = [offset_us for offset_us, at_us in heard if now_us - at_us <= FRESH * self._ask_us]
        if self._node in voters:
            known.append(wall_us - now_us)
        patient = not self.known and now_us - self._led_us < PATIENCE * self._ask_us
        if 2 * len(known) > len(voters) and (len(known) == len(voters) or not patient):
            known.sort()
            middle = known[(len(known) - 1) // 2 : len(known) // 2 + 1]
            before_us = self._offset_us
            # Of two the one that is nearer to what was known; else the earlier one: a late clock makes nothing expire.
            nearer = middle if before_us is None else sorted(middle, key=lambda offset: abs(offset - before_us))
            self._offset_us, self._measured_us = nearer[0], now_us

    def tell(self, asked_us: int, now_us: int, wall_us: int) -> ClockTold:
        measured = self._measured_us == now_us and self._offset_us is not None
        return ClockTold(asked_us, wall_us, now_us + (self._offset_us or 0) if measured else 0)

    def wall_us(self, now_us: int, wall_us: int) -> int:
        """This clock's time, held near the cluster's."""
        if self._offset_us is None:
            return wall_us
        cluster_us = now_us + self._offset_us
        ahead_us = wall_us - cluster_us
        if ahead_us > TOLERANCE_US:
            return cluster_us + TOLERANCE_US
        return wall_us if ahead_us >= -TOLERANCE_US else cluster_us - TOLERANCE_US
