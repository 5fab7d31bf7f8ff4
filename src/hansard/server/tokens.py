"""Tokens, as operators ask for them (admin.py): what is granted is told once, and is nowhere afterwards."""

import secrets
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from hansard.distributor.command import GrantToken, Order, RevokeToken
from hansard.distributor.entitlement import Entitlement, Rates, Scope
from hansard.distributor.orders import Standing, Status
from hansard.distributor.tokens import malformed
from hansard.participant.participant import Participant

from .access import Drawn, drawn

Told = Callable[[bytes], None]
Refused = Callable[[str], None]
Settled = Callable[[Status | None], None]
SECOND_US: Final = 1_000_000
EXPIRES_S_MAX: Final = 1e9
"""Far beyond what is allowed, and still a number."""
UNKNOWN_TIME: Final = "the cluster's time is not known here yet: ask again"


class ListTokens(Struct, frozen=True, tag_field="ask", tag="tokens"):
    pass


class Allowance(Struct, frozen=True):
    """At each participant; 0 is no limit."""

    changes_per_s: int = 0
    bytes_per_s: int = 0


class NewToken(Struct, frozen=True, tag_field="ask", tag="grant"):
    name: str
    scopes: tuple[Scope, ...]
    tags: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    expires_s: float | None = None
    """From now on; None: never."""
    rates: Allowance = Allowance()


class DropToken(Struct, frozen=True, tag_field="ask", tag="revoke"):
    name: str


def listed(core: Participant) -> dict[str, Any]:
    tokens = core.distributor.tokens
    now_us = max(core.time.stamp_us, tokens.wall_us)
    return {
        "open": not tokens.guarded,
        "tokens": [
            {
                "name": name,
                "id": token.id,
                "scopes": token.allows.scopes,
                "tags": [tag.decode(errors="replace") for tag in token.allows.tags],
                "prefixes": [prefix.decode(errors="replace") for prefix in token.allows.prefixes],
                "rates": {
                    "changes_per_s": token.allows.rates.changes_per_s,
                    "bytes_per_s": token.allows.rates.bytes_per_s,
                },
                "granted_us": token.granted_us,
                "expires_us": token.expires_us or None,
            }
            for name, token in sorted(tokens.granted.items())
            if not token.is_over(now_us)
        ],
    }


class Granting:
    """`give` takes an order, and whom to tell what has become of it."""

    def __init__(self, give: Callable[[Order, Settled], None]) -> None:
        self._give = give

    def ask(self, asked: NewToken | DropToken, core: Participant, told: Told, refused: Refused) -> None:
        if not core.time.known:
            refused(UNKNOWN_TIME)
        elif isinstance(asked, NewToken):
            self._grant(asked, core, told, refused)
        else:
            revoke = RevokeToken(asked.name, core.time.stamp_us)
            answer = msgspec.json.encode({"name": asked.name})
            self._give(Order(_id(), revoke), lambda status: _settle(status, lambda: told(answer), refused))

    def _grant(self, asked: NewToken, core: Participant, told: Told, refused: Refused) -> None:
        new = drawn()
        grant = granted(new, asked, core.time.stamp_us)
        trouble = malformed(grant) if grant is not None else "a token expires after a time, or never: leave it out then"
        if grant is None or trouble:
            refused(trouble)
            return

        def done() -> None:
            token = core.distributor.tokens.granted.get(asked.name)
            expires_us = token.expires_us if token is not None else 0
            told(msgspec.json.encode({"name": asked.name, "token": new.text, "expires_us": expires_us or None}))

        self._give(Order(_id(), grant), lambda status: _settle(status, done, refused))


def _id() -> str:
    """Of an order: each is one of its own."""
    return f"token-{secrets.token_hex(8)}"


def granted(new: Drawn, asked: NewToken, wall_us: int) -> GrantToken | None:
    """None if it would be over at once."""
    if asked.expires_s is not None and not asked.expires_s > 0:
        return None
    lasts_us = max(1, int(min(asked.expires_s, EXPIRES_S_MAX) * SECOND_US)) if asked.expires_s is not None else 0
    allows = Entitlement(
        tuple([scope for scope in Scope if scope in asked.scopes]),
        tuple(dict.fromkeys([tag.encode() for tag in asked.tags])),
        tuple(dict.fromkeys([prefix.encode() for prefix in asked.prefixes])),
        Rates(asked.rates.changes_per_s, asked.rates.bytes_per_s),
    )
    return GrantToken(asked.name, new.id, new.digest, allows, lasts_us, wall_us)


def _settle(status: Status | None, done: Callable[[], None], refused: Refused) -> None:
    if status is None:
        refused("it names too many tags: grant it with fewer, or with a prefix that they have")
    elif status.standing is Standing.DONE:
        done()
    else:
        refused(status.remark)
