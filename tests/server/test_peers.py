"""The ways to other participants: what is said before there is one."""

from hansard.batch import build
from hansard.participant.message import Hop, HopAnswer, Message, Process, ReadHopAnswer
from hansard.phaser.outcome import Busy
from hansard.server.peers import OWED_MAX, Peers
from hansard.wire.handshake import Hello, Role

from .listener import Listener
from .trio import free_addresses, run, until

PROCESS = Process(1, 1)


def answer(number: int) -> HopAnswer:
    return HopAnswer(PROCESS, number, 1, Busy())


def hop(number: int) -> Hop:
    return Hop("a", PROCESS, number, 1, 1, 0, build(["k"], ["v"]), 1_000_000, 1, None)


class Speaker:
    """Speaks to an address at which nobody listens before it is told to."""

    def __init__(self) -> None:
        ((self.host, self.port),) = free_addresses(1)
        self.address = f"{self.host}:{self.port}"
        self.reached: list[str] = []
        self.peers = Peers(lambda: Hello(Role.PARTICIPANT, "c", "a"), self.reached.append, None)
        self.listener = Listener()

    def say(self, *messages: Message, to: str = "b") -> None:
        for message in messages:
            self.peers.say(to, self.address, message)
        self.peers.flush()

    async def listen(self) -> None:
        await self.listener.build(self.port)
        self.listener.read(on=True)

    async def close(self) -> None:
        self.peers.stop()
        await self.listener.close()


def test_answers_wait_for_a_way_and_nothing_else_does() -> None:
    async def test() -> None:
        speaker = Speaker()
        speaker.say(answer(1), hop(2), ReadHopAnswer(PROCESS, 3, Busy()))
        await speaker.listen()
        await until(lambda: speaker.reached == ["b"])
        speaker.say(answer(4))
        await until(lambda: len(speaker.listener.heard) == 3)
        assert [message.number for message in speaker.listener.heard] == [1, 3, 4]  # type: ignore[union-attr]
        await speaker.close()

    run(test())


def test_an_answer_is_for_whoever_has_asked_and_not_for_whoever_is_there_by_now() -> None:
    async def test() -> None:
        speaker = Speaker()
        speaker.say(answer(1), to="z")
        speaker.say(answer(2))
        await speaker.listen()
        await until(lambda: len(speaker.listener.heard) == 1)
        assert speaker.listener.heard == [answer(2)]
        await speaker.close()

    run(test())


def test_not_more_answers_wait_than_there_is_room_for() -> None:
    async def test() -> None:
        speaker = Speaker()
        speaker.say(*[answer(number) for number in range(OWED_MAX + 10)])
        await speaker.listen()
        await until(lambda: len(speaker.listener.heard) == OWED_MAX)
        assert speaker.listener.heard[0] == answer(10)
        await speaker.close()

    run(test())


def test_there_is_a_way_to_whoever_takes_part_before_there_is_anything_to_say() -> None:
    async def test() -> None:
        speaker = Speaker()
        await speaker.listen()
        speaker.peers.keep([speaker.address])
        await until(lambda: speaker.reached == ["b"])
        speaker.say(hop(1))
        await until(lambda: len(speaker.listener.heard) == 1)
        await speaker.close()

    run(test())
