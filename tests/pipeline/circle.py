"""The full circle: changes of many tenants, archived; the cluster wiped; restored into twice the buckets; verified; and
every bookmark that was taken before resumes where it was.

    python -m tests.pipeline.circle --changes 5000000 --tenants 100

What must come after each bookmark is counted when it is submitted, in plain Python: how many changes, and the sum of
their checksums.
"""

import argparse
import tempfile
import time
import zlib
from typing import NamedTuple

from pyspark.sql import functions as fn

import hansard
from hansard.bookmark import Bookmark
from hansard.pipeline.archive import Archiver
from hansard.pipeline.restore import Restorer
from hansard.pipeline.session import session
from hansard.pipeline.source import Source
from hansard.pipeline.verify import Verifier
from hansard.testing import cluster
from tests.spark.session import prepare

LOT = 5_000
BUCKETS = 4


class Taken(NamedTuple):
    """A bookmark, and what was submitted before it."""

    bookmark: Bookmark
    changes: int
    added: int


def submitted(client: hansard.Client, changes: int, tenants: int, bookmarks: int) -> list[Taken]:
    taken, count, added = list[Taken](), 0, 0
    every = max(LOT, changes // bookmarks)
    for first in range(0, changes, LOT):
        if first % every < LOT:
            taken.append(Taken(client.bookmark(), count, added))
        numbers = range(first, min(first + LOT, changes))
        keys = [f"tenant{number % tenants}/key{number % 50_021}".encode() for number in numbers]
        values = [None if number % 19 == 0 else b"value-%012d" % number for number in numbers]
        client.submit_many(keys, values, [[f"tenant:{number % tenants}"] for number in numbers])
        count += len(keys)
        added += sum(zlib.crc32(key + (value or b"")) for key, value in zip(keys, values, strict=True))
    taken.append(Taken(client.bookmark(), count, added))
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description="Archive, wipe, restore, verify.")
    parser.add_argument("--changes", type=int, default=5_000_000)
    parser.add_argument("--tenants", type=int, default=100)
    parser.add_argument("--bookmarks", type=int, default=10)
    given = parser.parse_args()
    prepare()
    spark = session("local[*]", name="circle")
    began = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {what}", flush=True)

    with tempfile.TemporaryDirectory(prefix="hansard-circle-") as root:
        with cluster(buckets=BUCKETS) as town, hansard.Client.connect(town.addresses) as client:
            taken, log = submitted(client, given.changes, given.tenants, given.bookmarks), client.log_id
            say(f"{given.changes:,} changes of {given.tenants} tenants are acknowledged")
            went = Archiver(spark, Source.of(town.addresses), root).catch_up()
            assert went.rows == given.changes, went
            say(f"archived: {len(went.catalog.files)} files, {went.catalog.byte_count:,} bytes; the cluster is wiped")
        with cluster(buckets=2 * BUCKETS, importing=log) as town:
            source = Source.of(town.addresses)
            done = Restorer(spark, source, root).restore()
            assert done.rows == given.changes, done
            town.settle(120)
            say(f"restored into {done.buckets} buckets")
            found = Verifier(spark, source, root).verify()
            assert not found.findings, found.findings[:10]
            say(f"verified: nothing is wrong in {found.copies} copies and {found.files} files")
            last = taken[-1]
            for each in taken:
                changes = source.changes(spark, each.bookmark, last.bookmark)
                text = fn.concat("key", fn.coalesce("value", fn.encode(fn.lit(""), "utf-8")))
                row = changes.agg(fn.count("offset"), fn.coalesce(fn.sum(fn.crc32(text)), fn.lit(0))).first()
                assert row is not None and tuple(row) == (last.changes - each.changes, last.added - each.added), (
                    row,
                    each,
                )
            say(f"{len(taken)} bookmarks taken before resume rightly")


if __name__ == "__main__":
    main()
