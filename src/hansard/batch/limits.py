"""How large things may be, and why. Checked when a batch is built and again when one comes from outside.

The numbers are part of the format: raising one is a new format version, because every reader may rely on them.
"""

from typing import Final

CHANGES_MAX: Final = 65_536
"""Changes in a batch. Past ten thousand nothing gets cheaper, and a receipt for more is slow to wait for."""

BATCH_BYTES_MAX: Final = 16 << 20
"""Header and body, stored and uncompressed alike: what a member must hold in memory to take in one batch."""

KEY_BYTES_MAX: Final = 32_768
"""A key is an identity, not a document; indexes and checkpoints keep keys in memory."""

VALUE_BYTES_MAX: Final = 8 << 20
"""Half a batch, so that any value fits into one beside its key and tags."""

TAGS_PER_CHANGE_MAX: Final = 64
"""Each tag of a change is a posting in the index of its segment."""

TAG_BYTES_MAX: Final = 256
"""A tag's name in UTF-8: it stands in each batch's dictionary and in every filtered request."""

SPAN_MAX: Final = (1 << 31) - 1
"""Offsets that a batch covers, gaps included: a change's distance from the first is kept in 32 bits, signed."""

TIMESTAMP_MAX: Final = 253_402_300_799_999_999
"""The last microsecond of the year 9999: beyond it neither Python nor Spark has a date."""

INT64_MAX: Final = (1 << 63) - 1
