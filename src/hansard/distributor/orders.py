"""What operators have ordered, and what has become of it.

An order is carried out once, however often it is in the log: its id is remembered with what came of it, for the last
thousand of them. Whether it is done follows from the table, and is noted when it is; as long as it runs it is not
forgotten.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from .command import Double, Drain, Entitling, Found, Move, Wish

REMEMBERED: Final = 1000
RUNNING_MAX: Final = 500

Lasting = Found | Double | Drain | Move
"""Wishes that are followed until they are done."""


class Standing(StrEnum):
    DONE = "done"
    RUNNING = "running"
    REFUSED = "refused"
    DROPPED = "dropped"
    """Something else came between."""


class Status(Struct, frozen=True, array_like=True):
    wish: Wish | Entitling
    standing: Standing
    remark: str = ""


class Orders:
    def __init__(self, image: tuple[tuple[str, Status], ...] = ()) -> None:
        self._statuses: dict[str, Status] = {}
        self._running: dict[str, Lasting] = {}
        for id, status in image:
            self.note(id, status.wish, status.standing, status.remark)

    def image(self) -> tuple[tuple[str, Status], ...]:
        return tuple(self._statuses.items())

    def __contains__(self, id: str) -> bool:
        return id in self._statuses

    def get(self, id: str) -> Status | None:
        return self._statuses.get(id)

    @property
    def running(self) -> Mapping[str, Lasting]:
        """In the order in which they came, as they are now."""
        return dict(self._running)

    def note(self, id: str, wish: Wish | Entitling, standing: Standing, remark: str = "") -> None:
        self._statuses[id] = Status(wish, standing, remark)
        if standing is Standing.RUNNING:
            assert isinstance(wish, Lasting)
            self._running[id] = wish
        else:
            self._running.pop(id, None)
        if len(self._statuses) > REMEMBERED:
            del self._statuses[next(id for id in self._statuses if id not in self._running)]
