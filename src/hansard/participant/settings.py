"""Bounds of a participant; everybody's defaults."""

from msgspec import Struct

from hansard.consensus.settings import Settings as Consensus
from hansard.phaser.settings import Settings as Phaser


class Settings(Struct, frozen=True, kw_only=True):
    consensus: Consensus = Consensus()
    phaser: Phaser = Phaser()
    hops_max: int = 4
    """A submission is not passed on more often; the tables would have to change faster than it travels."""
    held_count_max: int = 20_000
    held_bytes_max: int = 128 << 20
    """Submissions that are on their way through this participant."""
    patience_us: int = 5_000_000
    """How long a submission waits for a bucket that nobody leads, or for a table that is not here yet."""
    retry_us: int = 200_000
    """Clients that are refused for now are told to come again after this time, and up to as long again."""
    clock_us: int = 1_000_000
    """So often the cluster's time is asked for."""
    connections: int = 64
    """So many connection numbers are asked for at once, or as many as are waited for."""
    unused_us: int = 60_000_000
    """Connection numbers that were not given to a client by then are thrown away."""

    def __post_init__(self) -> None:
        for field in self.__struct_fields__[2:]:
            if getattr(self, field) <= 0:
                raise ValueError(f"{field} must be more than 0")
