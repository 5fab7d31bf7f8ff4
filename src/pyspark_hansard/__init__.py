"""Hansard for Spark: `spark.read`, `readStream`, `write` and `writeStream` with `.format("hansard")`, and no jar.

Spark finds the source by the name of this package. It is a client like any other: it reads and submits over the binary
protocol, as Arrow batches, from Spark's Python workers.

    source.py      what Spark calls: which reader or writer it gets
    options.py     what a user may ask for, checked at once and named where it is wrong
    columns.py     the columns of a change, in Spark and in Arrow; batches of the log as record batches
    texts.py       values as text or as structs of JSON

Reading:

    entrance.py    the cluster as a reader needs it: the table, pages of a bucket
    places.py      where buckets begin and end, at which level; no IO
    plan.py        ranges of offsets as partitions; no IO
    halves.py      one range, through splits of its bucket
    feed.py        what a task reads: ahead, in a thread of its own
    reader.py      batch reads
    pushed.py      filters that Spark pushes down; no IO
    streaming.py   streaming reads; what is not read yet is held
    offsets.py     offsets of a stream, as Spark keeps them; no IO
    admission.py   how far a batch of a stream goes

Writing:

    sink.py        the writers, for batches and streams
    rows.py        the rows of a task, in an order that depends on their content alone
    register.py    what a task is about to store, in the log: how the first attempt binds all others
    agreement.py   whether several runs of a batch have the same partitions; no IO
    carrier.py     rows as numbered batches, on their way to their buckets
"""

from .source import DefaultSource

__all__ = ["DefaultSource"]
