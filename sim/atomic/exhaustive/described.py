"""What a participant consists of, as a value that can be compared.

Two that differ only in what is ignored behave alike in this world, so they count as one. What is not mentioned counts,
so a new field of the core makes more states and hides none; one that is ignored must not come to matter here.
"""

from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from msgspec import Struct

from hansard.consensus.consensus import Consensus
from hansard.consensus.election import Election
from hansard.consensus.following import Following
from hansard.consensus.leader import Leader
from hansard.consensus.ledger import Ledger
from hansard.consensus.log import Log
from hansard.consensus.message import Appended
from hansard.consensus.progress import Progress
from hansard.consensus.recovered import NoteContent
from hansard.consensus.seat import Seat

from .drive import Drive, Platter

Ignored = Mapping[type, frozenset[str]]

IGNORED: Final[Ignored] = {
    # The same for all, a clock, which is set anew before every event, or of no interest: nobody reads here, arrives,
    # departs or proposes who votes.
    Consensus: frozenset(
        {
            *("_arrive_us", "_asked_us", "_draw_life", "_ended", "_led", "_offered_us", "_recovered_end", "_roster"),
            *("address", "arrival", "effects", "leaving", "me", "now_us", "post", "proposals", "reads"),
            *("settings",),
        }
    ),
    # What follows from the committed log is the same wherever that is the same. A process is told from the one before
    # by its session, but only where it proposes something.
    Ledger: frozenset(
        {
            *("_rules_max", "cluster", "collection", "effects", "facts", "life", "machine", "parts", "roster"),
            *("rules_wanted", "session", "settings", "snapshot"),
        }
    ),
    Log: frozenset({"_base", "councils", "start", "start_term"}),
    Seat: frozenset(
        {
            *("_jitter", "_last_leader", "_waiting", "deadline_us", "heard_us", "ledger", "now_us", "peer", "post"),
            *("settings",),
        }
    ),
    Leader: frozenset(
        {
            *("_first", "_looked_at", "_predecessor", "began_us", "heir", "heir_until_us", "ledger", "me", "now_us"),
            *("post", "rounds", "settings"),
        }
    ),
    Progress: frozenset({"heard_us", "peer", "progress_us", "round", "sent_us", "transfer"}),
    Following: frozenset({"ledger", "round"}),
    Election: frozenset({"ledger", "me", "post"}),
    Platter: frozenset({"documents", "start"}),
    NoteContent: frozenset({"cluster", "collection", "life", "session"}),
    Drive: frozenset(),
}
"""By class, the fields that make no difference."""

LEAN_IGNORED: Final[Ignored] = {
    **IGNORED,
    # What a leader says does not depend on it, and what it has counted of proposals follows from its log.
    Leader: IGNORED[Leader] | {"_counted"},
    Progress: IGNORED[Progress] | {"asked", "commit_sent", "flight", "introduced", "next"},
    # Of one that has to wait for the disk, as of all others.
    Appended: frozenset({"end", "end_term", "missing", "round"}),
}
"""The same for lean worlds."""

_PLAIN: Final = frozenset({int, str, bytes, bool, type(None)})


class Describer:
    def __init__(self, ignored: Ignored) -> None:
        self._ignored = ignored
        self._fields: dict[type, tuple[str, ...]] = {}

    def content(self, thing: Any) -> Any:
        """Nested tuples of plain values, and of others that do not change."""
        kind = type(thing)
        if kind in _PLAIN:
            return thing
        if kind in (tuple, list, deque):
            return tuple([self.content(each) for each in thing])
        if kind is set:
            return frozenset(thing)
        if kind is dict:
            return frozenset([(key, self.content(value)) for key, value in thing.items()])
        if isinstance(thing, Enum) or (_frozen(kind) and kind not in self._ignored):
            return thing
        found = (kind.__name__, *[self.content(getattr(thing, field)) for field in self._fields_of(thing, kind)])
        # In which order messages wait for the disk makes no difference.
        return (*found, frozenset(self.content(thing._waiting))) if kind is Seat else found

    def _fields_of(self, thing: Any, kind: type) -> tuple[str, ...]:
        found = self._fields.get(kind)
        if found is None:
            every = kind.__struct_fields__ if issubclass(kind, Struct) else getattr(kind, "__slots__", None)
            without = self._ignored.get(kind, frozenset())
            found = tuple(sorted([field for field in every or vars(thing) if field not in without]))
            self._fields[kind] = found
        return found


def _frozen(kind: type) -> bool:
    return issubclass(kind, Struct) and kind.__struct_config__.frozen
