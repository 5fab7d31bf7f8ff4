"""What nobody should send, made from a seed: bytes at random, frames that are damaged, huge, cut off or of the wrong
kind, and requests that are well-formed and absurd."""

import asyncio
import struct
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any, Final

import msgspec

from hansard.batch import Batch, build, reopen
from hansard.consensus import message as consensus
from hansard.consensus.cluster import ClusterId, Peer
from hansard.consensus.message import Envelope
from hansard.participant.message import Atomic, Bucketed, ClockAsk, Hop, Message, Process, ReadHop, ReadHopAnswer
from hansard.phaser import message as phaser
from hansard.phaser.outcome import Busy
from hansard.wire import request as wire
from hansard.wire import submission
from hansard.wire.codec import Codec
from hansard.wire.frame import FRAME_BYTES_MAX, PREFIX, pack
from hansard.wire.handshake import Hello, Role, greeting

NUMBERS: Final = (0, 1, -1, 7, 1000, 2**31, 2**32 + 1, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1, -(2**31), -(2**63))
NAMES: Final = ("", "a", "b#1", "name", "ä", "\x00", "x" * 5_000, "y" * 1_000_000)
QUESTIONS: Final = (
    b"",
    b"{}",
    b"[]",
    b"null",
    b'{"ask": "nothing"}',
    b'{"ask": "status", "more": 1}',
    b'{"ask": "order", "id": 1}',
    b'{"ask": "order", "id": "x", "wish": {"type": "double", "to": -1}}',
    b'{"ask": "order", "id": "", "wish": {"type": "move", "bucket": 99999999999, "members": []}}',
    b'{"ask": "order", "id": "y", "wish": {"type": "drain", "node": "nobody"}}',
    b'{"ask": "follow", "id": "none"}',
    b'{"ask": "leave", "node": "nobody"}',
    b'{"ask": "status", "ask": "\xff"}',
    b"[" * 100_000,
    b'{"ask": "follow", "id": "' + b"z" * 1_000_000 + b'"}',
)


class Rubbish:
    def __init__(self, seed: int, *, cluster: str = "") -> None:
        self.random = Random(seed)
        self._cluster = cluster
        self._requests: Codec[Any] = Codec(wire.Request, reopen)
        self._messages: Codec[Any] = Codec(Message, reopen)

    def client(self) -> list[bytes]:
        """What a client sends: pieces, one after the other."""
        hello = b"".join(greeting(Hello(Role.CLIENT)))
        return [hello, *self._some(self._requests, [self.request() for _ in range(self.random.randint(1, 5))])]

    def participant(self) -> list[bytes]:
        """The same from somebody who says that it is a participant, of a name that nobody has."""
        hello = b"".join(greeting(Hello(Role.PARTICIPANT, self._cluster, self.random.choice(("z", "nobody")))))
        wrong = self.random.random() < 0.3
        codec, make = (self._requests, self.request) if wrong else (self._messages, self.message)
        return [hello, *self._some(codec, [make() for _ in range(self.random.randint(1, 5))])]

    def stranger(self) -> list[bytes]:
        """No Hello, or none that is one."""
        whole = b"".join(greeting(Hello(Role.CLIENT)))
        return self.random.choice(
            [
                [self.random.randbytes(self.random.randint(1, 5_000))],
                [self._damaged(whole)],
                [whole[: self.random.randrange(len(whole))]],
                [PREFIX.pack(self.random.randrange(2**32), self.random.randrange(2**32))],
                pack(msgspec.msgpack.encode([9, "c", "n", "hansard", 1, 1]), []),  # type: ignore[list-item]
                pack(msgspec.msgpack.encode([1, "c", "n", "hansard", 2**62, 2**63]), []),  # type: ignore[list-item]
                [b"".join(greeting(Hello(Role.PARTICIPANT, "another cluster", "a")))],
                [b"".join(greeting(Hello(Role.PARTICIPANT, self._cluster, "")))],
            ]
        )

    def _some(self, codec: Codec[Any], messages: list[Any]) -> Iterator[bytes]:
        random = self.random
        whole = b"".join(codec.frames(messages))
        match random.randrange(7):
            case 0:
                yield random.randbytes(random.randint(1, 100_000))
            case 1:
                yield self._damaged(whole)
            case 2:
                yield PREFIX.pack(random.choice((2**32 - 1, FRAME_BYTES_MAX + 1, FRAME_BYTES_MAX)), 8) + bytes(1000)
            case 3:
                yield whole[: random.randrange(len(whole))]
            case 4:
                yield b"".join(pack(msgspec.msgpack.encode(self._value(4)), []))
            case _:
                yield whole

    def _damaged(self, whole: bytes) -> bytes:
        """A few bytes of it are others, rarely those that say how long it is."""
        damaged = bytearray(whole)
        first = 0 if self.random.random() < 0.1 else min(PREFIX.size, len(damaged) - 1)
        for _ in range(self.random.randint(1, 8)):
            damaged[self.random.randrange(first, len(damaged))] = self.random.randrange(256)
        return bytes(damaged)

    def _value(self, depth: int) -> Any:
        random = self.random
        if depth and random.random() < 0.6:
            return [self._value(depth - 1) for _ in range(random.randrange(6))]
        if depth and random.random() < 0.1:
            return {random.choice(NAMES[:5]): self._value(depth - 1)}
        return random.choice([*NUMBERS, *NAMES[:5], None, True, 1.5, b"bytes"])

    # Well-formed and absurd.

    def request(self) -> Any:
        match self.random.randrange(7):
            case 0 | 1:
                return self._submission()
            case 5:
                id, wait_us, buckets, follows = [self.number() for _ in range(4)]
                return wire.Import(id, self.random.randint(-1, 5), self.batch(), wait_us, buckets, follows)
            case 4:
                return wire.Table(self.number(), self.number(), self.number())
            case 2:
                return wire.Connect(self.number(), self.number(), self.random.choice(NAMES), self.number())
            case 3:
                tags = self.random.choice(
                    [(), (b"",), (b"t",) * 3, (bytes(100_000),), tuple(b"%d" % n for n in range(999))]
                )
                every, linear = self.random.random() < 0.5, self.random.random() < 0.5
                id, bucket, offset, wait_us, bytes_max, changes_max = [self.number() for _ in range(6)]
                since_us, until_us, end = [self.number() for _ in range(3)]
                key, descending = self.random.choice((None, b"", b"fuzz")), self.random.random() < 0.5
                return wire.Read(
                    *(id, bucket, offset, wait_us, bytes_max, changes_max, tags, every, linear),
                    *(key, since_us, until_us, end, descending),
                )
            case _:
                return wire.Ask(self.number(), self.random.choice(QUESTIONS))

    def _submission(self) -> submission.Submit:
        continues = submission.Continues(self.number(), self.number()) if self.random.random() < 0.3 else None
        wait_us, buckets, epoch = [self.number() for _ in range(3)]
        bucket = self.random.randint(-1, 5)
        return submission.Submit(self.number(), bucket, self.batch(), wait_us, buckets, epoch, continues)

    def message(self) -> Message:
        process = Process(self.number(), self.number())
        match self.random.randrange(7):
            case 4:
                return Atomic(self._envelope())
            case 5 | 6:
                number = self.random.randint(-1, 5)
                return Bucketed(
                    number,
                    self.random.choice(("z#1", "a#1")),
                    self.random.choice(("a#1", "b#1")),
                    self._said(),
                    self.random.choice((0, 4, 8)),
                )
            case 0:
                return ClockAsk(self.number())
            case 1:
                return ReadHop(process, self.number(), self.number(), self.number())
            case 2:
                return ReadHopAnswer(process, self.number(), Busy())
            case _:
                batch = build(["fuzz"], ["0"])
                number, hops, version, bucket, wait_us, buckets = [self.number() for _ in range(6)]
                return Hop("z", process, number, hops, version, bucket, batch, wait_us, buckets, None)

    def _envelope(self) -> Envelope:
        number, random = self.number, self.random
        said: list[consensus.Message] = [
            consensus.PreAsk(number(), number(), number()),
            consensus.Ask(number(), number(), number(), abdicated=True),
            consensus.Vote(number(), granted=True),
            consensus.Append(number(), number(), number(), (), number(), number()),
            consensus.Appended(number(), number(), number(), number(), number(), missing=True),
            consensus.ReadAsk(number()),
            consensus.ReadAt(number(), number()),
            consensus.Gone(number(), number()),
            consensus.Abdicate(number()),
            consensus.Offer((), passed=True),
            consensus.Directions("z", (("y" * 1000, "nowhere"),)),
        ]
        # Of our own id only in our own incarnation: one that was recovered from it is believed, and ends it.
        cluster = random.choice((ClusterId(self._cluster), ClusterId("other", number())))
        sender = Peer(random.choice(("z", "a", "nobody")), number())
        return Envelope(cluster, sender, random.choice(("", "nowhere", "127.0.0.1:1")), 0, random.choice(said))

    def _said(self) -> phaser.Message:
        number = self.number
        said: list[phaser.Message] = [
            phaser.Commit(number(), number()),
            phaser.Acknowledge(number(), number(), number(), number(), missing=True),
            phaser.Append(number(), number(), number(), build(["fuzz"], ["0"]), number()),
            phaser.Refuse(number(), number()),
            phaser.Estranged(number()),
            phaser.Confirm(number(), number()),
        ]
        return self.random.choice(said)

    def batch(self) -> Batch:
        signed = [number for number in NUMBERS if 0 <= number < 2**63]
        random = self.random
        tags = random.choice([None, [["t"]], [[b"\xff" * 9]], [[f"{n}" for n in range(100)]]])
        stream: dict[str, int] = {}
        if random.random() < 0.5:
            first = random.choice(signed)
            stream = {
                "connection": random.choice(signed),
                "first_series": first,
                "previous_series": random.choice([-1, first - 1]),
            }
        with suppress(ValueError, OverflowError, struct.error):
            return build([random.choice(["fuzz", "f" * 9_999])], ["0"], tags=tags, **stream)  # type: ignore[arg-type]
        return build(["fuzz"], ["0"])

    def number(self) -> int:
        return self.random.choice(NUMBERS)


async def throw(address: tuple[str, int], pieces: list[bytes], patience_s: float = 0.1) -> None:
    """All of it, whatever comes back; then it goes away without a word."""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(10):
            reader, writer = await asyncio.open_connection(*address)
            try:
                writer.writelines(pieces)
                await writer.drain()
                with suppress(TimeoutError):
                    async with asyncio.timeout(patience_s):
                        while await reader.read(1 << 16):
                            pass
            finally:
                writer.transport.abort()
