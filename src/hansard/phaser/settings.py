"""What a phaser may be told about its bounds; everybody's defaults."""

from msgspec import Struct

from hansard.batch import BATCH_BYTES_MAX


class Settings(Struct, frozen=True, kw_only=True, gc=False):
    backlog_count_max: int = 10_000
    backlog_bytes_max: int = 64 << 20
    patience_us: int = 5_000_000
    """How long a submission waits for a bucket between governments, if its own deadline is not earlier."""
    flight_bytes_max: int = 16 << 20
    """Bytes in flight to each member, and bytes journalled and not committed."""
    tail_bytes_max: int = 32 << 20
    """Committed batches that are kept in memory for those who are behind."""
    fetch_bytes: int = 1 << 20
    """What is read from disk at a time for those who are further behind."""
    merge_bytes: int = 1 << 20
    """Small submissions become one batch, up to this size."""
    part_bytes: int = 256 << 10
    """A part of a snapshot's state."""
    resend_us: int = 500_000
    """Without progress for this long, what was sent is taken for lost."""
    checkpoint_batches: int = 4096
    """Batches after which the state is stored, which bounds what a restart has to replay; more if it is large."""
    checkpoint_bytes: int = 64 << 20
    """The same in bytes, which with an application are held in memory by a copy that starts."""

    def __post_init__(self) -> None:
        assert min(getattr(self, field) for field in self.__struct_fields__) > 0
        assert self.merge_bytes <= BATCH_BYTES_MAX // 4, "a merged batch also has columns that its parts have not"
