"""Who may do what: tokens, whether they are needed, and the cluster's own key.

A token is known by its id; of its secret only the SHA-256 is here. It has a name, under which it is revoked; the same
name again puts another token in its place. Whether anybody needs one is one word for the whole cluster. The key is
random, and for whatever participants seal for their clients and open again; the first one that is proposed stays.

All of it is in the log, so whoever serves has it: a token that is revoked is of no use wherever that has been heard.
Times are the cluster's, as proposers know it; a token that is over goes with the next command that says so, and who
serves looks at the clock besides. While tokens are needed the last one for admin is not given up: nobody could grant
another.
"""

import re
from typing import Final

from msgspec import Struct

from .command import GrantToken, RevokeToken, Seal
from .entitlement import Entitlement, Scope

TOKENS_MAX: Final = 5_000
LIMITED_BYTES_MAX: Final = 1 << 20
"""Tags and prefixes of all tokens together."""
DIGEST_BYTES: Final = 32
KEY_BYTES: Final = 32
LASTS_US_MAX: Final = 10 * 366 * 24 * 3600 * 1_000_000
NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,63}")
ID: Final = re.compile(r"[A-Za-z0-9]{8,32}")
LAST_ADMIN: Final = "this is the last token for admin, and without one nobody could grant another: grant that first"
NO_ADMIN: Final = "there is no token for admin yet, and nobody could grant one: grant that first"


class Token(Struct, frozen=True, array_like=True):
    id: str
    digest: bytes
    """SHA-256 of its secret."""
    allows: Entitlement
    granted_us: int
    """When it was asked for: a request that comes later than it should does not undo a newer one."""
    expires_us: int
    """0: never."""

    def __repr__(self) -> str:
        return f"<Token {self.id} {self.allows} until {self.expires_us}>"

    def is_over(self, wall_us: int) -> bool:
        return 0 < self.expires_us <= wall_us

    @property
    def limited_bytes(self) -> int:
        return sum([len(limit) for limit in (*self.allows.tags, *self.allows.prefixes)])


class Image(Struct, frozen=True, array_like=True):
    wall_us: int = 0
    guarded: bool = False
    key: bytes = b""
    tokens: tuple[tuple[str, Token], ...] = ()

    def __repr__(self) -> str:
        return f"<{len(self.tokens)} tokens at {self.wall_us}, {'guarded' if self.guarded else 'open'}>"


def malformed(grant: GrantToken) -> str:
    """Why it cannot be one, whatever there is; empty if it can."""
    if NAME.fullmatch(grant.name) is None:
        return "the name of a token has 1 to 63 letters, digits, dots, underscores and hyphens"
    if ID.fullmatch(grant.id) is None or len(grant.digest) != DIGEST_BYTES:
        return "this is no token"
    if not 0 <= grant.lasts_us <= LASTS_US_MAX:
        return f"a token lasts up to {LASTS_US_MAX} microseconds, or 0 for ever, not {grant.lasts_us}"
    return grant.allows.trouble


class Tokens:
    def __init__(self, image: Image | None = None) -> None:
        image = image or Image()
        self.wall_us = image.wall_us
        """The latest time that was said with these. It only grows."""
        self.guarded = image.guarded
        """Nobody does anything without a token."""
        self.key = image.key
        """Empty until there is one."""
        self.granted: dict[str, Token] = dict(image.tokens)
        """By name."""
        self._names = {token.id: name for name, token in image.tokens}
        self.edition = object()
        """Another one after each change: by it who serves knows that what it found here may have changed."""

    def image(self) -> Image:
        return Image(self.wall_us, self.guarded, self.key, tuple(sorted(self.granted.items())))

    def find(self, id: str) -> tuple[str, Token] | None:
        """A token and its name; whether it is over is another matter."""
        name = self._names.get(id)
        return (name, self.granted[name]) if name is not None else None

    @property
    def admins(self) -> list[str]:
        """The names of those that may grant others."""
        return [name for name, token in self.granted.items() if Scope.ADMIN in token.allows.scopes]

    # Commands. Each says why not; empty if it is taken.

    def grant(self, grant: GrantToken) -> str:
        self._pass(grant.wall_us)
        refusal = self._refusal(grant)
        if not refusal:
            self._drop(grant.name)
            # From the latest time that is known: nothing is over too early because its proposer's clock is behind.
            expires_us = self.wall_us + grant.lasts_us if grant.lasts_us else 0
            self.granted[grant.name] = Token(grant.id, grant.digest, grant.allows, grant.wall_us, expires_us)
            self._names[grant.id] = grant.name
            self.edition = object()
        return refusal

    def revoke(self, revoke: RevokeToken) -> str:
        self._pass(revoke.wall_us)
        known = self.granted.get(revoke.name)
        if known is None:
            return f"there is no token {revoke.name!r}"
        if known.granted_us > revoke.wall_us:
            return f"{revoke.name!r} was granted by a later request"
        if self.guarded and self.admins == [revoke.name]:
            return LAST_ADMIN
        self._drop(revoke.name)
        return ""

    def guard(self) -> str:
        if not self.admins:
            return NO_ADMIN
        self.guarded, self.edition = True, object()
        return ""

    def open(self) -> str:
        self.guarded, self.edition = False, object()
        return ""

    def seal(self, seal: Seal) -> str:
        if self.key:
            return "this cluster has its key already"
        if len(seal.key) != KEY_BYTES:
            return f"a key has {KEY_BYTES} bytes"
        self.key, self.edition = seal.key, object()
        return ""

    def _pass(self, wall_us: int) -> None:
        """Time has passed: what is over goes."""
        self.wall_us = max(self.wall_us, wall_us)
        for name in [name for name, token in self.granted.items() if token.is_over(self.wall_us)]:
            self._drop(name)

    def _drop(self, name: str) -> None:
        known = self.granted.pop(name, None)
        if known is not None:
            del self._names[known.id]
            self.edition = object()

    def _refusal(self, grant: GrantToken) -> str:
        known, trouble = self.granted.get(grant.name), malformed(grant)
        if trouble:
            return trouble
        if known is not None and known.granted_us > grant.wall_us:
            return f"{grant.name!r} was granted by a later request"
        if self._names.get(grant.id, grant.name) != grant.name:
            return "this is another token's id"
        if known is None and len(self.granted) >= TOKENS_MAX:
            return f"there are {TOKENS_MAX} tokens already: revoke one that is not needed"
        asked = Token(grant.id, grant.digest, grant.allows, 0, 0)
        others = [token for name, token in self.granted.items() if name != grant.name]
        if asked.limited_bytes + sum([token.limited_bytes for token in others]) > LIMITED_BYTES_MAX:
            return f"the tags of all tokens have {LIMITED_BYTES_MAX} bytes at the most: revoke one that is not needed"
        if self.guarded and self.admins == [grant.name] and Scope.ADMIN not in grant.allows.scopes:
            return LAST_ADMIN
        return ""
