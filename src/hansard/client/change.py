"""A change as a caller gives it, checked by itself, so that one that no batch can hold fails alone.

Keys are bytes, and a str stands for its UTF-8. Values are that, too, or anything that JSON can say: a dict, list,
number or bool becomes its JSON. A value of None says that the key is deleted.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from hansard.batch import LimitExceeded, Text, change_bytes, tag_name
from hansard.batch.errors import BadInput
from hansard.batch.limits import KEY_BYTES_MAX, TAGS_PER_CHANGE_MAX, VALUE_BYTES_MAX

from .errors import WrongType


class Checked(NamedTuple):
    """One that no batch will refuse."""

    key: bytes | None
    value: bytes | None
    tags: tuple[str, ...]
    byte_count: int
    """Not below what it adds to a batch."""


BARE_BYTES: Final = change_bytes(None, None, ())
TAG_BYTES: Final = change_bytes(None, None, ("t",)) - BARE_BYTES - 1
"""What a change, and what each of its tags, takes besides the texts themselves."""


Value = Text | dict[str, Any] | list[Any] | int | float | bool
"""Text, or what JSON can say."""


def encoded(value: Value | None) -> Text | None:
    """As the log has it, or as a batch takes it."""
    if isinstance(value, dict | list | int | float):
        try:
            return msgspec.json.encode(value)
        except (TypeError, ValueError, msgspec.MsgspecError, RecursionError) as error:
            raise WrongType("value", f"JSON cannot say it: {error}") from error
    return value


def key_bytes(key: Text | None) -> bytes | None:
    return _encoded("key", key, KEY_BYTES_MAX)


def value_bytes(value: Value | None) -> bytes | None:
    return _encoded("value", encoded(value), VALUE_BYTES_MAX)


def checked(key: Text | None, value: Value | None, tags: Sequence[str]) -> Checked:
    names, byte_count = tag_bytes(tags)
    if type(key) is bytes and type(value) is bytes and len(key) <= KEY_BYTES_MAX and len(value) <= VALUE_BYTES_MAX:
        return Checked(key, value, names, BARE_BYTES + len(key) + len(value) + byte_count)  # at once, as it mostly is
    its_key, its_value = key_bytes(key), value_bytes(value)
    return Checked(its_key, its_value, names, BARE_BYTES + len(its_key or b"") + len(its_value or b"") + byte_count)


def tag_bytes(tags: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """The tags of a change, and an upper bound of what they add to a batch."""
    if type(tags) in {tuple, list}:
        try:
            return _known(tuple(tags))
        except TypeError:  # something in it that cannot be a tag, and is named below
            pass
    return _measured(_names(tags))


@lru_cache(maxsize=1024)
def _known(tags: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
    """Most changes have tags that others have had before."""
    return _measured(_names(tags))


def _measured(names: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
    return names, sum([TAG_BYTES + len(tag_name(name)) for name in names])


def _names(tags: Sequence[str]) -> tuple[str, ...]:
    """A str is a sequence of str as well, and a set has no order that would be the same tomorrow."""
    if not isinstance(tags, Sequence) or isinstance(tags, str | bytes | bytearray | memoryview):
        raise WrongType("tags", f"a list of str is wanted, not {tags!r:.60}")
    names = tuple(tags)
    if len(names) > TAGS_PER_CHANGE_MAX:
        raise LimitExceeded("tags of a change", TAGS_PER_CHANGE_MAX, len(names))
    for name in names:
        if not isinstance(name, str):
            raise WrongType("tags", f"a tag must be a str, not {type(name).__name__}")
    return names


def _encoded(field: str, text: object, limit: int) -> bytes | None:
    match text:
        case bytes():
            data = text
        case None:
            return None
        case str():
            try:
                data = text.encode()
            except UnicodeEncodeError as error:
                raise BadInput(field, f"a str that is not valid Unicode: {error.reason}") from error
        case bytearray() | memoryview():
            data = bytes(text)
        case _:
            more = ", what JSON can say" if field == "value" else ""
            raise WrongType(field, f"must be bytes, str{more} or None, not {type(text).__name__}")
    if len(data) > limit:
        raise LimitExceeded(f"bytes of a {field}", limit, len(data))
    return data
