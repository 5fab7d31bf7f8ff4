"""Which changes of a batch are wanted, as masks over whole columns."""

from bisect import bisect_left
from collections.abc import Collection

import numpy as np

from .batch import Batch, Mask
from .header import Flag


def tag_mask(batch: Batch, tags: Collection[bytes], *, every: bool = False) -> Mask | None:
    """The changes that carry any of these tags, or every one of them; None where there is none at all.

    The batch's dictionary is asked first: most batches of a filtered read have none of the tags, and then no
    column is touched.
    """
    assert tags, "no tags is no filter"
    wanted = set(tags)
    codes = [code for tag in wanted if (code := _code(batch, tag)) is not None]
    if not codes or (every and len(codes) < len(wanted)):
        return None
    groups = [[code] for code in codes] if every else [codes]
    mask = _carriers(batch, groups[0])
    for group in groups[1:]:
        mask &= _carriers(batch, group)
    return mask if len(groups) == 1 or mask.any() else None  # a tag of the dictionary is some change's


def _code(batch: Batch, tag: bytes) -> int | None:
    """The tag's place in the dictionary, which is taken apart only if its bytes occur as a piece of another tag."""
    found = batch.tag_blob.find(tag)
    if found < 0 or not tag:
        return None
    ends = batch.name_ends.data
    code = bisect_left(ends, found)
    if ends[code] == found and ends[code + 1] == found + len(tag):
        return code
    names = batch.tag_names
    return names.index(tag) if tag in names else None


def _carriers(batch: Batch, wanted: list[int]) -> Mask:
    """The changes with one of these codes among theirs."""
    codes = batch.tag_codes
    if len(wanted) == 1:
        hits = codes == wanted[0]
    else:
        is_wanted = np.zeros(batch.header.tag_names, np.bool_)
        is_wanted[wanted] = True
        hits = is_wanted[codes]
    places = hits.nonzero()[0].astype(np.int32)  # of the type of the ends, or these would be copied to compare
    mask = np.zeros(batch.header.change_count, np.bool_)
    mask[batch.tag_ends.searchsorted(places, side="right") - 1] = True
    return mask


def bucket_mask(batch: Batch, bucket: int, buckets: int) -> Mask:
    """The changes that live in this bucket: a missing key has a hash too, so that a client's change lives in one bucket
    only. What is internal concerns every part that a bucket is split into."""
    assert 0 <= bucket < buckets and buckets & (buckets - 1) == 0, "the number of buckets is a power of two"
    if batch.header.flags & Flag.INTERNAL:
        return np.ones(len(batch), np.bool_)
    mask: Mask = (batch.key_hashes & (buckets - 1)) == bucket
    return mask


def key_mask(batch: Batch, key: bytes, hash_: int) -> Mask:
    """The changes of one key: by its hash first, then by the bytes of the few that share it."""
    mask: Mask = batch.key_hashes == hash_
    if batch.has_key is not None:
        mask &= batch.has_key
    view, ends, start = memoryview(batch.raw), batch.key_ends, batch.blobs.keys
    for index in np.flatnonzero(mask):
        if view[start + ends[index] : start + ends[index + 1]] != key:
            mask[index] = False
    return mask
