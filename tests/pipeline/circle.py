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

from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

import hansard
from hansard.bookmark import Bookmark
from hansard.pipeline.archive import Archiver
from hansard.pipeline.reading import chosen
from hansard.pipeline.restore import Restorer
from hansard.pipeline.session import session
from hansard.pipeline.source import Source
from hansard.pipeline.verify import Verifier
from hansard.testing import cluster
from tests.spark.session import prepare

BUCKETS = 4
KEYS = 50_021
PARTS = 4


class Taken(NamedTuple):
    """A bookmark, and what was submitted before it."""

    bookmark: Bookmark
    changes: int
    added: int


def submitted(
    spark: SparkSession, source: Source, client: hansard.Client, changes: int, tenants: int, bookmarks: int
) -> list[Taken]:
    """Through the data source's sink, which is the quickest way in; what they are is said twice, in Spark's words and
    in Python's."""
    taken, count, added = [Taken(client.bookmark(), 0, 0)], 0, 0
    lot = -(-changes // bookmarks)
    for batch, first in enumerate(range(0, changes, lot)):
        numbers = range(first, min(first + lot, changes))
        number = fn.col("id")
        frame = spark.range(numbers.start, numbers.stop, 1, PARTS).select(
            fn.concat(fn.lit("tenant"), number % tenants, fn.lit("/key"), number % KEYS).alias("key"),
            fn.when(number % 19 != 0, fn.format_string("value-%012d", number)).alias("value"),
            fn.array(fn.concat(fn.lit("tenant:"), number % tenants)).alias("tags"),
        )
        options = {**source.options(), "sinkId": "circle", "batchId": str(batch)}
        frame.write.format("hansard").options(**options).mode("append").save()
        for each in numbers:
            key = b"tenant%d/key%d" % (each % tenants, each % KEYS)
            added += zlib.crc32(key if each % 19 == 0 else key + b"value-%012d" % each)
        count += len(numbers)
        taken.append(Taken(client.bookmark(), count, added))
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description="Archive, wipe, restore, verify.")
    parser.add_argument("--changes", type=int, default=5_000_000)
    parser.add_argument("--tenants", type=int, default=100)
    parser.add_argument("--bookmarks", type=int, default=10)
    given = parser.parse_args()
    prepare(short=False)
    spark = session("local[*]", name="circle")
    began = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {what}", flush=True)

    with tempfile.TemporaryDirectory(prefix="hansard-circle-") as root:
        with cluster(buckets=BUCKETS) as town, hansard.Client.connect(town.addresses) as client:
            source, log = Source.of(town.addresses), client.log_id
            taken = submitted(spark, source, client, given.changes, given.tenants, given.bookmarks)
            say(f"{given.changes:,} changes of {given.tenants} tenants are acknowledged")
            went = Archiver(spark, source, root).catch_up()
            records = len(list(client.read(tags=["hansard:sinks:circle", "hansard:run:circle"])))
            assert records >= PARTS * (len(taken) - 1), "the sink's own, of each partition of each batch"
            assert went.rows == given.changes + records, went.rows
            say(f"archived: {len(went.catalog.files)} files, {went.catalog.byte_count:,} bytes; the cluster is wiped")
        with cluster(buckets=2 * BUCKETS, importing=log) as town:
            source = Source.of(town.addresses)
            done = Restorer(spark, source, root).restore()
            assert done.rows == went.rows, done
            town.settle(120)
            say(f"restored into {done.buckets} buckets")
            found = Verifier(spark, source, root).verify()
            assert not found.findings, found.findings[:10]
            say(f"verified: nothing is wrong in {found.copies} copies and {found.files} files")
            last = taken[-1]
            for each in taken:
                changes = chosen(source.changes(spark, each.bookmark, last.bookmark))
                text = fn.concat("key", fn.coalesce("value", fn.encode(fn.lit(""), "utf-8")))
                row = changes.agg(fn.count("offset"), fn.coalesce(fn.sum(fn.crc32(text)), fn.lit(0))).first()
                assert row is not None and tuple(row) == (last.changes - each.changes, last.added - each.added), (
                    row,
                    each,
                )
            say(f"{len(taken)} bookmarks taken before resume rightly")


if __name__ == "__main__":
    main()
