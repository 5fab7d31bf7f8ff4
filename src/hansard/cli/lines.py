"""Changes as lines of JSON, from a file, a pipe or somebody who types them."""

import base64
import binascii
from collections.abc import Iterator
from typing import NamedTuple, Protocol

import msgspec

from hansard.batch import BatchError
from hansard.embedded import NewChange, checked

GROUP_LINES = 1_000
LINE_BYTES_MAX = 64 << 20
"""The largest value takes 8 MiB, and JSON may need six bytes for one of them."""


class Source(Protocol):
    def read1(self, size: int, /) -> bytes:
        """What has come, at least one byte of it; nothing at the end."""


class BadLine(Exception):
    def __init__(self, number: int, problem: str) -> None:
        super().__init__(f"line {number}: {problem}")
        self.number = number


class Line(NamedTuple):
    number: int
    text: bytes


class _Fields(msgspec.Struct, forbid_unknown_fields=True):
    key: msgspec.Raw = msgspec.Raw(b"null")
    value: msgspec.Raw = msgspec.Raw(b"null")
    tags: list[str] | None = None
    bucket: msgspec.Raw = msgspec.Raw(b"null")
    offset: msgspec.Raw = msgspec.Raw(b"null")
    time: msgspec.Raw = msgspec.Raw(b"null")


class _Base64(msgspec.Struct, forbid_unknown_fields=True):
    base64: str


_fields = msgspec.json.Decoder(_Fields)
_base64 = msgspec.json.Decoder(_Base64)


def line_groups(source: Source) -> Iterator[list[Line]]:
    """Lines as they come: all that have arrived, so that a typed one is not kept waiting, but not too many at once."""
    pieces: list[bytes] = []
    number = 0
    while chunk := source.read1(1 << 20):
        *whole, rest = chunk.split(b"\n")
        if whole:
            whole[0] = b"".join([*pieces, whole[0]])
            pieces = []
            numbered = [Line(number + place, text) for place, text in enumerate(whole, start=1)]
            number += len(whole)
            yield from (numbered[start : start + GROUP_LINES] for start in range(0, len(numbered), GROUP_LINES))
        pieces.append(rest)
        if sum(map(len, pieces)) > LINE_BYTES_MAX:
            raise BadLine(number + 1, f"is longer than {LINE_BYTES_MAX:,} bytes; one object to a line is wanted")
    last = b"".join(pieces)
    if last:
        yield [Line(number + 1, last)]


def changes_of(lines: list[Line]) -> tuple[list[NewChange], BadLine | None]:
    """The changes up to the first line that is none, and what is wrong with that one. Empty lines count for nothing."""
    changes: list[NewChange] = []
    for line in lines:
        if not line.text.strip():
            continue
        try:
            fields = _fields.decode(line.text)
            changes.append(NewChange(_content(fields.key), _content(fields.value), fields.tags or ()))
        except (msgspec.DecodeError, binascii.Error) as error:
            return changes, BadLine(line.number, str(error))
    return changes, None


def fit_changes(lines: list[Line]) -> tuple[list[NewChange], BadLine | None]:
    """The same up to the first one that no log would take: slower, to be asked when one has refused them."""
    changes, bad = changes_of(lines)
    numbers = [line.number for line in lines if line.text.strip()]
    for place, change in enumerate(changes):
        try:
            checked(*change)
        except BatchError as error:
            return changes[:place], BadLine(numbers[place], str(error))
    return changes, bad


def _content(raw: msgspec.Raw) -> bytes | None:
    """A JSON value as a key's or value's bytes: strings as UTF-8, null as none, {"base64": ...} decoded, and everything
    else as it is written."""
    text = bytes(raw)
    if text == b"null":
        return None
    if text.startswith(b'"'):
        return msgspec.json.decode(text, type=str).encode()
    if text.startswith(b"{"):
        try:
            encoded = _base64.decode(text)
        except msgspec.ValidationError:
            return text
        return base64.b64decode(encoded.base64, validate=True)
    return text
