"""What this participant wants in the atomic log, and who is told when it is there."""

from collections.abc import Callable
from typing import Final, assert_never

from hansard.consensus import event as log
from hansard.distributor.command import (
    Command,
    Finish,
    Grant,
    Hold,
    LetGo,
    Names,
    Order,
    Reports,
    Resign,
    Retire,
    encode,
)
from hansard.distributor.orders import Status
from hansard.distributor.settings import BUCKETS_MAX
from hansard.distributor.wishes import remaining

from .connecting import Connecting
from .effect import AnswerCommand
from .event import Command as Ordered
from .event import Retention
from .here import Here
from .reports import Reporting
from .retaining import Asking, Retaining
from .retiring import Retiring

ORDER_BYTES_MAX: Final = 4096
FINISH_BYTES_MAX: Final = ORDER_BYTES_MAX + 9 * BUCKETS_MAX
"""Of the one that says where each bucket ends."""


class Proposing:
    """`tell` takes what the atomic log is to be told in this turn."""

    def __init__(self, here: Here, retaining: Retaining, tell: Callable[[log.Event], None]) -> None:
        self._here = here
        self._retaining = retaining
        self._tell = tell
        self.connecting = Connecting(here)
        self.reports = Reporting()
        self.retiring = Retiring(here)
        self._under_way: dict[int, Command | Ordered | Asking] = {}
        """By their numbers."""
        self._number = 0

    @property
    def busy(self) -> bool:
        """Looked at in every turn, where there is mostly nothing."""
        reports, connecting = self.reports, self.connecting
        return bool((reports.added and not reports.under_way) or connecting.unnumbered or connecting.unnamed)

    def status(self, order: str) -> tuple[Status | None, int]:
        """What has become of an order, as far as is known here, and how many buckets it has still to move."""
        distributor = self._here.distributor
        status = distributor.orders.get(order)
        return status, remaining(distributor, status.wish) if status is not None else 0

    def order(self, ordered: Ordered) -> None:
        """What is too long to be an order is none, and does not get into the log."""
        most = FINISH_BYTES_MAX if isinstance(ordered.order.wish, Finish) else ORDER_BYTES_MAX
        if len(encode(ordered.order)) > most:
            self._here.effects.append(AnswerCommand(ordered.id, None))
        else:
            self._propose(ordered.order, ordered)

    def retention(self, event: Retention) -> None:
        asking = self._retaining.take(event)
        if asking is not None:
            self._propose(asking.command, asking)

    def _propose(self, command: Command, whose: Ordered | Asking | None = None) -> int:
        self._number += 1
        self._under_way[self._number] = whose if whose is not None else command
        self._tell(log.Propose(self._number, encode(command)))
        return self._number

    def settled(self, number: int) -> None:
        settled, here = self._under_way.pop(number), self._here
        match settled:
            case Reports():
                self.reports.under_way = 0
            case Grant() | Names():
                self.connecting.settled(settled)
            case Resign():
                self.retiring.under_way = False
            case Asking():
                self._retaining.settled(settled)
            case Ordered():
                status = here.distributor.orders.get(settled.order.id)
                here.effects.append(AnswerCommand(settled.id, status))
            case Order() | Hold() | LetGo() | Retire():
                raise AssertionError(f"{settled} is proposed for somebody")
            case _:
                assert_never(settled)

    def more(self, stamp_us: int) -> None:
        """What there is to propose now. `stamp_us` is the cluster's time; 0 if that is not known."""
        reports = self.reports.take()
        if reports is not None:
            self.reports.under_way = self._propose(reports)
        for command in self.connecting.wanted(stamp_us):
            self._propose(command)
        retire = self.retiring.command()
        if retire is not None:
            self._propose(retire)
        self._here.effects += self.retiring.look()
