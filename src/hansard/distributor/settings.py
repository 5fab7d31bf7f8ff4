"""What the operators of a cluster may choose; it is in the log, and changes by a command."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

REPLICATION_MAX: Final = 5
MOVES_MAX: Final = 1024
SPARES_MAX: Final = 64
BUCKETS_MAX: Final = 4096
_MEMORY_US_MIN: Final = 3_600_000_000
"""An hour: far above the minute for which a granted connection number may lie about unused."""
_AGE_US_MIN: Final = 60_000_000
"""A minute: far above what clocks are apart, and above what seconds taken for microseconds come to."""
_COUNT_MAX: Final = 1 << 62


class Shape(StrEnum):
    """The way of a batch through a government: from the leader to each member, or from each to the next."""

    STAR = "star"
    CHAIN = "chain"


class Keep(Struct, frozen=True, array_like=True, gc=False):
    """How much of each bucket's log is to be kept. What is beyond any of these may go; 0 is no limit."""

    age_us: int = 0
    byte_count: int = 0
    change_count: int = 0


class Settings(Struct, frozen=True, kw_only=True, gc=False):
    replication: int = 3
    """Copies of each bucket, where there are enough participants."""
    shape: Shape = Shape.STAR
    moves_max: int = 1
    """Buckets that may be on the move at a time, so that a rebalance never doubles the load. What a departure makes
    necessary does not wait for it."""
    spares: int = 0
    """Participants that are held back to take the place of one that departs."""
    memory_us: int = 7 * 24 * 3600 * 1_000_000
    """How long a bucket remembers a connection, by the log's own time."""
    retain_age_us: int = 0
    """Changes of a bucket that are older need not be kept; 0 keeps them whatever their age."""
    retain_bytes: int = 0
    """What a bucket has beyond so many bytes need not be kept; 0 keeps them however many there are."""
    retain_changes: int = 0
    """The same in changes."""

    @property
    def keep(self) -> Keep:
        return Keep(self.retain_age_us, self.retain_bytes, self.retain_changes)

    @property
    def trouble(self) -> str:
        """Why these cannot be; empty if they can."""
        if not 1 <= self.replication <= REPLICATION_MAX:
            return f"replication must be from 1 to {REPLICATION_MAX}, not {self.replication}"
        if not 1 <= self.moves_max <= MOVES_MAX:
            return f"moves_max must be from 1 to {MOVES_MAX}, not {self.moves_max}"
        if not 0 <= self.spares <= SPARES_MAX:
            return f"spares must be from 0 to {SPARES_MAX}, not {self.spares}"
        if self.memory_us < _MEMORY_US_MIN:
            return f"memory_us must be at least an hour ({_MEMORY_US_MIN}), not {self.memory_us}"
        if self.retain_age_us and not _AGE_US_MIN <= self.retain_age_us <= _COUNT_MAX:
            everything = "or 0 to keep everything"
            return f"retain_age_us must be at least a minute ({_AGE_US_MIN}), {everything}, not {self.retain_age_us}"
        for name, count in (("retain_bytes", self.retain_bytes), ("retain_changes", self.retain_changes)):
            if not 0 <= count <= _COUNT_MAX:
                return f"{name} must be 1 or more, or 0 to keep everything, not {count}"
        return ""
