"""Where the atomic log of a participant lies: in a bucket of a store, its entries as batches of one change each.

    offset of a batch    index of the entry
    epoch                its term
    timestamp            0: nobody asks an entry for its time
    value                its content, as MessagePack

Entries that are put together may be parted by a later cut, and a store is cut between batches only; so each is a batch
of its own. They are few and small, and those of one `Put` are still one write and one sync.
"""

from collections.abc import Iterator
from typing import Final, assert_never

import msgspec

from hansard.batch import Batch, build
from hansard.storage import write as stored
from hansard.storage.errors import Corrupt
from hansard.storage.store import Store

from . import effect
from .content import Content, Entry
from .errors import Damaged
from .recovered import STATE, Recovered, decode_note, decode_state

READ_BYTES: Final = 1 << 20
"""At a time, while a participant starts."""

_content: Final[msgspec.msgpack.Decoder[Content]] = msgspec.msgpack.Decoder(Content)


def translated(bucket: int, write: effect.Write) -> tuple[stored.Write, ...]:
    match write:
        case effect.Put():
            entries = enumerate(write.entries, write.start)
            return tuple([stored.Append(bucket, batch_of(index, entry)) for index, entry in entries])
        case effect.Cut():
            return (stored.Cut(bucket, write.end),)
        case effect.Reset():
            return (stored.Reset(bucket, write.start),)
        case effect.Trim():
            return (stored.Trim(bucket, write.start),)
        case effect.Note():
            return (stored.Note(bucket, write.content),)
        case effect.Keep():
            return (stored.Keep(bucket, write.name, write.content),)
        case effect.Discard():
            return (stored.Discard(bucket, write.name),)
        case _:
            assert_never(write)


def batch_of(index: int, entry: Entry) -> Batch:
    batch = build([None], [msgspec.msgpack.encode(entry.content)])
    return batch.stamped(epoch=entry.term, base_offset=index, timestamp=0)


def entry_of(batch: Batch) -> Entry:
    (change,) = batch.changes()
    if change.value is None:
        raise Damaged(f"entry {change.offset} has no content")
    return Entry(batch.header.epoch, _content.decode(change.value))


def recovered(store: Store, bucket: int) -> Recovered:
    """All that is there. What was trimmed may be there still, as far as the store has not dropped it yet."""
    try:
        return _recovered(store, bucket)
    except (Corrupt, msgspec.MsgspecError) as error:
        raise Damaged(str(error)) from error


def _recovered(store: Store, bucket: int) -> Recovered:
    if store.damage:  # whatever it is, an entry or a promise may have been in it
        raise store.damage[0]
    documents: dict[str, bytes] = {}
    for name in store.documents(bucket):
        content = store.document(bucket, name)
        if content is not None:
            documents[name] = content
    note = store.note(bucket)
    decode_note(note)
    start, end = store.bounds(bucket)
    covered = decode_state(documents.get(STATE, b"")).end
    if start > covered:
        raise Damaged(f"it begins at entry {start}, and what was before is known up to entry {covered} only")
    return Recovered(note=note, documents=documents, start=start, entries=tuple(_entries(store, bucket, start, end)))


def _entries(store: Store, bucket: int, start: int, end: int) -> Iterator[Entry]:
    while start < end:
        batches = store.batches(bucket, start, READ_BYTES)
        assert batches, "what is before the end of a log can be read, or reading says why not"
        for batch in batches:
            header = batch.header
            if (header.base_offset, header.change_count) != (start, 1):  # somebody has given up what was damaged
                raise Damaged(f"entry {start} is missing")
            yield entry_of(batch)
            start += 1
