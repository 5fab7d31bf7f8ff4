"""Who comes in by HTTP, as that room has it: what a grant says, put into its words."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from hansard.http.access import EVERYBODY, Guest, Tenancy
from hansard.http.problem import Refusal
from hansard.http.seal import Seal

from .access import Access
from .grant import EVERYTHING, NOTHING_YET, Grant

SEALS_MAX: Final = 1_000


@lru_cache(SEALS_MAX)
def seal_for(key: bytes, name: str) -> Seal:
    return Seal(key, name)


class Guests:
    def __init__(self, access: Access) -> None:
        self._access = access

    def who(self, token: str, certificate: object) -> Guest:
        """Refuses whoever needs a token and has none that counts."""
        shown: Mapping[str, Any] | None = certificate if isinstance(certificate, dict) else None
        grant = self._access.who(token, shown)
        if grant is EVERYTHING:
            return EVERYBODY
        if grant is NOTHING_YET:
            raise Refusal("not-ready", "it is not known here yet who may do what", stored="no")
        if grant is None:
            raise Refusal("no-token", "there is no token, or none that is still valid", stored="no")
        return self._guest(grant)

    def _guest(self, grant: Grant) -> Guest:
        access = self._access
        return Guest(
            grant.name,
            grant.allows.scopes,
            self._tenancy(grant) if grant.is_limited else None,
            lambda: access.wait_s(grant),
            lambda changes, byte_count: access.use(grant, changes, byte_count),
            lambda name: access.name_for(grant, name),
        )

    def _tenancy(self, grant: Grant) -> Tenancy:
        key = self._access.key
        if not key:
            raise Refusal("not-ready", "the cluster has no key of its own yet", stored="no")
        allows = grant.allows
        tags = tuple([tag.decode() for tag in allows.tags]) if not allows.prefixes else None
        return Tenancy(lambda tag: grant.owns(tag.encode()), tags, seal_for(key, grant.name))
