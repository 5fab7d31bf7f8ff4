"""The pipeline: jobs on Spark that read the log like any consumer and never block it.

Every step is a function from DataFrames to a DataFrame and is tested by itself; a job reads, calls steps, writes, and
says how far it is. `hansard pipeline` runs them (cli/pipeline.py).

The archive:

    archive.py    the job: what is new goes to Parquet, exactly once
    manifest.py   what an archive has: a series of manifests, each created by one writer
    parquet.py    files of changes: writing, describing, reading
    scribe.py     files that tasks write by themselves, straight from the log's batches
    prints.py     the fingerprint of a change, in Python as in Spark
    compaction.py small files become large ones; orphans are removed
    reading.py    `read`: archive and live tail as one DataFrame
    restore.py    the job: an archive becomes a log again, in an empty cluster
    load.py       the job: an archive or a checkpoint comes to a cluster that goes on, as new changes
    cargo.py      what is loaded, so described that whoever goes on loads the same

Checkpoints (what their records mean is in hansard/checkpoint, and clients load them):

    checkpoint.py the job: who works, from where, and what is said in the log
    records.py    records, read to the end of the log, and written
    layers.py     steps from changes to the latest of each key; how layers are merged
    building.py   the files of one run: written, read back, described
    expiry.py     which files may go

The report:

    report.py     the job, and what it tells
    usage.py      its steps
    report_page.py, report.css, plots.py   as a page that needs nothing else

Verifying:

    verify.py     the job: members, archive and log, by themselves and beside each other
    members.py    the copies of each bucket, compared with each other
    checks.py     what can be wrong with changes: order, duplicates, placement, differences
    checkpoints.py  checkpoints: their files, and what they say beside what the log says
    findings.py   what is found

Declared, for `spark-pipelines run`:

    declare.py    writes the folder that it takes
    declared/     what goes there: the description, and the tables, made of the same steps

Underneath:

    session.py    a SparkSession: in this process, or on any master
    source.py     the cluster that a job reads from or writes to
    columns.py    the columns of changes
    place.py      bookmarks and DataFrames: what is before a place, and in which bucket a row is by now
    folder.py     files at any path that Spark reads; creating one that must not be there

It imports clients, batches, bookmarks and the wire's messages, and nothing of a server's. Spark is installed with
`hansard[spark]`.
"""

from .reading import read

__all__ = ["read"]
