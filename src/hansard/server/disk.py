"""A directory opened as this participant's, and what a phaser finds of its bucket there."""

import logging
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from hansard.batch import Batch
from hansard.phaser import effect
from hansard.phaser.recovered import Recovered, dispensable, replay_from
from hansard.storage import write as stored
from hansard.storage.disk import RealDisk
from hansard.storage.errors import Corrupt
from hansard.storage.identity import Identity
from hansard.storage.store import Store, open_store

log = logging.getLogger(__name__)

REPLAY_BYTES: Final = 4 << 20
"""Read at a time while a phaser starts."""


def open_directory(path: Path, cluster_id: str, node_id: str) -> Store:
    """Made if there is none. Raises where it is another participant's, or in use."""
    mine = Identity(log_id=cluster_id, cluster_id=cluster_id, node_id=node_id)
    return open_store(RealDisk(path), create=mine, expect=mine)


def held(store: Store, bucket: int) -> Recovered:
    """A copy without its batches: enough to say what it is good for. Raises Corrupt where that is not known."""
    start, end = store.bounds(bucket)
    doubt = store.log(bucket).doubt
    if doubt is not None:
        raise copy(doubt)
    documents: dict[str, bytes] = {}
    for name in store.documents(bucket):
        content = _document(store, bucket, name, start)
        if content is not None:
            documents[name] = content
    return Recovered(note=store.note(bucket), documents=documents, start=start, end=end)


def _document(store: Store, bucket: int, name: str, start: int) -> bytes | None:
    """None if there is none, or it is damaged and can be done without."""
    try:
        return store.document(bucket, name)
    except Corrupt as damage:
        if not dispensable(name, start):
            raise
        log.warning("%s: bucket %d goes on without it", damage, bucket, extra={"bucket": bucket})
        store.write([stored.Discard(bucket, name)])
        return None


def recovered(store: Store, bucket: int, *, read: bool = False) -> Recovered:
    """`read`: its batches are read now, and not one by one when somebody wants them. Raises Corrupt where something is
    damaged that a phaser cannot start without."""
    found = held(store, bucket)
    start, end = found.start, found.end
    last = store.batches(bucket, end - 1, 1) if end > start else []
    batches = _replayed(store, bucket, max(replay_from(found.documents), start), end)
    timestamp = last[-1].header.last_timestamp if last else 0
    return replace(found, timestamp=timestamp, batches=list(batches) if read else batches)


def _replayed(store: Store, bucket: int, offset: int, end: int) -> Iterator[Batch]:
    while offset < end:
        batches = store.batches(bucket, offset, REPLAY_BYTES)
        assert batches, "what is before the end of a log can be read, or reading says why not"
        for batch in batches:
            if batch.header.base_offset >= offset:
                yield batch
        offset = batches[-1].header.end_offset


def translated(bucket: int, write: effect.Write) -> stored.Write:
    match write:
        case effect.Put():
            return stored.Append(bucket, write.batch)
        case effect.Note():
            return stored.Note(bucket, write.content)
        case effect.Cut():
            return stored.Cut(bucket, write.end)
        case effect.Reset():
            return stored.Reset(bucket, write.start)
        case effect.Keep():
            return stored.Keep(bucket, write.name, write.content)
        case effect.Discard():
            return stored.Discard(bucket, write.name)
