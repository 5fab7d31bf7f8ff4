"""What follows from the records of one subject, in the order of their bucket. That order decides, so all agree.

- Checkpoints are numbered, and **the first `end` of a number counts**. Who makes one begins with the last that counts,
  so two ends of one number are two makers' who did the same work; the second changes nothing.
- **A start counts** if it is for the next number, and nobody is at work on that: nobody has started, or whoever has has
  left, or its time is over, or it has come again under its name. Else its maker leaves the work to the other one.
- Times are those of the records themselves: the bucket's leader gives them, and they never go back. So a slow clock of
  a maker lets nobody work for longer than it has said.

Where the first records of a log are not retained any more, the ones that are left say the same: an end is believed to
follow those that are gone, and so is a start where there is no end.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from .records import End, Left, Record, Start

Kind = TypeVar("Kind", bound=Record)


@dataclass(frozen=True, slots=True)
class Filed(Generic[Kind]):
    """A record in its place."""

    record: Kind
    offset: int
    timestamp_us: int


@dataclass(slots=True)
class Docket:
    ends: list[Filed[End]] = field(default_factory=list)
    """Those that count, the oldest first."""
    holder: Filed[Start] | None = None
    """Who is at work, or was and has not said what became of it."""
    overtaken: list[Filed[Start]] = field(default_factory=list)
    """Those whose time was over when another one started."""
    granted: set[str] = field(default_factory=set)
    """The ids of all starts that counted."""
    in_vain: list[Filed[End]] = field(default_factory=list)
    """Ends that came after another one of the same number."""
    starts: list[Filed[Start]] = field(default_factory=list)
    """All of them, whether or not they count."""

    @classmethod
    def of(cls, records: Iterable[Filed[Record]]) -> "Docket":
        docket = cls()
        for filed in records:
            docket.take(filed)
        return docket

    def take(self, filed: Filed[Record]) -> None:
        match filed.record:
            case Start() as start:
                self._start(start, Filed(start, filed.offset, filed.timestamp_us))
            case End() as end:
                self._end(end, Filed(end, filed.offset, filed.timestamp_us))
            case Left() as left:
                if self.holder is not None and self.holder.record.id == left.id:
                    self.holder = None

    @property
    def newest(self) -> Filed[End] | None:
        return self.ends[-1] if self.ends else None

    @property
    def number(self) -> int:
        """Of the newest; 0 if there is none."""
        return self.ends[-1].record.number if self.ends else 0

    @property
    def next_number(self) -> int:
        """What somebody who starts now has to say."""
        return self.number + 1 if self.ends or self.holder is None else self.holder.record.number

    @property
    def unsettled(self) -> set[str]:
        """The ids of those whose end could still be the first of its number."""
        return {each.record.id for each in self.starts if each.record.number > self.number}

    def is_busy(self, now_us: int) -> bool:
        return self.holder is not None and now_us < expiry_us(self.holder)

    def _start(self, start: Start, filed: Filed[Start]) -> None:
        holder = self.holder
        self.starts.append(filed)
        if start.number != self.next_number and (self.ends or holder is not None):
            return
        if holder is not None:
            is_again = start.named and holder.record.named and start.who == holder.record.who
            if not is_again and filed.timestamp_us < expiry_us(holder):
                return
            self.overtaken.append(holder)
        self.holder = filed
        self.granted.add(start.id)

    def _end(self, end: End, filed: Filed[End]) -> None:
        if self.ends and end.number <= self.number:
            self.in_vain.append(filed)
            return
        self.ends.append(filed)
        if self.holder is not None and self.holder.record.number <= end.number:
            self.holder = None


def expiry_us(start: Filed[Start]) -> int:
    """When its time is over, by the cluster's time."""
    return start.timestamp_us + start.record.lasts_us
