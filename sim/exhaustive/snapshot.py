"""Copies of a phaser, and what one consists of as a value that can be compared. Other cores are copied in the same way.

A phaser is a small graph of slotted objects that share a ledger and a list of effects. How to copy and how to describe
an object of a class is worked out once for each class; whatever cannot change (messages, batches, pieces) is shared by
the copies. `copy.deepcopy` would do the same thirty times slower.

Two phasers that differ only in what is `IGNORED` behave alike in this world, so they count as one.
"""

from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum
from types import FunctionType
from typing import Any, Final

from msgspec import Struct

from hansard.batch import Batch
from hansard.phaser import Settings

IGNORED: Final[dict[str, frozenset[str]]] = {
    # Only `Relay.remind` looks at these, after a tick or a broken connection, and there are none here: whatever could
    # be sent again can be delivered again. In-flight bytes never reach their bound.
    "Feed": frozenset({"asked_us", "commit_there", "complaint_us", "flight", "flight_bytes", "floor", "progress_us"}),
    "Relay": frozenset({"now_us"}),
    "Phaser": frozenset({"announced_us", "effects", "me", "now_us", "settings", "wall_us"}),
    # No bound on what is not committed, on memory or on batches between checkpoints is ever reached.
    "Ledger": frozenset({"effects", "settings", "tail_bytes", "uncommitted", "uncommitted_bytes"}),
    "Derived": frozenset({"due", "due_bytes"}),
}
"""By class, the fields that make no difference here."""

LEAN_IGNORED: Final = {**IGNORED, "Feed": IGNORED["Feed"] | {"complaint"}, "Member": frozenset({"complaint"})}
"""In lean worlds, where nobody complains."""

_SHARED: Final = (int, str, bytes, type(None), Enum, Batch, Settings, FunctionType)

Copier = Callable[[Any, dict[int, Any]], Any]
_copiers: dict[type, Copier] = {}

Content = Any
"""Nested tuples of plain values."""


def copied(thing: Any, seen: dict[int, Any]) -> Any:
    """A copy with the same sharing inside. `seen` holds what was copied so far, by the identity of the original."""
    copier = _copiers.get(type(thing))
    if copier is None:
        copier = _copiers[type(thing)] = _copier(type(thing))
    return copier(thing, seen)


def _copier(kind: type) -> Copier:
    if issubclass(kind, _SHARED) or _frozen(kind) or kind is tuple:
        return lambda thing, _: thing
    if kind is list or kind is deque:
        return _copied_sequence
    if issubclass(kind, dict):
        return lambda thing, seen: kind([(key, copied(value, seen)) for key, value in thing.items()])
    if kind is set:
        return lambda thing, _: set(thing)
    if issubclass(kind, Struct):
        return lambda thing, _: kind(*[getattr(thing, field) for field in kind.__struct_fields__])
    slots: tuple[str, ...] | None = getattr(kind, "__slots__", None)

    def copied_object(thing: Any, seen: dict[int, Any]) -> Any:
        twin = seen.get(id(thing))
        if twin is None:
            twin = seen[id(thing)] = object.__new__(kind)
            for field in vars(thing) if slots is None else slots:
                setattr(twin, field, copied(getattr(thing, field), seen))
        return twin

    return copied_object


def _copied_sequence(thing: Any, seen: dict[int, Any]) -> Any:
    twin = seen.get(id(thing))
    if twin is None:
        twin = seen[id(thing)] = type(thing)()
        twin.extend([copied(each, seen) for each in thing])
    return twin


def _frozen(kind: type) -> bool:
    return issubclass(kind, Struct) and kind.__struct_config__.frozen


class Describer:
    """What things consist of. Batches are long and few: each gets a number."""

    def __init__(self, number_of: Callable[[Batch], int], ignored: Mapping[str, frozenset[str]]) -> None:
        self._number_of = number_of
        self._ignored = ignored
        self._fields: dict[type, tuple[str, ...]] = {}

    def content(self, thing: Any) -> Content:
        """An object that is met a second time, as the ledger is, is left out."""
        return self._content(thing, set())

    def _content(self, thing: Any, seen: set[int]) -> Content:
        kind = type(thing)
        if kind in (int, str, bytes, bool, type(None)):
            return thing
        if kind in (tuple, list, deque):
            return tuple([self._content(each, seen) for each in thing])
        if issubclass(kind, dict):
            return tuple([(key, self._content(value, seen)) for key, value in thing.items()])
        if isinstance(thing, Batch):
            return self._number_of(thing)
        if isinstance(thing, Enum):
            return thing.name
        if id(thing) in seen:
            return ()
        if not _frozen(kind):
            seen.add(id(thing))
        return (kind.__name__, *[self._content(getattr(thing, field), seen) for field in self._fields_of(kind)])

    def _fields_of(self, kind: type) -> tuple[str, ...]:
        found = self._fields.get(kind)
        if found is None:
            every = kind.__struct_fields__ if issubclass(kind, Struct) else kind.__slots__  # type: ignore[attr-defined]
            without = self._ignored.get(kind.__name__, frozenset())
            found = self._fields[kind] = tuple([field for field in every if field not in without])
        return found
