"""The same participant under other names.

Nobody here is special: all have the same disk in the beginning and the same things can happen to each. So a state in
which the participants have changed their names leads to the same states with changed names, and one of them is enough.
The core must not look at names other than to tell one from another, which is tested; where it has an order (who votes,
who takes part), the order is as if nothing had been renamed.
"""

from collections import deque
from collections.abc import Mapping
from enum import Enum
from types import FunctionType
from typing import Any, Final

from msgspec import Struct

from hansard.consensus.cluster import NodeId, Peer
from hansard.consensus.settings import Settings

_SAME: Final = (int, bytes, type(None), Enum, Settings, FunctionType)


class Renaming:
    def __init__(self, names: Mapping[NodeId, NodeId]) -> None:
        self._names = names
        self._frozen: dict[Any, Any] = {}

    def name(self, name: NodeId) -> NodeId:
        return self._names.get(name, name)

    def renamed(self, thing: Any) -> Any:
        return self._renamed(thing, {})

    def _renamed(self, thing: Any, seen: dict[int, Any]) -> Any:
        kind = type(thing)
        if kind is str:
            return self._names.get(thing, thing)
        if issubclass(kind, _SAME):
            return thing
        if kind is tuple:
            found = tuple([self._renamed(each, seen) for each in thing])
            return tuple(sorted(found)) if found and all(type(each) is Peer for each in found) else found
        if kind is set:
            return {self._renamed(each, seen) for each in thing}
        if issubclass(kind, dict):
            pairs = [(self._renamed(key, seen), self._renamed(value, seen)) for key, value in thing.items()]
            return kind(sorted(pairs, key=lambda pair: pair[0]))
        if issubclass(kind, Struct) and kind.__struct_config__.frozen:
            return self._renamed_frozen(thing)
        twin = seen.get(id(thing))
        if twin is None:
            twin = self._renamed_object(thing, kind, seen)
        return twin

    def _renamed_frozen(self, thing: Struct) -> Any:
        twin = self._frozen.get(thing)
        if twin is None:
            fields = [self._renamed(getattr(thing, field), {}) for field in thing.__struct_fields__]
            twin = self._frozen[thing] = type(thing)(*fields)
        return twin

    def _renamed_object(self, thing: Any, kind: type, seen: dict[int, Any]) -> Any:
        if kind is list or kind is deque:
            several = seen[id(thing)] = kind()
            several.extend([self._renamed(each, seen) for each in thing])
            return several
        if issubclass(kind, Struct):
            return kind(*[self._renamed(getattr(thing, field), seen) for field in kind.__struct_fields__])
        twin = seen[id(thing)] = object.__new__(kind)
        for field in getattr(kind, "__slots__", None) or vars(thing):
            setattr(twin, field, self._renamed(getattr(thing, field), seen))
        return twin
