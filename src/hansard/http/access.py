"""Who makes a request, and what that may do: one place where all routes ask.

Who shows a token that is limited to tags is a tenant: it reads and submits what carries its own tags, and what it is
told of places is sealed (seal.py). Everything that is decided by others' changes is kept from it.
"""

import asyncio
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

HASHES: Final = (1 << 64) - 1
HASH_DIGITS: Final = 16
NUMBERS_END: Final = 1 << 62
OFFSETS_END: Final = 1 << 63
DIGITS_MAX: Final = 19
"""Of any number that we give out. What is longer is none of ours, and is not even read."""


class Tenancy:
    """What a limited token is limited to. `tags` are those that it reads without saying which; None: it has to say."""

    def __init__(self, owns: Callable[[str], bool], tags: tuple[str, ...] | None, seal: Seal) -> None:
        self.owns = owns
        self.tags = tags
        self.seal = seal


class Guest:
    """`wait_s` says how long it has to wait for more, `used` takes what it has had, in changes and bytes."""

    def __init__(
        self,
        name: str = "",
        scopes: Sequence[str] = SCOPES,
        tenancy: Tenancy | None = None,
        wait_s: Callable[[], float] = lambda: 0.0,
        used: Callable[[int, int], None] = lambda _changes, _bytes: None,
        named: Callable[[str], str] = lambda name: name,
    ) -> None:
        self.name = name
        self.scopes = frozenset(scopes)
        self.tenancy = tenancy
        self._wait_s = wait_s
        self.used = used
        self.named = named
        """What a connection is called in the cluster that is asked for by this name."""

    @property
    def limited(self) -> bool:
        return self.tenancy is not None

    async def pace(self) -> None:
        """As long as it has to wait before it may have more."""
        wait_s = self._wait_s()
        if wait_s > 0:
            await asyncio.sleep(wait_s)

    def check_rate(self) -> None:
        wait_s = self._wait_s()
        if wait_s > 0:
            raise Refusal("too-many", "this token has had its share for now", retry_s=wait_s, stored="no")

    # Tags.

    def limit(self, tags: Sequence[str]) -> tuple[str, ...]:
        """What a read has to look for where these are asked for."""
        tenancy = self.tenancy
        if tenancy is None:
            return tuple(tags)
        if not tags and tenancy.tags is not None:
            return tenancy.tags
        if not tags or not all(tenancy.owns(tag) for tag in tags):
            raise Refusal("not-allowed", "this token reads its own tags, and has to name those that it wants")
        return tuple(tags)

    def own(self, tags: Sequence[str]) -> list[str]:
        """Of a change's tags those that it may know of."""
        return [tag for tag in tags if self.tenancy is None or self.tenancy.owns(tag)]

    def check_tags(self, rows: Sequence[Sequence[str]]) -> None:
        """Of changes to be submitted: each carries one of its tags, and none that is not."""
        tenancy = self.tenancy
        if tenancy is not None and not all(tags and all(map(tenancy.owns, tags)) for tags in rows):
            detail = "each change has to carry at least one of this token's tags, and no other"
            raise Refusal("not-allowed", detail, stored="no")

    # What stands for places.

    @property
    def _seal(self) -> Seal | None:
        return self.tenancy.seal if self.tenancy is not None else None

    def bookmark(self, bookmark: Bookmark) -> str:
        return self._seal.bookmark(bookmark) if self._seal is not None else str(bookmark)

    def bookmark_of(self, text: str) -> Bookmark:
        try:
            return self._seal.bookmark_of(text) if self._seal is not None else Bookmark.parse(text)
        except (Unsealable, BadPlace):
            raise Refusal("bad-request", "this is no bookmark of yours, or not all of one") from None

    def id_for(self, offset: int, key: bytes | None) -> str:
        hash_ = key_hash(key)
        return self._seal.id(offset, hash_) if self._seal is not None else f"{offset}-{hash_ & HASHES:016x}"

    def place_of(self, id: str) -> tuple[int, int]:
        """Offset and hash."""
        try:
            return self._seal.id_of(id) if self._seal is not None else _place(id)
        except (Unsealable, ValueError):
            raise Refusal("not-found", NO_CHANGE) from None

    def connection(self, number: int) -> str:
        return self._seal.connection(number) if self._seal is not None else str(number)

    def connection_of(self, text: str) -> int:
        try:
            return self._seal.connection_of(text) if self._seal is not None else _number(text)
        except (Unsealable, ValueError):
            detail = "this is no connection of yours: POST /connections gives one"
            raise Refusal("bad-request", detail, stored="no") from None


NO_CHANGE: Final = "there is no such change, or none that you may see"


def _place(id: str) -> tuple[int, int]:
    offset, hash_ = id.split("-")
    if len(hash_) != HASH_DIGITS or digits(offset) >= OFFSETS_END:
        raise ValueError(id)
    return int(offset), int.from_bytes(bytes.fromhex(hash_), "big", signed=True)


def _number(text: str) -> int:
    if not 0 < digits(text) < NUMBERS_END:
        raise ValueError(text)
    return int(text)


def digits(text: str) -> int:
    """A whole number as we write them; a ValueError where it is none."""
    if len(text) > DIGITS_MAX or not (text.isascii() and text.isdecimal()):
        raise ValueError(text[: DIGITS_MAX + 1])
    return int(text)


EVERYBODY: Final = Guest()
NOBODY: Final = Guest(scopes=())

Doorman = Callable[[str, object], Guest]
"""Who has this token, or shows this certificate; refuses who has neither and needs one."""


def allowed(guest: Guest, scope: str, *, whole: bool = False) -> None:
    """Refuses whoever may not. `whole`: only who is not limited to tags."""
    if scope not in guest.scopes:
        raise Refusal("not-allowed", f"this takes a token with the scope {scope!r}")
    if whole and guest.limited:
        raise Refusal("not-allowed", "this takes a token that is not limited to tags")
