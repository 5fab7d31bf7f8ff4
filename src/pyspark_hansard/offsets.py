"""Offsets of a streaming query as Spark keeps them: JSON, by bucket, the same text for the same places.

    {"log": "9f...", "hold": "spark-4c...", "buckets": {"0": {"level": 2, "offset": 17}, ...}}

The first batch of a query has `began`, too: where it begins. Spark asks anew for that when a query is started again
before its first batch was committed, and by then `latest`, or where the log begins, is somewhere else. It does no IO.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .places import Place, Places, Range, between, offsets


@dataclass(frozen=True, slots=True)
class StreamOffset:
    log: str
    hold: str
    places: Places
    is_initial: bool = False
    """No batch has ended here: it is where a query begins."""
    began: Mapping[int, int] | None = None

    def told(self) -> dict[str, Any]:
        """As Spark keeps it."""
        told: dict[str, Any] = {"log": self.log, "hold": self.hold}
        if self.is_initial:
            told["initial"] = True
        if self.began is not None:
            told["began"] = {str(bucket): offset for bucket, offset in sorted(self.began.items())}
        told["buckets"] = {
            str(bucket): {"level": place.level, "offset": place.offset} for bucket, place in sorted(self.places.items())
        }
        return told

    @property
    def offsets(self) -> dict[int, int]:
        return offsets(self.places)

    def ended(self, places: Places) -> "StreamOffset":
        """Where a batch ends that begins here."""
        return StreamOffset(self.log, self.hold, places, began=self.offsets if self.is_initial else None)


def parsed(told: Mapping[str, Any]) -> StreamOffset:
    """What was told once; a ValueError says that it was not by us."""
    try:
        began = told.get("began")
        return StreamOffset(
            told["log"],
            told["hold"],
            {int(bucket): Place(place["level"], place["offset"]) for bucket, place in told["buckets"].items()},
            bool(told.get("initial")),
            None if began is None else {int(bucket): offset for bucket, offset in began.items()},
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the checkpoint has an offset that is not of hansard: {told!r}") from error


def ranges(start: StreamOffset, end: StreamOffset) -> list[Range]:
    """What lies between two offsets, by them alone."""
    if start.log != end.log:
        raise ValueError(f"the checkpoint has offsets of two logs, {start.log} and {end.log}")
    return between(start.offsets if end.began is None else end.began, end.places)


def shared(lags: Mapping[int, int], limit: int) -> dict[int, int]:
    """How much each bucket may go on by, when all of them together may by so much: those that are far behind by more;
    one at least goes on."""
    total = sum(lags.values())
    if total <= limit:
        return dict(lags)
    shares = {bucket: lag * limit // total for bucket, lag in lags.items()}
    left = limit - sum(shares.values())
    for bucket in sorted(lags, key=lambda bucket: (-lags[bucket], bucket)):
        if left and shares[bucket] < lags[bucket]:
            shares[bucket] += 1
            left -= 1
    return shares
