"""A participant that is about to stop: others lead what it leads, and then it departs in order, so that nobody has to
wait for a lease to end.

It does not depart where that would leave less behind than stopping does. Who departs counts no more in its buckets: if
all are stopped at once, or copies are missing already, the governments stay as they are, and each of their members
brings back what it has.
"""

from hansard.distributor.bucket import Bucket, State
from hansard.distributor.command import Resign
from hansard.distributor.member import Member
from hansard.distributor.records import has

from .effect import Retired
from .here import Here


class Retiring:
    def __init__(self, here: Here) -> None:
        self._here = here
        self.wanted = False
        self.under_way = False
        """The log is being told."""
        self._done = False
        """There is nothing more to wait for."""

    def command(self) -> Resign | None:
        """What to propose now. A process that was to stop and was killed meanwhile has left its word behind."""
        member = self._here.member
        if member is None or self.under_way or self.wanted is (member in self._here.distributor.retiring):
            return None
        self.under_way = True
        return Resign(self.wanted)

    def look(self) -> list[Retired]:
        """What is to be said: once, when all is handed over."""
        member, table = self._here.member, self._here.distributor
        if not self.wanted or self._done or member is None or member not in table.retiring:
            return []
        self._done = not any(self._awaited(bucket, member) for bucket in table.buckets if has(bucket, member))
        return [Retired(self._may_leave(member))] if self._done else []

    def _awaited(self, bucket: Bucket, member: Member) -> bool:
        """Another one is to lead it, and does not yet; or we lead it, and another one could. Of one that is about to
        stop itself nothing is awaited: it may be gone already, and until its lease has ended we would wait, and then
        see it depart."""
        table = self._here.distributor
        if bucket.leader != member:
            if bucket.leader is None or bucket.leader in table.retiring:
                return False
            return bucket.state is not State.EXPANDING and bucket.opened < bucket.epoch
        return any(heir in table.slots.present and heir not in table.retiring for heir in bucket.kept)

    def _may_leave(self, member: Member) -> bool:
        """Others are there and stay, and have as many copies of what we have as they should."""
        table = self._here.distributor
        if len(table.retiring) > 1 or len(table.slots.present) < 2:
            return False
        thinned = [table.buckets[thinned.bucket] for thinned in table.thinned()]
        return not any(has(bucket, member) for bucket in thinned)
