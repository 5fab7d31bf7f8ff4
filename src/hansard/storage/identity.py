"""Whose directory this is: the file `identity.json`, written once, when the directory is made."""

from typing import Final

import msgspec
from crc32c import crc32c

from . import document
from .disk import Disk
from .errors import Corrupt, FormatMismatch, IdentityMismatch, NoStore

PATH: Final = "identity.json"
FORMAT: Final = 1


class Identity(msgspec.Struct, frozen=True):
    log_id: str
    """Made with the log; every bookmark names it."""
    cluster_id: str = ""
    """Empty for a log in one process."""
    node_id: str = ""
    format: int = FORMAT


class _Stored(Identity, frozen=True):
    checksum: str = ""


def write(disk: Disk, identity: Identity) -> None:
    """Atomically: after a crash the file is whole or not there."""
    stored = _Stored(**msgspec.structs.asdict(identity), checksum=_checksum(identity))
    document.replace(disk, PATH, msgspec.json.format(msgspec.json.encode(stored)) + b"\n")


def _checksum(identity: Identity) -> str:
    fields = (identity.log_id, identity.cluster_id, identity.node_id, str(identity.format))
    return f"{crc32c(chr(0).join(fields).encode()):08x}"


def read(disk: Disk) -> Identity | None:
    """None where there is none, so no store either."""
    data = document.read(disk, PATH)
    if data is None:
        return None
    try:
        found = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        version = msgspec.json.decode(found["format"], type=int)
        if version != FORMAT:
            raise FormatMismatch(PATH, version, FORMAT)
        stored = msgspec.json.decode(data, type=_Stored)
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError) as error:
        raise NoStore(f"{PATH} cannot be read ({error}): this is no data directory, or it is damaged") from error
    identity = Identity(stored.log_id, stored.cluster_id, stored.node_id, stored.format)
    if stored.checksum != _checksum(identity):
        raise Corrupt(PATH, 0, len(data), "its checksum does not match")
    return identity


def check(found: Identity, expected: Identity) -> None:
    """Fields that the caller left empty are not compared."""
    for field in ("log_id", "cluster_id", "node_id"):
        wanted, there = getattr(expected, field), getattr(found, field)
        if wanted and wanted != there:
            raise IdentityMismatch(field, there or "not set", wanted)
