"""Holds, as operators and readers ask for them: a place in the log that is kept for them, for a while (admin.py)."""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from hansard.bookmark import Bookmark, LogError
from hansard.participant.effect import AnswerHold
from hansard.participant.event import Event, Hold, LetGo
from hansard.participant.participant import Participant

Told = Callable[[bytes], None]
Refused = Callable[[str], None]
SECOND: Final = 1_000_000
LASTS_S_MAX: Final = 1e9
"""Far beyond what is allowed, and still a number."""


BARRIER: Final = "."
"""Nobody's name. Letting go of it changes nothing; when that is in our log, so is everything that was answered to
anybody before."""


class ListHolds(Struct, frozen=True, tag_field="ask", tag="holds"):
    settled: bool = False
    """With everything that was answered to anybody before: this participant may be behind."""


class SetHold(Struct, frozen=True, tag_field="ask", tag="hold"):
    name: str
    lasts_s: float
    """From now on."""
    bookmark: str | None = None
    offsets: dict[int, int] | None = None
    """Instead of a bookmark: what it would have."""


class DropHold(Struct, frozen=True, tag_field="ask", tag="let go"):
    name: str


Asked = ListHolds | SetHold | DropHold


class Holding:
    """`happen` takes what is to happen to the participant."""

    def __init__(self, happen: Callable[[Event], None]) -> None:
        self._happen = happen
        self._number = 0
        self._asked: dict[int, tuple[Asked, Participant, Told, Refused]] = {}

    def ask(self, asked: Asked, core: Participant, told: Told, refused: Refused) -> None:
        event: Hold | LetGo
        if isinstance(asked, ListHolds):
            if not asked.settled:
                told(msgspec.json.encode(listed(core)))
                return
            event = LetGo(self._number + 1, BARRIER)
        elif asked.name == BARRIER:
            refused(f"{BARRIER!r} is no name of a hold")
            return
        elif isinstance(asked, SetHold):
            try:
                offsets = place(asked, core.distributor.log)
            except (LogError, ValueError) as error:
                refused(str(error))
                return
            lasts_us = int(min(max(asked.lasts_s, -1), LASTS_S_MAX) * SECOND)
            event = Hold(self._number + 1, asked.name, offsets, lasts_us)
        else:
            event = LetGo(self._number + 1, asked.name)
        self._number += 1
        self._asked[self._number] = (asked, core, told, refused)
        self._happen(event)

    def answered(self, answer: AnswerHold) -> None:
        asked, core, told, refused = self._asked.pop(answer.id)
        if answer.refusal:
            refused(answer.refusal)
        elif isinstance(asked, ListHolds):
            told(msgspec.json.encode(listed(core)))
        elif isinstance(asked, SetHold):
            told(msgspec.json.encode({"name": asked.name, "expires_us": answer.expires_us}))
        else:
            told(msgspec.json.encode({"name": asked.name}))


def place(asked: SetHold, log: str) -> dict[int, int]:
    """Raises where it is none, or another log's."""
    if (asked.bookmark is None) == (asked.offsets is None):
        raise ValueError("a hold is at a bookmark or at offsets: give one of the two")
    if asked.offsets is not None:
        return asked.offsets
    assert asked.bookmark is not None
    bookmark = Bookmark.parse(asked.bookmark)
    bookmark.resolve(log, bookmark.offsets)  # of this log
    return dict(bookmark.offsets)


def listed(core: Participant) -> dict[str, Any]:
    """Of buckets that are retained from their beginning nothing is said."""
    holds, now_us = core.distributor.holds, core.time.stamp_us if core.time.known else 0
    return {
        "holds": [
            {"name": name, "offsets": held.offsets, "asked_us": held.asked_us, "expires_us": held.expires_us}
            for name, held in sorted(holds.held.items())
            if held.expires_us > now_us
        ],
        "retained": dict(sorted(holds.floors.items())),
    }
