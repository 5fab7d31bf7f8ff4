"""Times and bounds of the atomic log; everybody's defaults.

A participant that dies is proposed for departure when its lease is over; if it led, a new leader is elected meanwhile.
So with the defaults a departure is in the log after 0.6 s, or after 0.9 s where an election was tried twice.
"""

from msgspec import Struct


class Settings(Struct, frozen=True, kw_only=True, gc=False):
    heartbeat_us: int = 60_000
    """So often a leader is heard by voters when it has nothing to say."""
    election_us: int = 300_000
    """A voter that hears no leader for this long, and up to as long again, asks to be elected. A leader that does not
    hear a majority for this long steps down."""
    lease_us: int = 600_000
    """A participant that is not heard for this long is proposed for departure. Who does not vote is asked three times
    as often, and often enough not to miss its leader."""
    resend_us: int = 200_000
    """Without an answer for this long, what was sent is taken for lost."""
    append_entries_max: int = 512
    append_bytes_max: int = 1 << 20
    """Of one message."""
    flight_max: int = 8
    """Messages with entries that may be under way to one participant."""
    compact_entries: int = 2048
    """The state is stored, and the log before it forgotten, after so many entries."""
    keep_entries: int = 1024
    """Of these so many are kept for those who are a little behind."""
    part_bytes: int = 256 << 10
    """A part of a state that is sent."""
    promote_entries: int = 64
    """Who is to vote must be at most so far behind."""

    def __post_init__(self) -> None:
        for field in self.__struct_fields__:
            if getattr(self, field) <= 0:
                raise ValueError(f"{field} must be more than 0")
        if self.heartbeat_us * 3 > self.election_us:
            raise ValueError(
                f"election_us ({self.election_us}) must be at least three times heartbeat_us ({self.heartbeat_us}): "
                "one lost message is no reason for an election"
            )
        if self.lease_us < self.election_us:
            raise ValueError(
                f"lease_us ({self.lease_us}) must not be below election_us ({self.election_us}): "
                "whoever is elected could not hear anybody before their leases are over"
            )
        if self.keep_entries >= self.compact_entries:
            raise ValueError(f"keep_entries ({self.keep_entries}) must be below compact_entries")
