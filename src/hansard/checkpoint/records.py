"""What is written into the log about a checkpoint: its `start`, its `end`, or that its maker has `left` it.

A record is JSON. When it was written is its change's timestamp, the cluster's time. What a reader does not know it
leaves alone, so that a later version may say more; a record that cannot be read is none, and changes nothing.
"""

from typing import Final

import msgspec
from msgspec import Struct

LASTS_US_MAX: Final = 366 * 24 * 3600 * 1_000_000
LAYERS_MAX: Final = 64


class BadRecord(ValueError):
    """It was written by nobody who knows how."""


class Layer(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A folder of Parquet files: the latest change of each key that it has. Later layers count before earlier ones."""

    path: str
    """Below the checkpoint's location."""
    rows: int
    deleted: int = 0
    """So many of these say that a key is deleted. The first layer has none."""
    bytes: int = 0
    digest: str = ""
    """Of what the rows say, in whatever order and files they are."""


class Start(Struct, frozen=True, omit_defaults=True, kw_only=True, tag="start", tag_field="record"):
    id: str
    """Of this piece of work: its files are in a folder of this name."""
    number: int
    """One more than that of the checkpoint before."""
    who: str
    named: bool = False
    """`who` is a name that its maker was given: whoever comes again under it goes on, and waits for nobody."""
    base: str = ""
    """The id of the checkpoint before; empty if there is none."""
    bookmark: str
    """The checkpoint will be at this one."""
    after: str = ""
    """A bookmark before which there is nothing of its subject, where that is known."""
    lasts_us: int
    """So long after this record, by the cluster's time, nobody else begins the same; then anybody may."""


class End(Struct, frozen=True, omit_defaults=True, kw_only=True, tag="end", tag_field="record"):
    id: str
    number: int
    who: str
    base: str = ""
    bookmark: str
    """To follow from."""
    location: str
    """Where the layers are: a path, or an address that Spark and Arrow know."""
    layers: tuple[Layer, ...]
    """The oldest first."""
    changes: int = 0
    """So many were read to make it."""

    @property
    def rows(self) -> int:
        return sum([layer.rows for layer in self.layers])

    @property
    def bytes(self) -> int:
        return sum([layer.bytes for layer in self.layers])


class Left(Struct, frozen=True, omit_defaults=True, kw_only=True, tag="left", tag_field="record"):
    """Who has started does not go on: nobody has to wait for it."""

    id: str
    number: int
    why: str = ""


Record = Start | End | Left
_decoder = msgspec.json.Decoder(Record)
encoded = msgspec.json.Encoder().encode


def decoded(value: bytes | None) -> Record:
    """What a change under a record's tag says."""
    try:
        record: Record = _decoder.decode(value or b"")
    except msgspec.MsgspecError as error:
        raise BadRecord(str(error)) from error
    if record.number < 1 or not record.id or "/" in record.id:
        raise BadRecord(f"the record {record.id!r} has the number {record.number}")
    if isinstance(record, Start) and not 0 < record.lasts_us <= LASTS_US_MAX:
        raise BadRecord(f"nobody works for {record.lasts_us} microseconds")
    if isinstance(record, End) and len(record.layers) > LAYERS_MAX:
        raise BadRecord(f"a checkpoint has up to {LAYERS_MAX} layers")
    return record
