"""The client's bounds; everybody's defaults."""

from msgspec import Struct

from hansard.batch import BATCH_BYTES_MAX, CHANGES_MAX
from hansard.wire.frame import FRAME_BYTES_MAX


class Settings(Struct, frozen=True, kw_only=True):
    timeout_s: float = 10.0
    """From submitting to giving up. What waits for room in the client waits as long again at most."""
    window_batches: int = 64
    window_bytes: int = 16 << 20
    """In flight: sent, and not answered. One batch may always be, however large it is."""
    batch_changes: int = 10_000
    batch_bytes: int = 1 << 20
    """Where single changes that gather are cut. Larger batches are no faster, and hold up everybody else's."""
    gathered_changes: int = 200_000
    gathered_bytes: int = 32 << 20
    """Beyond this, whoever submits waits before anything is taken."""
    answer_grace_s: float = 0.25
    """After the deadline, for the answer to what was sent: a leader that answers at the deadline spares us a doubt."""
    backoff_min_s: float = 0.02
    backoff_max_s: float = 1.0

    def __post_init__(self) -> None:
        if min(getattr(self, field) for field in self.__struct_fields__) <= 0:
            raise ValueError(f"every setting is above zero: {self}")
        if self.batch_changes > CHANGES_MAX or self.batch_bytes > BATCH_BYTES_MAX // 2:
            raise ValueError(f"a batch has at most {CHANGES_MAX} changes and {BATCH_BYTES_MAX // 2} bytes here: {self}")

        if self.window_batches > 10_000 or self.window_bytes > FRAME_BYTES_MAX // 2:
            raise ValueError(f"a window has at most 10000 batches and {FRAME_BYTES_MAX // 2} bytes: {self}")

    @property
    def tick_s(self) -> float:
        """How often deadlines are looked at."""
        return min(0.25, self.timeout_s / 20)

    @property
    def silence_s(self) -> float:
        """Without any answer for so long, what is sent may be sent again to another participant."""
        return self.timeout_s / 3

    @property
    def draft_s(self) -> float:
        """A batch's deadline is its oldest change's, so that changes gather for it only so long."""
        return self.timeout_s / 8
