"""What the leaders of our buckets have achieved, on its way into the log.

All that gathers while one proposal is under way goes with the next one: a participant that opens a hundred buckets at
once says so in one or two entries.
"""

from hansard.distributor.command import Report, Reports


class Reporting:
    def __init__(self) -> None:
        self._waiting: dict[tuple[int, str], Report] = {}
        self.under_way = 0
        """The proposal that carries the others; 0 if there is none."""

    @property
    def waiting(self) -> bool:
        """There is something to propose, and nothing under way."""
        return bool(self._waiting) and not self.under_way

    def add(self, report: Report) -> None:
        """A later one of the same kind takes its place."""
        self._waiting[report.bucket, report.achievement] = report

    def take(self) -> Reports | None:
        """What to propose now."""
        if not self.waiting:
            return None
        reports, self._waiting = tuple(self._waiting.values()), {}
        return Reports(reports)
