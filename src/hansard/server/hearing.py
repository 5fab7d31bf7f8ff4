"""Words that wait for each other: an acknowledgement from which nothing can follow before another one comes is handed
to the core together with that. A leader of two members has one turn for three words, and not three."""

from collections.abc import Callable

OWN_DISK = ""


class Hearing:
    """`awaited`: how many have to be heard of in a bucket, before anything follows (phaser/hearing.py)."""

    def __init__(self, awaited: Callable[[int], int]) -> None:
        self._awaited = awaited
        self._heard: dict[int, set[str]] = {}
        """Since the last turn, in each bucket."""

    def can_wait(self, bucket: int, who: str) -> bool:
        """Somebody has said how far it is: whether nothing can follow from that yet."""
        awaited = self._awaited(bucket)
        if not awaited:  # a member of a star, say
            return False
        heard = self._heard.get(bucket)
        if heard is None:
            heard = self._heard[bucket] = set()
        heard.add(who)
        return len(heard) < awaited

    def turned(self) -> None:
        """All that was said is known to the core."""
        if self._heard:
            self._heard.clear()
