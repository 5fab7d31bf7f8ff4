"""Which buckets something is the matter with, so that nobody has to look at all the others after each fact.

It follows from the table, and is made anew with it.
"""

from collections.abc import Iterable

from .bucket import Bucket


class Census:
    def __init__(self, buckets: Iterable[Bucket] = ()) -> None:
        self.moving: dict[int, None] = {}
        self._vacant: dict[int, None] = {}
        self._leaderless: dict[int, None] = {}
        self.splitting: dict[int, None] = {}
        self.idle: dict[int, None] = {}
        for number, bucket in enumerate(buckets):
            self.note(number, bucket)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Census) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def note(self, number: int, bucket: Bucket) -> None:
        """What has become of it."""
        for numbers in (self.moving, self._vacant, self._leaderless, self.splitting, self.idle):
            numbers.pop(number, None)
        if bucket.goal:
            self.moving[number] = None
        if bucket.vacant:
            self._vacant[number] = None
        if bucket.opened < bucket.born:
            self.splitting[number] = None
        if bucket.level == 0:
            self.idle[number] = None
        elif bucket.leader is None:
            self._leaderless[number] = None

    @property
    def vacant(self) -> list[int]:
        """Those that miss somebody."""
        return sorted(self._vacant)

    @property
    def leaderless(self) -> list[int]:
        """Those without a government, but for the idle ones."""
        return sorted(self._leaderless)
