"""Linearizable reads: whoever leads must have led after the read was asked for.

At a leader, reads that come together wait for one *round*: a message to the council that a majority answers, still in
this term. At everybody, a read that is told how far it must go waits until the machine has come there.
"""

from .cluster import Peer


class Rounds:
    """At a leader, as long as its term lasts."""

    def __init__(self) -> None:
        self.current = 0
        self._new: list[tuple[Peer | None, int]] = []
        self.waiting: list[tuple[int, Peer | None, int]] = []
        """Reads with the rounds that they wait for. Nobody's are our own."""
        self.done: list[tuple[Peer | None, int, int]] = []
        """Who asked, under which number, and how far the machine must have come."""

    def join(self, asker: Peer | None, number: int) -> None:
        self._new.append((asker, number))

    def begin(self) -> bool:
        """A round for the reads that came. One that is under way was begun before them, and does not do."""
        if not self._new:
            return False
        self.current += 1
        self.waiting += [(self.current, asker, number) for asker, number in self._new]
        self._new = []
        return True

    def answered(self, round: int, committed: int) -> None:
        self.done += [(asker, number, committed) for wanted, asker, number in self.waiting if wanted <= round]
        self.waiting = [read for read in self.waiting if read[0] > round]


class Reads:
    """Our own, wherever the leader is."""

    def __init__(self) -> None:
        self.asked: dict[int, int] = {}
        """By number, the ids that they were asked under here."""
        self.ready: list[tuple[int, int]] = []
        """How far the machine must have come, and the id."""
        self._last = 0

    def ask(self, session: int, id: int) -> int:
        """The number of a new read: never the same again, whatever process this is."""
        self._last += 1
        number = (session << 32) + self._last
        self.asked[number] = id
        return number

    def told(self, number: int, end: int) -> None:
        id = self.asked.pop(number, None)
        if id is not None:
            self.ready.append((end, id))

    def answerable(self, committed: int) -> list[int]:
        ids = [id for end, id in self.ready if end <= committed]
        self.ready = [(end, id) for end, id in self.ready if end > committed]
        return ids
