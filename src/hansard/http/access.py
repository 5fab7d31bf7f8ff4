"""Who makes a request, and what that may do: one place where all routes ask."""

from collections.abc import Callable, Sequence
from typing import Final

from hansard.batch import key_hash
from hansard.bookmark import BadPlace, Bookmark

from .problem import Refusal
from .seal import Seal, Unsealable

SUBMIT: Final = "submit"
READ: Final = "read"
ADMIN: Final = "admin"
SCOPES: Final = (SUBMIT, READ, ADMIN)


class Guest:
    """Who makes a request. One that is limited to tags sees sealed places, and nothing that others' changes tell."""

    def __init__(
        self,
        id: str = "",
        scopes: Sequence[str] = SCOPES,
        tags: Sequence[str] | None = None,
        rates: dict[str, float] | None = None,
        seal: Seal | None = None,
    ) -> None:
        self.id = id
        self.scopes = frozenset(scopes)
        self.tags = frozenset(tags) if tags is not None else None
        """None: it is not limited."""
        self.rates = rates or {}
        self.seal = seal

    @property
    def limited(self) -> bool:
        return self.tags is not None

    # What stands for places.

    def bookmark(self, bookmark: Bookmark) -> str:
        return self.seal.bookmark(bookmark) if self.seal is not None else str(bookmark)

    def bookmark_of(self, text: str) -> Bookmark:
        try:
            return self.seal.bookmark_of(text) if self.seal is not None else Bookmark.parse(text)
        except (Unsealable, BadPlace):
            raise Refusal("bad-request", "this is no bookmark of yours, or not all of one") from None

    def id_for(self, offset: int, key: bytes | None) -> str:
        hash_ = key_hash(key)
        if self.seal is not None:
            return self.seal.id(offset, hash_)
        return f"{offset}-{hash_ & HASHES:016x}"

    def place_of(self, id: str) -> tuple[int, int]:
        """Offset and hash."""
        try:
            if self.seal is not None:
                return self.seal.id_of(id)
            offset, hash_ = id.split("-")
            if not offset.isdecimal() or len(hash_) != HASH_DIGITS or not 0 <= int(offset) < 1 << 63:
                raise ValueError(id)
            return int(offset), int.from_bytes(bytes.fromhex(hash_), "big", signed=True)
        except (Unsealable, ValueError):
            raise Refusal("not-found", "there is no such change, or none that you may see") from None

    def connection(self, number: int) -> str:
        return self.seal.connection(number) if self.seal is not None else str(number)

    def connection_of(self, text: str) -> int:
        try:
            if self.seal is not None:
                return self.seal.connection_of(text)
            if not text.isascii() or not text.isdecimal() or not 0 < int(text) < 1 << 62:
                raise ValueError(text)
            return int(text)
        except (Unsealable, ValueError):
            detail = "this is no connection of yours: POST /connections gives one"
            raise Refusal("bad-request", detail, stored="no") from None


HASHES: Final = (1 << 64) - 1
HASH_DIGITS: Final = 16

EVERYBODY: Final = Guest()

Doorman = Callable[[str, str], Guest]
"""Who has this token, or this certificate's common name; refuses who has neither and needs one."""


def nobody_asked(_token: str, _certificate: str) -> Guest:
    """Where no token is needed."""
    return EVERYBODY


def allowed(guest: Guest, scope: str, *, whole: bool = False) -> None:
    """Refuses whoever may not. `whole`: only who is not limited to tags."""
    if scope not in guest.scopes:
        raise Refusal("not-allowed", f"this takes a token with the scope {scope!r}")
    if whole and guest.limited:
        raise Refusal("not-allowed", "this takes a token that is not limited to tags")


def check_tags(guest: Guest, rows: Sequence[Sequence[str]]) -> None:
    """Of changes to be submitted: each carries one of the token's tags, and none that is not."""
    if guest.tags is None:
        return
    for tags in rows:
        if not tags or not guest.tags.issuperset(tags):
            detail = "each change has to carry at least one of this token's tags, and no other"
            raise Refusal("not-allowed", detail, stored="no")
