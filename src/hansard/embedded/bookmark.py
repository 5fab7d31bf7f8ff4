"""Bookmarks: a place in a log as one token, which can be kept anywhere and handed in later.

A token is `b1` and then, in URL-safe base64 without padding, a CRC32C and what it is of: a MessagePack array of the
log's id and a map of bucket to offset. It is opaque to users: what is in it may change with the number in front.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
from crc32c import crc32c

from .errors import BadPlace

PREFIX: Final = "b1"
_CRC_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Bookmark:
    """For each bucket of one log the offset of the first change after the bookmark. `str()` gives the token."""

    log_id: str
    offsets: Mapping[int, int]

    def __str__(self) -> str:
        body = msgspec.msgpack.encode((self.log_id, dict(sorted(self.offsets.items()))))
        packed = crc32c(body).to_bytes(_CRC_BYTES, "big") + body
        return PREFIX + base64.urlsafe_b64encode(packed).rstrip(b"=").decode()

    def __hash__(self) -> int:
        return hash(str(self))

    @classmethod
    def parse(cls, token: str) -> "Bookmark":
        """The bookmark of a token; BadPlace if it is none, or not all of it."""
        if not token.startswith(PREFIX):
            raise BadPlace(f"{token!r} is no bookmark: those begin with {PREFIX}")
        text = token.removeprefix(PREFIX)
        try:
            packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except binascii.Error:
            packed = b""
        crc, body = packed[:_CRC_BYTES], packed[_CRC_BYTES:]
        if not body or crc32c(body) != int.from_bytes(crc, "big"):
            raise BadPlace(f"the bookmark {token!r} is damaged or cut off; copy all of it")
        try:
            return cls(*msgspec.msgpack.decode(body, type=tuple[str, dict[int, int]]))
        except msgspec.DecodeError as error:
            raise BadPlace(f"the bookmark {token!r} is of another kind: {error}") from error
