"""Frames: what goes over a connection, one after the other, in both directions.

    0  4  length of everything after these four bytes
    4  4  length of the header, without its padding
    8     header: MessagePack
          zeros, so that what follows begins at a multiple of 8
          payload: batches, one after another, each as long as its own header says

A batch in a frame is the very bytes that are stored; nobody copies them on the way in or out, apart from the part of a
frame that lies across two reads. Numbers are little-endian.
"""

import struct
from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import Struct

from hansard.batch import BATCH_BYTES_MAX

from .errors import FrameTooLarge, MalformedFrame, WireError

PREFIX: Final = struct.Struct("<II")
PREFIX_BYTES: Final = PREFIX.size
LENGTH_BYTES: Final = 4
HEADER_BYTES_MAX: Final = 4 << 20
"""Messages of one frame, without their batches."""
FRAME_BYTES_MAX: Final = 4 * BATCH_BYTES_MAX
"""What a receiver must hold in memory to take in one frame."""
CHUNK_BYTES: Final = 256 << 10
"""What is read at a time, unless a frame is larger."""

_PADDING: Final = [bytes(length) for length in range(8)]

OTHERS: Final = {
    b"\x16\x03": "TLS, and we do not: either both sides have certificates, or none has",
    b"\x15\x03": "TLS, and we do not: either both sides have certificates, or none has",
    b"GET ": "HTTP, which is not spoken here",
    b"HEAD": "HTTP, which is not spoken here",
    b"POST": "HTTP, which is not spoken here",
}
"""How those begin who have come to the wrong place; of each the length would be absurd."""

Buffer = bytes | bytearray | memoryview

_unpack_prefix = PREFIX.unpack_from


class Frame(Struct, frozen=True, gc=False):
    header: memoryview
    payload: memoryview


def pack(header: bytes, payload: Sequence[Buffer]) -> list[Buffer]:
    """The pieces of a frame, to be written one after the other."""
    if len(header) > HEADER_BYTES_MAX:
        raise FrameTooLarge("header", len(header), HEADER_BYTES_MAX)
    pad = -len(header) & 7
    length = PREFIX.size - LENGTH_BYTES + len(header) + pad
    for piece in payload:
        length += len(piece)
    if length > FRAME_BYTES_MAX:
        raise FrameTooLarge("frame", length, FRAME_BYTES_MAX)
    return [b"".join((PREFIX.pack(length, len(header)), header, _PADDING[pad])), *payload]


class FrameReader:
    """Turns what is read from a connection into frames.

    The bytes are read straight into the reader's own buffer (`room`, then `filled`), and frames are views over it. A
    buffer that has frames in it is never written to again where they lie: a new one is begun when it is full.
    """

    def __init__(self, first_bytes_max: int = FRAME_BYTES_MAX) -> None:
        self._bytes_max = first_bytes_max
        """Of the next frame: little where the first one says who sends it."""
        self._start = 0
        """Of what is not yet a whole frame."""
        self._end = 0
        self._needed = PREFIX.size
        """Where the frame that has begun will end, or at least its prefix."""
        self._use(CHUNK_BYTES)

    def _use(self, length: int) -> None:
        """A new buffer. Its memory is not touched, so that what somebody only says to be coming costs nothing."""
        self._view = np.empty(length, np.uint8).data
        self._fixed = self._view.toreadonly()

    @property
    def waiting(self) -> int:
        """Bytes of a frame that has not come as a whole."""
        return self._end - self._start

    def room(self) -> memoryview:
        """Where the next bytes are to be put; never empty."""
        if self._needed > len(self._view):
            waiting = self._view[self._start : self._end]
            self._needed -= self._start
            self._use(max(self._needed, CHUNK_BYTES))
            self._view[: len(waiting)] = waiting
            self._start, self._end = 0, len(waiting)
        return self._view[self._end :]

    def filled(self, count: int) -> list[Frame]:
        """So many bytes were put there: the frames that are whole by now."""
        fixed, start = self._fixed, self._start
        end = self._end = self._end + count
        assert end <= len(fixed)
        frames: list[Frame] = []
        while True:
            header = start + PREFIX_BYTES
            if header > end:
                self._needed = header
                break
            length, header_length = _unpack_prefix(fixed, start)
            payload = header + header_length + (-header_length & 7)
            stop = start + LENGTH_BYTES + length
            if length > self._bytes_max or header_length > HEADER_BYTES_MAX or payload > stop:
                raise self._refusal(length, header_length)
            if stop > end:
                self._needed = stop
                break
            frames.append(Frame(fixed[header : header + header_length], fixed[payload:stop]))
            self._start = start = stop
            self._bytes_max = FRAME_BYTES_MAX
        return frames

    def _refusal(self, length: int, header_length: int) -> WireError:
        beginning = bytes(self._fixed[self._start : self._start + LENGTH_BYTES])
        for known, what in OTHERS.items():
            if self._bytes_max < FRAME_BYTES_MAX and beginning.startswith(known):
                return MalformedFrame(f"it speaks {what}")
        if length > self._bytes_max:
            return FrameTooLarge("frame", length, self._bytes_max)
        if header_length > HEADER_BYTES_MAX:
            return FrameTooLarge("header", header_length, HEADER_BYTES_MAX)
        return MalformedFrame(f"a header of {header_length} bytes in a frame of {length}")

    def feed(self, data: Buffer) -> list[Frame]:
        """For bytes that are already somewhere else."""
        frames: list[Frame] = []
        rest = memoryview(data)
        while rest:
            room = self.room()
            count = min(len(room), len(rest))
            room[:count] = rest[:count]
            frames += self.filled(count)
            rest = rest[count:]
        return frames
