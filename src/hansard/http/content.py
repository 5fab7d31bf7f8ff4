"""A body of POST /changes as columns: keys, values and tags, whatever form they came in."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Annotated, Final, NamedTuple

import msgspec

from hansard.batch.limits import CHANGES_MAX

from .arrow import MEDIA_TYPE as ARROW
from .arrow import columns_of
from .forms import Base64, NewChange
from .problem import Refusal
from .workroom import portions

JSON: Final = "application/json"
LINES: Final = "application/x-ndjson"
LINES_TOO: Final = "application/jsonl"
LINES_MAX: Final = 2 * CHANGES_MAX
"""With those that are blank."""


class Rows(NamedTuple):
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    tags: Sequence[Sequence[str]]
    single: bool = False
    """The body was one change and no list of them, and so is the answer."""


_one = msgspec.json.Decoder(NewChange)
_many = msgspec.json.Decoder(Annotated[list[msgspec.Raw], msgspec.Meta(min_length=1, max_length=CHANGES_MAX)])
"""Where each one begins and ends, which is quickly found; what is in it is looked at in portions."""
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
    return _rows("change", _many.decode(body))


def _from_lines(body: bytes) -> Rows:
    """An empty line is none, and the lines are counted before any is looked at."""
    count = body.count(b"\n") + 1
    lines = body.split(b"\n") if count <= LINES_MAX else []
    if sum(map(bool, map(bytes.strip, lines))) > CHANGES_MAX or not lines:
        raise ValueError(f"it has {count} lines, and 1 to {CHANGES_MAX} changes are wanted")
    return _rows("line", lines)


def _from_arrow(body: bytes) -> Rows:
    return Rows(*columns_of(body))


def _rows(what: str, texts: Sequence[bytes | msgspec.Raw]) -> Rows:
    """`what` each of them is called where it is wrong. Blank ones are left out."""
    keys: list[bytes | None] = []
    values: list[bytes | None] = []
    tags: list[list[str]] = []
    number = 0
    for portion in portions(len(texts)):
        try:
            for text in texts[portion]:
                number += 1
                if not bytes(text).strip():
                    continue
                change = _one.decode(text)
                keys.append(_key(change.key))
                values.append(_value(change.value))
                tags.append(change.tags)
        except (msgspec.MsgspecError, binascii.Error, UnicodeError) as error:
            raise ValueError(f"{what} {number}: {error}") from error
    if not values:
        raise ValueError(f"it has no changes, and 1 to {CHANGES_MAX} are wanted")
    return Rows(keys, values, tags)


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
    if text.startswith(b"{") and (b"base64" in text or b"\\" in text):  # where an escape might stand for it
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
