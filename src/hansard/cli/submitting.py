"""What `hansard submit` does."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from hansard.embedded import NewChange

from .appending import Intake
from .lines import Source
from .output import json_line, time_text, write_lines
from .progress import Progress
from .reach import Reach

if TYPE_CHECKING:
    from hansard.client import Client, Receipt


def submit_one(
    where: Reach, key: str | None, value: str | None, tags: list[str], timeout_s: float, *, as_json: bool
) -> None:
    with where.client(timeout_s) as client:
        _submit(client, [NewChange(key, value, tags)], as_json=as_json)


def submit_lines(where: Reach, timeout_s: float, *, as_json: bool) -> None:
    stdin = cast(Source, sys.stdin.buffer)
    with where.client(timeout_s) as client, Progress("submitting", "changes", hidden=sys.stdin.isatty()) as progress:
        Intake(lambda changes: _submit(client, changes, as_json=as_json), progress).run(stdin)


def _submit(client: "Client", changes: list[NewChange], *, as_json: bool) -> int:
    keys, values, tags = zip(*changes, strict=True)
    receipts = client.submit_many(keys, values, tags)
    write_lines(_json_lines(receipts) if as_json else _lines(receipts))
    return len(receipts)


def _json_lines(receipts: "Sequence[Receipt]") -> Iterator[str]:
    for receipt in receipts:
        time = time_text(receipt.timestamp) if receipt.timestamp is not None else None
        yield json_line({"bucket": receipt.bucket, "offset": receipt.offset, "time": time})


def _lines(receipts: "Sequence[Receipt]") -> Iterator[str]:
    """One by itself says where; of many it is said how many are in which bucket."""
    if len(receipts) == 1:
        receipt = receipts[0]
        if receipt.offset is None or receipt.timestamp is None:
            yield f"stored in bucket {receipt.bucket}"
        else:
            yield f"stored in bucket {receipt.bucket} at offset {receipt.offset}, {time_text(receipt.timestamp)}"
        return
    buckets: dict[int, int] = {}
    for receipt in receipts:
        buckets[receipt.bucket] = buckets.get(receipt.bucket, 0) + 1
    each = ", ".join(f"{count} in bucket {bucket}" for bucket, count in sorted(buckets.items()))
    yield f"stored {len(receipts)} changes: {each}"
