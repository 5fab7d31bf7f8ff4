"""How much a token may have in a second: changes and bytes, each as a bucket that fills up again, for a second's worth.

Whoever finds it empty is told when there will be enough. A request that is larger than a second's worth is let through
when the bucket is full, and leaves a debt: or it could never be sent at all.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from .problem import Refusal

TOKENS_MAX: Final = 10_000
"""So many tokens are kept in mind; one that was not used for longest is forgotten, and its bucket is full again."""


class Allowance:
    __slots__ = ("_left", "_rate", "_seen_s")

    def __init__(self, rate: float, now_s: float) -> None:
        self._rate = rate
        self._left = rate
        self._seen_s = now_s

    def wait_s(self, now_s: float) -> float:
        """Until something may be taken."""
        self._left = min(self._rate, self._left + (now_s - self._seen_s) * self._rate)
        self._seen_s = now_s
        return 0.0 if self._left > 0 else (1 - self._left) / self._rate

    def take(self, amount: float) -> None:
        self._left -= amount


class Rates:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: OrderedDict[tuple[str, str, float], Allowance] = OrderedDict()

    def spend(self, whose: str, allowed: dict[str, float], amounts: dict[str, int]) -> None:
        """Refuses what is too much for now; nothing is taken then."""
        now_s = self._clock()
        found = [(self._allowance(whose, what, rate, now_s), what) for what, rate in allowed.items() if rate > 0]
        wait_s = max([allowance.wait_s(now_s) for allowance, _ in found], default=0.0)
        if wait_s > 0:
            rates = ", ".join([f"{rate:g} {what}" for what, rate in allowed.items() if rate > 0])
            raise Refusal("too-many", f"this token has {rates} a second", retry_s=wait_s, stored="no")
        for allowance, what in found:
            allowance.take(amounts.get(what, 0))

    def _allowance(self, whose: str, what: str, rate: float, now_s: float) -> Allowance:
        key = (whose, what, rate)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Allowance(rate, now_s)
            while len(self._known) > TOKENS_MAX:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return known
