"""What a token that is limited to tags gets in place of places: ids, bookmarks and connections that only it can use.

An offset tells how much others have written, a bookmark that anybody has. So what such a token is given of them is
encrypted with the cluster's secret key, and bound to the token and to what it is. A bookmark looks different each time,
and is as long as any other of a log with as many buckets. An id is always the same for the same change, or nobody could
know it again.
"""

import base64
import binascii
import os
import struct
from typing import Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from hansard.bookmark import Bookmark

PREFIX: Final = "s1"
KEY_BYTES: Final = 64
NONCE_BYTES: Final = 16
_PLACE = struct.Struct("<qq")
_PAIR = struct.Struct("<iq")


class Unsealable(Exception):
    """It was made for another token, by another cluster, for something else; or by nobody."""


class Seal:
    """For one token: `whose` is its id."""

    def __init__(self, secret: bytes, whose: str) -> None:
        derived = HKDF(hashes.SHA256(), KEY_BYTES, None, b"hansard http seal").derive(secret)
        self._cipher = AESSIV(derived)
        self._whose = whose.encode()

    def bookmark(self, bookmark: Bookmark) -> str:
        log = bookmark.log_id.encode()
        pairs = b"".join([_PAIR.pack(bucket, offset) for bucket, offset in sorted(bookmark.offsets.items())])
        nonce = os.urandom(NONCE_BYTES)
        return self._sealed(b"bookmark", bytes([len(log)]) + log + pairs, nonce)

    def bookmark_of(self, text: str) -> Bookmark:
        packed = self._opened(b"bookmark", text, NONCE_BYTES)
        end = packed[0] + 1
        return Bookmark(packed[1:end].decode(), dict(_PAIR.iter_unpack(packed[end:])))

    def id(self, offset: int, hash_: int) -> str:
        return self._sealed(b"id", _PLACE.pack(offset, hash_))

    def id_of(self, text: str) -> tuple[int, int]:
        offset, hash_ = _PLACE.unpack(self._opened(b"id", text))
        return offset, hash_

    def connection(self, number: int) -> str:
        return self._sealed(b"connection", msgspec.msgpack.encode(number))

    def connection_of(self, text: str) -> int:
        return msgspec.msgpack.decode(self._opened(b"connection", text), type=int)

    def _sealed(self, kind: bytes, content: bytes, nonce: bytes = b"") -> str:
        sealed = nonce + self._cipher.encrypt(content, [kind, self._whose, nonce])
        return PREFIX + base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()

    def _opened(self, kind: bytes, text: str, nonce_bytes: int = 0) -> bytes:
        if not text.startswith(PREFIX) or not text.isascii():
            raise Unsealable
        text = text.removeprefix(PREFIX)
        try:
            sealed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            nonce = sealed[:nonce_bytes]
            return self._cipher.decrypt(sealed[nonce_bytes:], [kind, self._whose, nonce])
        except (binascii.Error, InvalidTag, ValueError) as error:
            raise Unsealable from error
