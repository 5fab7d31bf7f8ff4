"""A body of POST /changes as columns: keys, values and tags, whatever form they came in."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from hansard.batch.limits import CHANGES_MAX

from .arrow import MEDIA_TYPE as ARROW
from .arrow import columns_of
from .forms import Base64, NewChange, NewChanges
from .problem import Refusal

JSON: Final = "application/json"
LINES: Final = "application/x-ndjson"
LINES_TOO: Final = "application/jsonl"


class Rows(NamedTuple):
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    tags: Sequence[Sequence[str]]
    single: bool = False
    """The body was one change and no list of them, and so is the answer."""


_one = msgspec.json.Decoder(NewChange)
_many = msgspec.json.Decoder(NewChanges)
_base64 = msgspec.json.Decoder(Base64)


def rows_of(body: bytes, media_type: str) -> Rows:
    """Refuses what is none."""
    decode = DECODERS.get(media_type)
    if decode is None:
        raise Refusal(
            "unsupported-body", f"a body of type {media_type[:100] or 'none'!r} is not understood", stored="no"
        )
    try:
        return decode(body)
    except (msgspec.MsgspecError, binascii.Error, UnicodeError, ValueError, RecursionError) as error:
        raise Refusal("bad-request", f"the body cannot be read: {error}", stored="no") from error


def _from_json(body: bytes) -> Rows:
    if body.lstrip()[:1] != b"[":
        change = _one.decode(body)
        return Rows((_key(change.key),), (_value(change.value),), (change.tags,), single=True)
    return _rows(_many.decode(body))


def _from_lines(body: bytes) -> Rows:
    changes = []
    for number, line in enumerate(body.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            changes.append(_one.decode(line))
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise ValueError(f"line {number}: {error}") from error
    if not 0 < len(changes) <= CHANGES_MAX:
        raise ValueError(f"it has {len(changes)} changes, and 1 to {CHANGES_MAX} are wanted")
    return _rows(changes)


def _from_arrow(body: bytes) -> Rows:
    return Rows(*columns_of(body))


def _rows(changes: Sequence[NewChange]) -> Rows:
    return Rows(
        [_key(change.key) for change in changes],
        [_value(change.value) for change in changes],
        [change.tags for change in changes],
    )


def _key(key: str | Base64 | None) -> bytes | None:
    if isinstance(key, str):
        return key.encode()
    return base64.b64decode(key.base64, validate=True) if key is not None else None


def _value(raw: msgspec.Raw) -> bytes | None:
    """What the same text is to `hansard log append`, too."""
    text = bytes(raw)
    if text == b"null":
        return None
    if text.startswith(b'"'):
        return msgspec.json.decode(text, type=str).encode()
    if text.startswith(b"{"):
        try:
            encoded = _base64.decode(text)
        except msgspec.ValidationError:
            encoded = None
        if encoded is not None:
            return base64.b64decode(encoded.base64, validate=True)
    text.decode()  # what is inside of an object was not looked at
    return text


DECODERS: Final[dict[str, Callable[[bytes], Rows]]] = {
    JSON: _from_json,
    LINES: _from_lines,
    LINES_TOO: _from_lines,
    ARROW: _from_arrow,
}


# The way out.

_OBJECT: Final = (b"{", b"[")


def shown(data: bytes | None) -> str | Base64 | None:
    """A key."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return Base64(base64=base64.b64encode(data).decode())


def shown_value(data: bytes | None) -> msgspec.Raw:
    """A value: an object or array as such, unless it would be taken for something else on the way back."""
    if data is not None and data.startswith(_OBJECT) and _is_json(data):
        # A line is a line, in JSON lines and in events.
        return msgspec.Raw(data if b"\n" not in data and b"\r" not in data else msgspec.json.format(data, indent=-1))
    return msgspec.Raw(msgspec.json.encode(shown(data)))


def _is_json(data: bytes) -> bool:
    try:
        data.decode()
        msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    try:
        _base64.decode(data)
    except msgspec.ValidationError:
        return True
    return False
