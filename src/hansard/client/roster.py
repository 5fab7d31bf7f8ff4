"""Where the leader may be, and how long to wait between two attempts.

A `Roster` has the addresses that were given, and the one that somebody named: for a client that knows no table. A `Way`
follows the table: to the leader, and if it cannot be reached to any other participant, from where submissions hop.
"""

from collections.abc import Sequence
from random import Random

from .atlas import Atlas


class Backoff:
    """Twice as long each time, with jitter, so that many clients do not come back at the same moment."""

    def __init__(self, least_s: float, most_s: float, random: Random) -> None:
        self._least_s = least_s
        self._most_s = most_s
        self._random = random
        self._times = 0

    def next_s(self) -> float:
        delay = min(self._most_s, self._least_s * (1 << min(self._times, 30)))
        self._times += 1
        return delay * self._random.uniform(0.5, 1)

    def reset(self) -> None:
        self._times = 0


class Roster:
    def __init__(self, addresses: Sequence[str], backoff: Backoff) -> None:
        for address in addresses:
            split_address(address)
        if isinstance(addresses, str) or not addresses:
            raise ValueError(f"a list of addresses is wanted, such as ['127.0.0.1:7001'], not {addresses!r}")
        self._addresses = tuple(addresses)
        self._backoff = backoff
        self._turn = 0
        self._named: tuple[str, int] | None = None
        self._tries = 0
        """Since the last change was stored. Every address is tried once before there is any waiting."""
        self.problem = "nobody answered yet"
        """What happened last."""

    def name(self, address: str | None, epoch: int) -> None:
        """Somebody said that another participant leads: that one, if it is known."""
        self.problem = "no participant said that it leads"
        if address is not None:
            try:
                split_address(address)
            except ValueError:
                return
            self._named = address, epoch

    def next(self) -> tuple[str, int]:
        """Where to try, and the epoch in which that one was said to lead; 0 if nobody said so."""
        self._tries += 1
        if self._named is not None:
            named, self._named = self._named, None
            return named
        address = self._addresses[self._turn % len(self._addresses)]
        self._turn += 1
        return address, 0

    def wait_s(self) -> float:
        return 0.0 if self._tries < max(2, len(self._addresses)) else self._backoff.next_s()

    def failed(self, address: str, error: Exception) -> None:
        self.problem = f"{address}: {str(error) or type(error).__name__}"

    def succeeded(self) -> None:
        """Something was stored, so that this is the leader."""
        self._tries = 0
        self._backoff.reset()


class Way:
    """To one bucket's leader, as the table says."""

    def __init__(self, bucket: int, atlas: Atlas, backoff: Backoff) -> None:
        self._bucket = bucket
        self._atlas = atlas
        self._backoff = backoff
        self._tries = 0
        """Since the last change was stored, or the leader changed."""
        self._leader: str | None = None
        self.problem = "nobody answered yet"
        """What happened last."""

    def name(self, address: str | None, epoch: int) -> None:  # noqa: ARG002 (it is the table that counts)
        """The table says it sooner or later; until then others pass on what they are sent."""
        self.problem = "no participant said that it leads"

    def next(self) -> tuple[str, int]:
        leader = self._atlas.leader(self._bucket)
        if leader != self._leader:
            self._leader, self._tries = leader, 0
            self._backoff.reset()
        ways = self._ways(leader)
        address = ways[self._tries % len(ways)]
        self._tries += 1
        return address, 0

    def _ways(self, leader: str | None) -> list[str]:
        atlas = self._atlas
        known = [*([leader] if leader else []), *atlas.members(self._bucket), *atlas.everybody()]
        return list(dict.fromkeys(known))

    def wait_s(self) -> float:
        """Everybody is tried once before there is any waiting."""
        return 0.0 if self._tries < max(2, len(self._ways(self._leader))) else self._backoff.next_s()

    def failed(self, address: str, error: Exception) -> None:
        self.problem = f"{address}: {str(error) or type(error).__name__}"

    def succeeded(self) -> None:
        self._tries = 0
        self._backoff.reset()


def split_address(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ValueError(f"an address is host:port, not {address!r}")
    return host.removeprefix("[").removesuffix("]"), int(port)
