"""The ways to all other participants, by their addresses: made when somebody takes part there or there is something to
say, and given up when there has been nothing for long and nobody takes part.

What is said while a way is being made is lost, but for answers: nobody asks for those again. They wait for it.

Whatever keeps the cluster together goes before what it carries: heartbeats do not wait behind batches. Each bucket has
a lane of its own (outbox.py), and so has a state of the atomic log in parts: what is sent to somebody who lags behind
in one bucket does not keep the others waiting.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from random import Random
from typing import Final

from hansard.batch import reopen
from hansard.consensus.message import Envelope
from hansard.consensus.message import Part as AtomicPart
from hansard.participant.message import Atomic, Bucketed, Hop, HopAnswer, Message, ReadHopAnswer
from hansard.phaser.message import Append, Commit, Part
from hansard.wire.codec import Codec
from hansard.wire.handshake import Hello

from .address import parsed
from .link import BATCH, BULK, COMMIT, PLAIN, URGENT, Link, Look, Manner
from .tls import Certificates

IDLE_S: Final = 60.0
ATOMIC_PARTS: Final = "atomic"
"""The lane of a state of the atomic log."""
URGENT_LOOK: Final = Look(URGENT)
ANSWERS: Final = (HopAnswer, ReadHopAnswer)
OWED_MAX: Final = 4096
"""So many answers wait for a way, the latest ones; each of them names the process that has asked."""


def message_codec() -> Codec[Message]:
    """Between participants: the checksums of batches are tried, their columns were looked at by who took them in."""
    return Codec(Message, reopen)


def look(message: Message) -> Look:
    """Of what clients submit nobody but them would know what has become of it: it is never left out."""
    if isinstance(message, Bucketed):
        bucket, within = message.bucket, message.message
        if isinstance(within, Append):
            return Look(BATCH, bucket, within.batch.length)
        if isinstance(within, Part):
            return Look(BULK, bucket, len(within.content))
        return Look(COMMIT if isinstance(within, Commit) else PLAIN, bucket)
    match message:
        case Hop():
            return Look(PLAIN, message.bucket, message.batch.length)
        case Atomic(envelope=Envelope(message=AtomicPart(content=content))):
            return Look(BULK, ATOMIC_PARTS, len(content))
        case _:
            return URGENT_LOOK


MANNER: Final = Manner(message_codec, look)


class Way:
    """A link, and whether it was wanted since it was last looked at, and when that was."""

    def __init__(self, link: Link, task: asyncio.Task[None], used_s: float) -> None:
        self.link = link
        self.task = task
        self.used = True
        self.used_s = used_s
        self.owed: deque[tuple[str, Message]] = deque(maxlen=OWED_MAX)
        """Answers, and to whom, until there is a connection."""

    def close(self) -> None:
        self.task.cancel()
        self.link.close()


class Peers:
    """`connected` is told the name of whoever is reached, each time."""

    def __init__(
        self, mine: Callable[[], Hello], connected: Callable[[str], None], certificates: Certificates | None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._mine = mine
        self._connected = connected
        self._certificates = certificates
        self._random = Random()
        self._ways: dict[str, Way] = {}
        self._speaking: list[Link] = []
        """Those on which something was said in this turn."""

    def say(self, to: str, address: str, message: Message) -> None:
        """At the end of this turn. If another one is there by now, it is not for that one."""
        way = self._ways.get(address)
        if way is None:
            way = self._begin(address)
        link, way.used = way.link, True
        if not link.there:
            if isinstance(message, ANSWERS):
                way.owed.append((to, message))
        elif to in ("", link.there) and link.say(message):
            self._speaking.append(link)

    def keep(self, addresses: Iterable[str]) -> None:
        """There should be a way to each of these, before there is anything to say."""
        for address in addresses:
            self.knock(address)
            self._ways[address].used = True

    def knock(self, address: str) -> None:
        """There may be nothing to say; but that the other one is of another cluster will be told."""
        if address not in self._ways:
            self._begin(address)

    def flush(self) -> None:
        for link in self._speaking:
            link.flush()
        self._speaking.clear()

    def _begin(self, address: str) -> Way:
        def reached(node: str) -> None:
            self._connected(node)
            while way.owed:
                to, answer = way.owed.popleft()
                self.say(to, address, answer)
            self.flush()

        link = Link("", parsed(address), self._mine(), MANNER, reached, self._random, self._certificates)
        way = self._ways[address] = Way(link, self._loop.create_task(link.keep()), self._loop.time())
        return way

    def tidy(self) -> None:
        """To be called now and then."""
        now_s = self._loop.time()
        for address, way in list(self._ways.items()):
            if way.used:
                way.used, way.used_s = False, now_s
            elif now_s - way.used_s > IDLE_S:
                del self._ways[address]
                way.close()

    def status(self) -> dict[str, str]:
        """Who is reached at which address; empty where nobody is."""
        return {address: way.link.there for address, way in self._ways.items()}

    def trouble(self, address: str) -> str:
        """Why nobody is reached there, as far as it is known."""
        way = self._ways.get(address)
        return way.link.trouble if way is not None and not way.link.there else ""

    def stop(self) -> None:
        for way in self._ways.values():
            way.close()
        self._ways.clear()
