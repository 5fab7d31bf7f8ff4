"""A place in every bucket of one log, and what becomes of it when buckets are split.

A token is `b1` and then, in URL-safe base64 without padding, a CRC32C and what it is of: a MessagePack array of the
log's id and a map of bucket to offset. It is opaque to users: what is in it may change with the number in front.

A split gives both halves the parent's history, at the same offsets. So a bookmark that was made before it holds for
both: a bucket that is not in it is where its parent was. Whoever reads on takes the new halves in first (`split`), and
moves each of its own from there (`advanced`): a parent that was moved while its half is not in the bookmark would take
the half with it, past changes that were never read.
"""

import base64
import binascii
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
from crc32c import crc32c

from .errors import BadPlace, TableBehind, WrongLog

PREFIX: Final = "b1"
_CRC_BYTES: Final = 4


def parent(bucket: int) -> int:
    """Of which bucket it is a half: it came from there when the highest bit of its number began to count."""
    assert bucket > 0, "bucket 0 is where everything comes from"
    return bucket ^ (1 << bucket.bit_length() - 1)


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

    def offset(self, bucket: int) -> int | None:
        """Of a bucket, or of the nearest one that it comes from; None where the bookmark has neither."""
        while bucket not in self.offsets:
            if not bucket:
                return None
            bucket = parent(bucket)
        return self.offsets[bucket]

    def resolve(self, log_id: str, buckets: Collection[int]) -> dict[int, int]:
        """Where to go on in each of these buckets, which are all that a log has by now: idle ones are none.

        Of what the bookmark says nothing nothing was read, so that begins at 0. WrongLog if it is of another log.
        TableBehind if the bookmark has a bucket that is not among these: its two halves were read to different places,
        so that no place in the parent would do.
        """
        if log_id != self.log_id:
            raise WrongLog(self.log_id, log_id)
        for bucket in self.offsets:
            if bucket not in buckets:
                raise TableBehind(bucket)
        return {bucket: self.offset(bucket) or 0 for bucket in buckets}

    def split(self, log_id: str, buckets: Collection[int]) -> "Bookmark":
        """The same place, said of each of these buckets by itself; all that a log has by now, as for `resolve`."""
        return Bookmark(log_id, self.resolve(log_id, buckets))

    def advanced(self, offsets: Mapping[int, int]) -> "Bookmark":
        """Some buckets were read further. They are in it already: see `split`."""
        assert all(bucket in self.offsets for bucket in offsets), "what was split off is taken in before it is read"
        return Bookmark(self.log_id, {**self.offsets, **offsets})
