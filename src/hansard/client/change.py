"""A change as a caller gives it, checked by itself, so that one that no batch can hold fails alone.

Keys are bytes, and a str stands for its UTF-8. Values are that, too, or anything that JSON can say: a dict, list,
number or bool becomes its JSON. A value of None says that the key is deleted.
"""

from collections.abc import Sequence
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


def checked(key: Text | None, value: Value | None, tags: Sequence[str]) -> Checked:
    key_bytes = _encoded("key", key, KEY_BYTES_MAX)
    value_bytes = _encoded("value", encoded(value), VALUE_BYTES_MAX)
    byte_count = BARE_BYTES + len(key_bytes or b"") + len(value_bytes or b"")
    if not tags and type(tags) in {tuple, list}:
        return Checked(key_bytes, value_bytes, (), byte_count)
    names = _names(tags)
    for name in names:
        byte_count += TAG_BYTES + len(tag_name(name))
    return Checked(key_bytes, value_bytes, names, byte_count)


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
        case None:
            return None
        case bytes():
            data = text
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
