"""Who may do what here: tokens are looked up in the table, which everybody has (distributor/tokens.py).

A token is a text that is shown once, when it is granted, and kept by whoever uses it:

    hsd_  4f1c9a20be77  Jt3v...          what it is, which one, and its secret: 256 random bits

The table has the secret's SHA-256, and nobody has the secret but who was given it. Who serves asks `who` for each
connection, or keeps a `Badge`, which looks again whenever the tokens have changed or its own is over. Where the cluster
is open everybody may do everything. As long as nobody here knows whether it is (a participant that has just started),
nobody may do anything: what is asked waits (porch.py).
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from hansard.distributor.tokens import Tokens
from hansard.participant.participant import Participant

from .grant import EVERYTHING, INNER, NOTHING_YET, Grant, certified
from .meter import Meter

PREFIX: Final = "hsd_"
ID_BYTES: Final = 6
SECRET_BYTES: Final = 32
TEXT_LENGTH_MAX: Final = 128
_NOBODYS: Final = bytes(32)
INNER_ID: Final = "participants"
"""Of the token that participants themselves use to read for others; no token that is drawn has this id."""


class Shown(NamedTuple):
    """What is kept of a token that somebody shows: not its secret."""

    id: str
    digest: bytes

    def __repr__(self) -> str:
        return f"<token {self.id}>"


class Drawn(NamedTuple):
    """A new token: its text is told once, and what the log is to have of it."""

    text: str
    id: str
    digest: bytes

    def __repr__(self) -> str:
        return f"<new token {self.id}>"


def drawn() -> Drawn:
    id, secret = secrets.token_hex(ID_BYTES), secrets.token_urlsafe(SECRET_BYTES)
    return Drawn(f"{PREFIX}{id}{secret}", id, _digest(secret))


def shown(text: str) -> Shown:
    """Of any text at all: one that is no token is none that anybody has."""
    if not text.startswith(PREFIX) or len(text) > TEXT_LENGTH_MAX or not text.isascii():
        return Shown("", _NOBODYS)
    end = len(PREFIX) + 2 * ID_BYTES
    return Shown(text[len(PREFIX) : end], _digest(text[end:]))


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


class Access:
    def __init__(self, core: Callable[[], Participant]) -> None:
        self._core = core
        self._has_taken_part = False
        self._is_known = False
        self._meters: dict[str, Meter] = {}
        self._metered: object = None
        """The edition of the tokens when the meters were last looked through."""

    @property
    def _tokens(self) -> Tokens:
        return self._core().distributor.tokens

    @property
    def known(self) -> bool:
        """Whether it is known here who may do what. What a start finds on its disk may be old: it is known when this
        process has taken part, in a cluster that is founded."""
        if not self._is_known:  # and once it is, it stays so
            core = self._core()
            self._has_taken_part = self._has_taken_part or core.here.member is not None
            table = core.distributor
            self._is_known = self._has_taken_part and (bool(table.buckets) or table.founding is not None)
        return self._is_known

    @property
    def is_open(self) -> bool:
        """Whether no token is needed."""
        return self.known and not self._tokens.guarded

    @property
    def edition(self) -> object:
        """Another one whenever somebody's rights may have changed."""
        return self._tokens.edition

    @property
    def key(self) -> bytes:
        """The cluster's own, for what is sealed for clients; empty as long as there is none."""
        return self._tokens.key

    @property
    def now_us(self) -> int:
        """The cluster's time, as far as it is known."""
        return max(self._core().time.stamp_us, self._tokens.wall_us)

    @property
    def inner_token(self) -> str:
        """By which a participant reads at others for whom it serves; empty as long as there is no key."""
        return f"{PREFIX}{INNER_ID}{self._inner_secret}" if self.key else ""

    @property
    def _inner_secret(self) -> str:
        return hmac.new(self.key, INNER_ID.encode(), hashlib.sha256).hexdigest()

    # Who is who.

    def who(self, token: str, certificate: Mapping[str, Any] | None = None) -> Grant | None:
        """What whoever shows this token may do, or this certificate if it shows no token; None if nothing."""
        return self.look_up(shown(token) if token else None, certificate)

    def look_up(self, token: Shown | None, certificate: Mapping[str, Any] | None = None) -> Grant | None:
        if not self.known:
            return NOTHING_YET
        if self.is_open:
            return EVERYTHING
        grant = self._granted(token) if token is not None else certified(certificate or {})
        return grant if grant is not None and not grant.is_over(self.now_us) else None

    def _granted(self, token: Shown) -> Grant | None:
        """Comparing takes as long whether there is such a token or not."""
        if token.id == INNER_ID and self.key:
            genuine = hmac.compare_digest(_digest(self._inner_secret), token.digest)
            return INNER if genuine else None
        found = self._tokens.find(token.id)
        digest = found[1].digest if found is not None else _NOBODYS
        if not hmac.compare_digest(digest, token.digest) or found is None:
            return None
        name, granted = found
        return Grant(name, granted.allows, granted.expires_us)

    def badge(self, token: str, certificate: Mapping[str, Any] | None = None) -> "Badge":
        return Badge(self, shown(token) if token else None, certificate)

    # Streams.

    def may_use(self, grant: Grant, connection: int) -> bool:
        """Whether a stream is its own. Numbers can be guessed; who goes on with another's stream would make that one's
        changes look like repetitions."""
        if not connection or not grant.is_limited:
            return True
        return self._core().distributor.connections.name_of(connection).startswith(grant.realm)

    def is_to_come(self, connection: int) -> bool:
        """Whether a connection's number is not yet known to be given out here: our table is behind."""
        return connection >= self._core().distributor.connections.next

    @staticmethod
    def name_for(grant: Grant, name: str) -> str:
        """What a connection is called that is asked for by this name. A tenant's have one in any case."""
        if not grant.is_limited:
            return name
        return grant.realm + (name or f"~{secrets.token_hex(8)}")

    # Rates.

    def wait_s(self, grant: Grant) -> float:
        """How long it has to wait before it may submit or read any more here; 0 if it need not."""
        meter = self._meter(grant)
        return meter.wait_s(self._core().here.now_us) if meter is not None else 0.0

    def use(self, grant: Grant, changes: int, byte_count: int) -> None:
        """It has submitted or read so much."""
        meter = self._meter(grant)
        if meter is not None:
            meter.use(changes, byte_count, self._core().here.now_us)

    def _meter(self, grant: Grant) -> Meter | None:
        rates = grant.rates
        if not rates.changes_per_s and not rates.bytes_per_s:
            return None
        if self._metered is not self.edition:
            self._metered = self.edition
            self._meters = {name: meter for name, meter in self._meters.items() if name in self._tokens.granted}
        known = self._meters.get(grant.name)
        if known is None or known.rates != rates:
            known = self._meters[grant.name] = Meter(rates, self._core().here.now_us)
        return known


class Badge:
    """What one connection may do, as it is now."""

    __slots__ = ("_access", "_certificate", "_edition", "_grant", "_token")

    def __init__(self, access: Access, token: Shown | None, certificate: Mapping[str, Any] | None) -> None:
        self._access = access
        self._token = token
        self._certificate = certificate
        self._edition: object = None
        self._grant: Grant | None = None

    @property
    def grant(self) -> Grant | None:
        access = self._access
        if self._edition is not access.edition or self._grant is None or self._grant is NOTHING_YET:
            self._edition, self._grant = access.edition, access.look_up(self._token, self._certificate)
        elif self._grant.expires_us and self._grant.is_over(access.now_us):
            self._grant = None
        return self._grant
