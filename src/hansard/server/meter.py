"""How much of its rates a token has used here."""

from typing import Final

from hansard.distributor.entitlement import Rates

SECOND_US: Final = 1_000_000


class Meter:
    """A second's worth may be used at once. What is larger than that is let through as a whole, and waited for
    afterwards: a batch is not cut because of who sends it.

    Invariant: neither credit is above its rate.
    """

    def __init__(self, rates: Rates, now_us: int) -> None:
        self.rates = rates
        self._changes = float(rates.changes_per_s)
        self._bytes = float(rates.bytes_per_s)
        self._at_us = now_us

    def use(self, changes: int, byte_count: int, now_us: int) -> None:
        self._pass(now_us)
        if self.rates.changes_per_s:
            self._changes -= changes
        if self.rates.bytes_per_s:
            self._bytes -= byte_count

    def wait_s(self, now_us: int) -> float:
        """So long nothing more may be used; 0 if something may."""
        self._pass(now_us)
        credits = ((self._changes, self.rates.changes_per_s), (self._bytes, self.rates.bytes_per_s))
        return max([-credit / rate + 1 / rate for credit, rate in credits if rate and credit <= 0], default=0.0)

    def _pass(self, now_us: int) -> None:
        passed_s = max(0, now_us - self._at_us) / SECOND_US
        self._at_us = max(self._at_us, now_us)
        self._changes = min(self._changes + passed_s * self.rates.changes_per_s, self.rates.changes_per_s)
        self._bytes = min(self._bytes + passed_s * self.rates.bytes_per_s, self.rates.bytes_per_s)
