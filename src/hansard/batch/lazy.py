"""A value worked out when first asked for, and kept.

`functools.cached_property` takes a lock on each first access until Python 3.12; here two threads may work out the
same value twice instead, which is harmless for views over bytes that never change.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Owner = TypeVar("Owner")
Value = TypeVar("Value")


class lazy(Generic[Owner, Value]):  # noqa: N801, a decorator
    def __init__(self, work_out: Callable[[Owner], Value]) -> None:
        self._work_out = work_out
        self._name = work_out.__name__
        self.__doc__ = work_out.__doc__

    @overload
    def __get__(self, owner: None, kind: Any) -> "lazy[Owner, Value]": ...
    @overload
    def __get__(self, owner: Owner, kind: Any) -> Value: ...
    def __get__(self, owner: Owner | None, kind: Any) -> "lazy[Owner, Value] | Value":
        if owner is None:
            return self
        value = self._work_out(owner)
        setattr(owner, self._name, value)
        return value
