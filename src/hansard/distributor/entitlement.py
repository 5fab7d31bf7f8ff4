"""What a token allows whoever shows it: to submit, to read, to give orders; all of the log, or only some tags of it.

A limited token stands for a tenant. A tag is its own if it is one of the token's tags, or begins with one of its
prefixes. What that means for submitting and reading is decided by who serves (server/access.py).
"""

from enum import StrEnum
from typing import Final

from msgspec import Struct

LIMITS_MAX: Final = 64
"""Tags and prefixes of one token."""
LIMIT_BYTES_MAX: Final = 256
"""Of each: no tag is longer."""
RATE_MAX: Final = 1 << 40


class Scope(StrEnum):
    SUBMIT = "submit"
    READ = "read"
    ADMIN = "admin"
    """To ask and to order what operators do: tokens, too."""


class Rates(Struct, frozen=True, array_like=True, gc=False):
    """What may be submitted and read with a token, together, at each participant; 0 is no limit."""

    changes_per_s: int = 0
    bytes_per_s: int = 0


class Entitlement(Struct, frozen=True, array_like=True, gc=False):
    scopes: tuple[Scope, ...]
    tags: tuple[bytes, ...] = ()
    prefixes: tuple[bytes, ...] = ()
    rates: Rates = Rates()

    @property
    def is_limited(self) -> bool:
        return bool(self.tags or self.prefixes)

    @property
    def trouble(self) -> str:
        """Why it cannot be; empty if it can."""
        if not self.scopes or len(dict.fromkeys(self.scopes)) < len(self.scopes):
            return f"a token is for one or more of {', '.join(Scope)}, each named once"
        limits = (*self.tags, *self.prefixes)
        if len(limits) > LIMITS_MAX:
            return f"a token has up to {LIMITS_MAX} tags and prefixes, not {len(limits)}"
        if not all(0 < len(limit) <= LIMIT_BYTES_MAX for limit in limits):
            return f"a tag or prefix has 1 to {LIMIT_BYTES_MAX} bytes"
        if limits and Scope.ADMIN in self.scopes:
            return "a token for admin is not limited to tags: it could grant itself others"
        if not all(0 <= rate <= RATE_MAX for rate in (self.rates.changes_per_s, self.rates.bytes_per_s)):
            return f"a rate is from 1 to {RATE_MAX} a second, or 0 for no limit"
        return ""
