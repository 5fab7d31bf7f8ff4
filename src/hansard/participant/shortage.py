"""Which buckets have too few copies or none at all: said when that changes, so that somebody may know."""

from hansard.distributor.records import Lost, Records

from .effect import Bereft, Thinned


class Shortage:
    def __init__(self) -> None:
        self._thinned: tuple[int, ...] = ()
        self._lost: tuple[Lost, ...] = ()

    def look(self, table: Records) -> list[Thinned | Bereft]:
        """What is to be said now."""
        news: list[Thinned | Bereft] = []
        thinned = tuple([thinned.bucket for thinned in table.thinned()])
        if thinned != self._thinned:
            self._thinned = thinned
            news.append(Thinned(thinned))
        lost = tuple(table.lost())
        if lost != self._lost:
            self._lost = lost
            news.append(Bereft(lost))
        return news
