"""What a caller has put into one bucket under numbers of its own, so that each batch names the one before it.

Everything that was ever put counts, also what is certainly not stored: whoever comes after that names it, and is told
of the gap, until it is submitted again. Were it stepped over, its numbers would be below what the bucket has, and what
is submitted under them again be taken for stored.
"""

from collections.abc import Collection, Iterable

from .submission import NO_SERIES, Submission


class Chain:
    def __init__(self, missing: Collection[int] = ()) -> None:
        self.missing = set(missing)
        """The last series of each batch that is certainly not stored, and not followed by anything stored."""
        self._last = max(missing, default=NO_SERIES)
        """Of all."""
        self.stored_last = NO_SERIES

    def put(self, submission: Submission, pending: Iterable[Submission]) -> None:
        """Nearly always they rise; a caller goes back to submit something again."""
        before = self._last
        if before >= submission.first:
            known = [self.stored_last, *self.missing, *[other.last for other in pending if other is not submission]]
            before = max([series for series in known if series < submission.first], default=NO_SERIES)
        submission.previous = before
        self._last = max(self._last, submission.last)

    def stored(self, submission: Submission) -> None:
        self.stored_last = max(self.stored_last, submission.last)
        if self.missing:
            self.missing = {series for series in self.missing if series > self.stored_last}

    def missed(self, submission: Submission) -> None:
        """It is certainly not stored."""
        if submission.numbered:
            self.missing.add(submission.last)
