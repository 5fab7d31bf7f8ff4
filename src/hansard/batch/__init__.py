"""Batches: the unit of everything. Many changes in columns, under one header.

A batch is built once (`build`, `Builder`, `from_arrow`, `merge`), and from then on travels, is stored and is read as
the same bytes. Opening one lays vectors over those bytes, so it costs the same for one change and for ten
thousand. The format is written down, byte by byte, in docs/reference/batch-format.md.

This room imports nothing of ours, does no IO and reads no clock.
"""

from .arrow import SCHEMA, from_arrow, logged_from_arrow, to_arrow
from .batch import Batch, Int64s, Mask, reopen, trust
from .builder import Builder, Text, build, change_bytes, tag_name
from .change import Change
from .columns import covering
from .errors import BatchError, LimitExceeded, Malformed
from .header import HEADER_BYTES, MAGIC, Flag, Header
from .header import check as check_header
from .hollow import hollow
from .keyhash import bucket_of, key_hash
from .limits import BATCH_BYTES_MAX, CHANGES_MAX, SPAN_MAX
from .match import bucket_mask, key_mask, tag_mask
from .merge import merge
from .select import Part, gather, portion, select, since
from .verification import check_hashes, verify, verify_at

__all__ = [
    "BATCH_BYTES_MAX",
    "CHANGES_MAX",
    "HEADER_BYTES",
    "MAGIC",
    "SCHEMA",
    "SPAN_MAX",
    "Batch",
    "BatchError",
    "Builder",
    "Change",
    "Flag",
    "Header",
    "Int64s",
    "LimitExceeded",
    "Malformed",
    "Mask",
    "Part",
    "Text",
    "bucket_mask",
    "bucket_of",
    "build",
    "change_bytes",
    "check_hashes",
    "check_header",
    "covering",
    "from_arrow",
    "gather",
    "hollow",
    "key_hash",
    "key_mask",
    "logged_from_arrow",
    "merge",
    "portion",
    "reopen",
    "select",
    "since",
    "tag_mask",
    "tag_name",
    "to_arrow",
    "trust",
    "verify",
    "verify_at",
]
