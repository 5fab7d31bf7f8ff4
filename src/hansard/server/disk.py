"""A directory opened as this participant's, and what a phaser finds of its bucket there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hansard.batch import Batch
from hansard.phaser import effect
from hansard.phaser.recovered import Recovered, replay_from
from hansard.storage import write as stored
from hansard.storage.disk import RealDisk
from hansard.storage.identity import Identity
from hansard.storage.store import Store, open_store

REPLAY_BYTES: Final = 4 << 20
"""Read at a time while a phaser starts."""


def open_directory(path: Path, cluster_id: str, node_id: str) -> Store:
    """Made if there is none. Raises where it is another participant's, or in use."""
    mine = Identity(log_id=cluster_id, cluster_id=cluster_id, node_id=node_id)
    return open_store(RealDisk(path), create=mine, expect=mine)


def recovered(store: Store, bucket: int) -> Recovered:
    start, end = store.bounds(bucket)
    documents: dict[str, bytes] = {}
    for name in store.documents(bucket):
        content = store.document(bucket, name)
        if content is not None:
            documents[name] = content
    last = store.batches(bucket, end - 1, 1) if end > start else []
    return Recovered(
        note=store.note(bucket),
        documents=documents,
        start=start,
        end=end,
        timestamp=last[-1].header.last_timestamp if last else 0,
        batches=_replayed(store, bucket, max(replay_from(documents), start), end),
    )


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
