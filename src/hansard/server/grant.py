"""What somebody may do: the rules for submitting and reading with a token, as plain functions of what it allows.

A token that is limited stands for a tenant, and its tags for what is the tenant's: those that it names, and those that
begin with one of its prefixes. Every change of a tenant carries at least one tag, and all of its tags are the tenant's;
so nothing that it submits turns up in what another tenant reads. It reads what carries one of its tags. Streams are
told apart by who has them: a tenant's connections all have names, and these begin with its token's name. Tags that
begin with `hansard:` are no tenant's; but records of checkpoints are read by those who may read what they are about.
"""

import re
import ssl
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from msgspec import Struct

from hansard.batch import Batch
from hansard.checkpoint import RESERVED, may_see
from hansard.distributor.entitlement import Entitlement, Rates, Scope

NOT_ALLOWED: Final = "this takes a token that allows it"
"""Said of everything that is refused, whatever the reason: who has no right to something learns nothing of it."""
CERTIFIED: Final = re.compile(r"(?P<scopes>[a-z]+(?:\+[a-z]+)*):[A-Za-z0-9._-]{1,63}")
SECOND_US: Final = 1_000_000
_RESERVED: Final = RESERVED.encode()


class Limited(NamedTuple):
    """What a read is to ask for, so that it finds nothing but what it may."""

    tags: tuple[bytes, ...]
    every: bool


class Grant(Struct, frozen=True):
    name: str
    """The token's, or what the certificate calls it."""
    allows: Entitlement
    expires_us: int = 0
    """By the cluster's time; 0: never."""

    def may(self, scope: str) -> bool:
        return scope in self.allows.scopes

    @property
    def is_limited(self) -> bool:
        return self.allows.is_limited

    @property
    def rates(self) -> Rates:
        return self.allows.rates

    def is_over(self, now_us: int) -> bool:
        return 0 < self.expires_us <= now_us

    # What is whose.

    def owns(self, tag: bytes) -> bool:
        if not self.is_limited:
            return True
        return (tag in self.allows.tags or tag.startswith(self.allows.prefixes)) and not tag.startswith(_RESERVED)

    def may_look_for(self, tag: bytes) -> bool:
        return may_see(tag, self.owns) if tag.startswith(_RESERVED) and self.is_limited else self.owns(tag)

    def limit(self, tags: Collection[bytes], every: bool) -> Limited | None:
        """What to look for where these tags are wanted, any or every one of them; None if that is not to be had.

        Whatever carries a tag of ours is ours to read. So of many tags any of which will do all must be ours, and of
        those that must all be there one is enough. Where none is asked for, it is all of ours: but of prefixes nobody
        knows which tags there are, and who has only these must say what it wants."""
        wanted = tuple(tags)
        if not self.is_limited:
            return Limited(wanted, every)
        if not wanted:
            return Limited(self.allows.tags, every=False) if not self.allows.prefixes else None
        ours = [self.may_look_for(tag) for tag in wanted]
        return Limited(wanted, every) if (any(ours) if every else all(ours)) else None

    def may_write(self, tags: Iterable[Collection[bytes]]) -> bool:
        """Of each change the tags that it carries."""
        return not self.is_limited or all(bool(each) and all(self.owns(tag) for tag in each) for each in tags)

    def may_submit(self, batch: Batch) -> bool:
        """The same for a batch, by its columns: it has the names of its tags once."""
        if not self.is_limited:
            return True
        ends = batch.tag_ends
        return bool((ends[1:] > ends[:-1]).all()) and all(self.owns(tag) for tag in batch.tag_names)

    # Whose streams are whose.

    @property
    def realm(self) -> str:
        """How the names of its connections begin; no token's name has a slash in it."""
        return f"{self.name}/" if self.is_limited else ""


EVERYTHING: Final = Grant("", Entitlement(tuple(Scope)))
"""What everybody may do where no token is needed."""
INNER: Final = Grant("", Entitlement((Scope.SUBMIT, Scope.READ)))
"""What participants may do at each other in the place of whoever asked them."""
NOTHING_YET: Final = Grant("", Entitlement(()))
"""What everybody may do as long as it is not known here who may do what."""


def certified(certificate: Mapping[str, Any]) -> Grant | None:
    """What a client may do by the certificate that it has shown, and that our authority confirms. Its common name says
    it: `read:NAME`, `submit:NAME`, `admin:NAME`, or several as `read+submit:NAME`."""
    names = [value for part in certificate.get("subject", ()) for kind, value in part if kind == "commonName"]
    scopes = _scopes(names[0]) if len(names) == 1 else ()
    if not scopes:
        return None
    until_us = int(ssl.cert_time_to_seconds(certificate["notAfter"])) * SECOND_US
    return Grant(names[0], Entitlement(scopes), until_us)


def is_clients_name(name: str) -> bool:
    return bool(_scopes(name))


def _scopes(name: str) -> tuple[Scope, ...]:
    """What the name of a certificate is for; nothing if it is not a client's."""
    found = CERTIFIED.fullmatch(name)
    words = found["scopes"].split("+") if found is not None else []
    return tuple([scope for scope in Scope if scope in words]) if all(word in list(Scope) for word in words) else ()
