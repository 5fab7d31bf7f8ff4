"""Governments as entries of the bucket's own log: from there on, their members count.

A leader writes one when it opens, and another when its newcomers are in step. Who must acknowledge follows from what
the leader finds in its log, so that it is still true after a restart.
"""

import msgspec
from msgspec import Struct

from hansard.batch import Batch, Flag, build

from .government import Government, Term


class Decree(Struct, frozen=True, gc=False):
    term: Term
    government: Government
    expanded: bool
    buckets: int = 1
    """How many there are from here on. Where that rises the bucket was split: what comes later is of this half only."""


def as_batch(decree: Decree) -> Batch:
    """Without a key, as all that concerns the bucket as a whole, and never shown to readers."""
    return build([None], [msgspec.msgpack.encode(decree)]).marked_internal()


def decree_in(batch: Batch) -> Decree | None:
    if not batch.header.flags & Flag.INTERNAL or not batch.header.change_count:
        return None
    (content,) = batch.values()
    assert content is not None
    return msgspec.msgpack.decode(content, type=Decree)
