"""The first orders of a cluster: how many buckets it has, its own key, and who may do what.

Of a cluster that is not open its founder grants the first token before anything else, founds it when that is in the
log, and has the token's text for whoever reads what it writes. If it dies in between, it begins again: a token that
nobody was told is replaced by the next one.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable
from typing import Final

from hansard.distributor.command import Found, GrantToken, Order, Seal
from hansard.distributor.entitlement import Entitlement, Scope
from hansard.distributor.tokens import KEY_BYTES
from hansard.participant.event import Command, Event
from hansard.participant.participant import Participant

from .access import drawn

log = logging.getLogger("hansard")

FOUNDING: Final = "founding"
"""The id of the order that makes the buckets: it is carried out once."""
SEALING: Final = "sealing"
FIRST: Final = "admin"
"""The first token's name."""
LOOK_S: Final = 0.01


class Founding:
    """`found` is None for whoever founds nothing."""

    def __init__(self, core: Participant, happen: Callable[[Event], None], found: Found | None) -> None:
        self._core = core
        self._happen = happen
        self._found = found

    def begin(self) -> None:
        """At once, where nobody has to be let in first."""
        if self._found is not None and self._found.open is not False:
            self._order(FOUNDING, self._found)

    async def finish(self) -> str:
        """When we take part. The text of the first token, if we have founded a cluster that needs one."""
        text = ""
        if self._found is not None and self._found.open is False and not self._is_founded:
            text = await self._grant_first()
        if not self._core.distributor.tokens.key:
            self._order(SEALING, Seal(secrets.token_bytes(KEY_BYTES)))
        return text

    @property
    def _is_founded(self) -> bool:
        table = self._core.distributor
        return bool(table.buckets) or table.founding is not None

    async def _grant_first(self) -> str:
        tokens, new = self._core.distributor.tokens, drawn()
        everything = Entitlement(tuple(Scope))
        wall_us = max(self._core.time.stamp_us, tokens.wall_us)
        self._order(f"token-{new.id}", GrantToken(FIRST, new.id, new.digest, everything, 0, wall_us))
        await _until(lambda: self._core.distributor.tokens.find(new.id) is not None)
        assert self._found is not None
        self._order(FOUNDING, self._found)
        await _until(lambda: self._is_founded)
        return new.text

    def _order(self, id: str, wish: Found | GrantToken | Seal) -> None:
        self._happen(Command(0, Order(id, wish)))


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 (the core has no event for it)
        await asyncio.sleep(LOOK_S)


def compare(found: Found, core: Participant) -> None:
    """Founding is done once: what is asked for now may be something else, and does not count."""
    table = core.distributor
    buckets = len(table.buckets) or (table.founding.buckets if table.founding is not None else found.buckets)
    settings = table.settings if table.buckets or table.founding is not None else found.settings
    pairs: list[tuple[str, object, object]] = [
        ("buckets", found.buckets, buckets),
        ("replication", found.settings.replication, settings.replication),
        ("shape", found.settings.shape, settings.shape),
    ]
    if (found.open is False) is not table.tokens.guarded:
        pairs.append(("open", found.open is not False, not table.tokens.guarded))
    for name, asked, there in pairs:
        if asked != there:
            log.warning(
                "--found asks for %s %s, and the cluster was founded before, with %s now: that stays",
                name,
                asked,
                there,
            )
