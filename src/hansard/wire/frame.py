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
from typing import Final, NamedTuple

from hansard.batch import BATCH_BYTES_MAX

from .errors import FrameTooLarge, MalformedFrame

PREFIX: Final = struct.Struct("<II")
LENGTH_BYTES: Final = 4
HEADER_BYTES_MAX: Final = 4 << 20
"""Messages of one frame, without their batches."""
FRAME_BYTES_MAX: Final = 4 * BATCH_BYTES_MAX
"""What a receiver must hold in memory to take in one frame."""
CHUNK_BYTES: Final = 256 << 10
"""What is read at a time, unless a frame is larger."""

Buffer = bytes | bytearray | memoryview


class Frame(NamedTuple):
    header: memoryview
    payload: memoryview


def padding(header_length: int) -> int:
    return -header_length % 8


def pack(header: bytes, payload: Sequence[Buffer]) -> list[Buffer]:
    """The pieces of a frame, to be written one after the other."""
    if len(header) > HEADER_BYTES_MAX:
        raise FrameTooLarge("header", len(header), HEADER_BYTES_MAX)
    pad = padding(len(header))
    length = PREFIX.size - LENGTH_BYTES + len(header) + pad + sum(map(len, payload))
    if length > FRAME_BYTES_MAX:
        raise FrameTooLarge("frame", length, FRAME_BYTES_MAX)
    return [b"".join((PREFIX.pack(length, len(header)), header, bytes(pad))), *payload]


class FrameReader:
    """Turns what is read from a connection into frames.

    The bytes are read straight into the reader's own buffer (`room`, then `filled`), and frames are views over it. A
    buffer that has frames in it is never written to again where they lie: a new one is begun when it is full.
    """

    def __init__(self) -> None:
        self._buffer = bytearray(CHUNK_BYTES)
        self._start = 0
        """Of what is not yet a whole frame."""
        self._end = 0

    @property
    def waiting(self) -> int:
        """Bytes of a frame that has not come as a whole."""
        return self._end - self._start

    def room(self) -> memoryview:
        """Where the next bytes are to be put; never empty."""
        needed = self._needed()
        if len(self._buffer) - self._start < needed or self._end == len(self._buffer):
            buffer = bytearray(max(needed, CHUNK_BYTES))
            waiting = self.waiting
            buffer[:waiting] = memoryview(self._buffer)[self._start : self._end]
            self._buffer, self._start, self._end = buffer, 0, waiting
        return memoryview(self._buffer)[self._end :]

    def _needed(self) -> int:
        """Room for the frame that has begun, or for the beginning of one."""
        if self.waiting < PREFIX.size:
            return PREFIX.size
        (length, _) = PREFIX.unpack_from(self._buffer, self._start)
        return LENGTH_BYTES + int(length)

    def filled(self, count: int) -> list[Frame]:
        """So many bytes were put there: the frames that are whole by now."""
        self._end += count
        assert self._end <= len(self._buffer)
        frames: list[Frame] = []
        while self.waiting >= PREFIX.size:
            length, header_length = PREFIX.unpack_from(self._buffer, self._start)
            _check(length, header_length)
            if self.waiting < LENGTH_BYTES + length:
                break
            frames.append(self._take(length, header_length))
        return frames

    def _take(self, length: int, header_length: int) -> Frame:
        view = memoryview(self._buffer).toreadonly()
        start = self._start + PREFIX.size
        self._start += LENGTH_BYTES + length
        body = start + header_length + padding(header_length)
        return Frame(view[start : start + header_length], view[body : self._start])

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


def _check(length: int, header_length: int) -> None:
    if length > FRAME_BYTES_MAX:
        raise FrameTooLarge("frame", length, FRAME_BYTES_MAX)
    if header_length > HEADER_BYTES_MAX:
        raise FrameTooLarge("header", header_length, HEADER_BYTES_MAX)
    if PREFIX.size - LENGTH_BYTES + header_length + padding(header_length) > length:
        raise MalformedFrame(f"a header of {header_length} bytes in a frame of {length}")
