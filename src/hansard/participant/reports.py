"""What the leaders of our buckets have achieved, on its way into the log.

All that gathers while one proposal is under way goes with the next one: a participant that opens a hundred buckets at
once says so in one or two entries.
"""

from hansard.distributor.command import Report, Reports


class Reporting:
    def __init__(self) -> None:
        self.added: dict[tuple[int, str], Report] = {}
        """What waits to be proposed."""
        self.under_way = 0
        """The proposal that carries the others; 0 if there is none."""

    def add(self, report: Report) -> None:
        """A later one of the same kind takes its place."""
        self.added[report.bucket, report.achievement] = report

    def take(self) -> Reports | None:
        """What to propose now, unless something is under way."""
        if not self.added or self.under_way:
            return None
        reports, self.added = tuple(self.added.values()), {}
        return Reports(reports)
