"""Messages of any kind as frames: their fields as MessagePack in the header, their batches as bytes in the payload.

A message is a msgspec Struct with a tag; where it has a batch, the header has the batch's number in the payload. The
codec is made for a union of such types, so that clients and participants use the same one for what they each say.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from hansard.batch import Batch, Malformed

from .errors import FrameTooLarge, MalformedFrame
from .frame import Buffer, Frame, pack

Message = TypeVar("Message")


class Codec(Generic[Message]):
    """`open_batch` makes a batch of the bytes at a position, and checks them as much as their sender deserves."""

    def __init__(self, types: Any, open_batch: Callable[[memoryview, int], Batch]) -> None:
        self._batches: list[Batch] = []
        self._encoder = msgspec.msgpack.Encoder(enc_hook=self._number)
        self._decoder: msgspec.msgpack.Decoder[list[Message]] = msgspec.msgpack.Decoder(
            list[types], dec_hook=self._batch
        )
        self._open_batch = open_batch

    def encode(self, messages: Sequence[Message]) -> list[Buffer]:
        """One frame of all of them, as pieces to be written one after the other."""
        batches = self._batches = []
        header = self._encoder.encode(messages)
        payload: list[Buffer] = []
        for batch in batches:
            payload += (batch.head, batch.body)
        return pack(header, payload)

    def frames(self, messages: Sequence[Message]) -> list[Buffer]:
        """As many frames as it takes, which is one unless there is very much to say."""
        try:
            return self.encode(messages)
        except FrameTooLarge:
            if len(messages) == 1:
                raise
            half = len(messages) // 2
            return self.frames(messages[:half]) + self.frames(messages[half:])

    def _number(self, batch: object) -> int:
        assert isinstance(batch, Batch)
        self._batches.append(batch)
        return len(self._batches) - 1

    def decode(self, frame: Frame) -> list[Message]:
        try:
            self._batches = self._opened(frame.payload) if frame.payload else []
            return self._decoder.decode(frame.header)
        except (msgspec.MsgspecError, Malformed, UnicodeDecodeError, RecursionError) as error:
            raise MalformedFrame(str(error)) from error

    def _opened(self, payload: memoryview) -> list[Batch]:
        batches: list[Batch] = []
        position, end = 0, len(payload)
        while position < end:
            batch = self._open_batch(payload, position)
            batches.append(batch)
            position += batch.length
        return batches

    def _batch(self, kind: type, number: object) -> Batch:
        if kind is not Batch or not isinstance(number, int) or not 0 <= number < len(self._batches):
            raise ValueError(f"there is no batch {number} in this frame")
        return self._batches[number]
