import random

import pytest

from hansard.wire.errors import FrameTooLarge, MalformedFrame
from hansard.wire.frame import CHUNK_BYTES, FRAME_BYTES_MAX, HEADER_BYTES_MAX, PREFIX, FrameReader, pack


def packed(header: bytes, *payload: bytes) -> bytes:
    return b"".join(pack(header, payload))


def read(reader: FrameReader, data: bytes) -> list[tuple[bytes, bytes]]:
    return [(bytes(frame.header), bytes(frame.payload)) for frame in reader.feed(data)]


def test_a_frame_comes_out_as_it_went_in() -> None:
    assert read(FrameReader(), packed(b"head", b"one", b"two")) == [(b"head", b"onetwo")]


def test_a_frame_may_have_no_payload_and_no_header() -> None:
    assert read(FrameReader(), packed(b"") + packed(b"x")) == [(b"", b""), (b"x", b"")]


@pytest.mark.parametrize("first", [b"\x16\x03\x01\x02\x00\x01\x00\x01", b"GET / HTTP/1.1\r\n"])
def test_who_has_come_to_the_wrong_place_is_told_so(first: bytes) -> None:
    """Of the bytes of a TLS handshake, read as a length, nobody would guess what they are."""
    with pytest.raises(MalformedFrame, match=r"it speaks (TLS, and we do not|HTTP, which)"):
        FrameReader(4096).feed(first)
    with pytest.raises(FrameTooLarge):
        FrameReader().feed(b"\xff\xff\xff\xff" + first)


def test_the_payload_begins_at_a_multiple_of_eight() -> None:
    for length in range(20):
        pieces = pack(bytes(length), [b"payload"])
        assert len(pieces[0]) % 8 == 0


def test_frames_are_found_however_the_bytes_are_cut() -> None:
    chance = random.Random(5)
    wanted = [
        (chance.randbytes(chance.randrange(50)), chance.randbytes(chance.choice((0, 9, 5000)))) for _ in range(60)
    ]
    wanted.append((b"large", chance.randbytes(3 * CHUNK_BYTES)))
    wanted.append((b"after", b"it"))
    data = b"".join(packed(header, payload) for header, payload in wanted)
    for most in (1_000, 70_000, len(data)):
        reader, found, place = FrameReader(), [], 0
        while place < len(data):
            step = chance.randint(1, most)
            found += read(reader, data[place : place + step])
            place += step
        assert found == wanted
        assert reader.waiting == 0


def test_a_frame_keeps_its_bytes_while_others_come() -> None:
    reader = FrameReader()
    (first,) = reader.feed(packed(b"first", b"1" * 1000))
    for _ in range(600):
        reader.feed(packed(b"more", b"2" * 1000))
    assert bytes(first.header) == b"first" and bytes(first.payload) == b"1" * 1000


def test_bytes_read_straight_into_the_reader_are_not_copied() -> None:
    reader = FrameReader()
    data = packed(b"head", b"payload!")
    room = reader.room()
    room[: len(data)] = data
    (frame,) = reader.filled(len(data))
    room[PREFIX.size] = ord("H")
    assert bytes(frame.header) == b"Head"


def test_nobody_writes_through_a_frame() -> None:
    (frame,) = FrameReader().feed(packed(b"head", b"payload"))
    assert frame.header.readonly and frame.payload.readonly


@pytest.mark.parametrize(
    ("length", "header_length"), [(FRAME_BYTES_MAX + 1, 0), (FRAME_BYTES_MAX, HEADER_BYTES_MAX + 1)]
)
def test_what_is_too_large_is_refused_before_it_is_read(length: int, header_length: int) -> None:
    with pytest.raises(FrameTooLarge):
        FrameReader().feed(PREFIX.pack(length, header_length))


@pytest.mark.parametrize(("length", "header_length"), [(0, 0), (3, 0), (4, 1), (11, 8)])
def test_a_header_that_does_not_fit_its_frame_is_refused(length: int, header_length: int) -> None:
    with pytest.raises(MalformedFrame):
        FrameReader().feed(PREFIX.pack(length, header_length))


def test_what_is_too_large_is_not_packed() -> None:
    with pytest.raises(FrameTooLarge):
        pack(bytes(HEADER_BYTES_MAX + 1), ())
    with pytest.raises(FrameTooLarge):
        pack(b"", [memoryview(bytes(1 << 20))] * 65)
