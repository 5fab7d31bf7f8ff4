import pytest
from msgspec import Struct

from hansard.batch import Batch, build, reopen, verify
from hansard.wire.codec import Codec
from hansard.wire.errors import MalformedFrame
from hansard.wire.frame import Frame, FrameReader, pack


class Carry(Struct, frozen=True, array_like=True, tag=1):
    bucket: int
    batch: Batch


class Say(Struct, frozen=True, array_like=True, tag=2):
    word: str


class CarryTwo(Struct, frozen=True, array_like=True, tag=3):
    batches: list[Batch]


Message = Carry | Say | CarryTwo


def codec() -> Codec[Message]:
    return Codec(Message, reopen)


def batch(number: int) -> Batch:
    return build([b"k"] * number, [b"value"] * number, connection=7)


def framed(data: bytes) -> Frame:
    (frame,) = FrameReader().feed(data)
    return frame


def through(*messages: Message) -> list[Message]:
    return codec().decode(framed(b"".join(codec().encode(messages))))


def test_messages_come_out_as_they_went_in() -> None:
    messages: list[Message] = [
        Say("hello"),
        Carry(3, batch(1)),
        Carry(4, batch(100)),
        Say("bye"),
        CarryTwo([batch(2), batch(3)]),
    ]
    assert through(*messages) == messages


def test_a_batch_goes_out_as_the_very_bytes_that_it_is() -> None:
    one = batch(5)
    pieces = codec().encode([Carry(1, one)])
    assert pieces[1] is one.head and pieces[2] is one.body


def test_a_batch_comes_in_as_a_view_over_the_frame() -> None:
    frame = framed(b"".join(codec().encode([Carry(1, batch(5))])))
    (message,) = codec().decode(frame)
    assert isinstance(message, Carry)
    assert isinstance(message.batch.body, memoryview) and message.batch.body.obj is frame.payload.obj


def test_what_comes_is_checked_as_its_sender_deserves() -> None:
    data = bytearray(b"".join(codec().encode([Carry(1, batch(5))])))
    data[-1] ^= 1
    with pytest.raises(MalformedFrame):
        codec().decode(framed(bytes(data)))
    strict: Codec[Message] = Codec(Message, lambda payload, position: verify(payload[position:]))
    with pytest.raises(MalformedFrame):
        strict.decode(framed(bytes(data)))


@pytest.mark.parametrize("header", [b"", b"\xc1", b"\x93\x01\x02", b"\x91\x92\x09\x01", b"\x91\x93\x01\x03\x07"])
def test_what_is_no_message_is_refused(header: bytes) -> None:
    with pytest.raises(MalformedFrame):
        codec().decode(framed(b"".join(pack(header, ()))))


def test_a_payload_that_is_no_batch_is_refused() -> None:
    header = b"".join(codec().encode([Say("x")]))
    with pytest.raises(MalformedFrame):
        codec().decode(framed(b"".join(pack(bytes(framed(header).header), [b"not a batch"]))))
