"""The pipeline: jobs on Spark that read the log like any consumer and never block it.

Every step is a function from DataFrames to a DataFrame and is tested by itself; a job reads, calls steps, writes, and
says how far it is. `hansard pipeline` runs them (cli/pipeline.py).

Underneath:

    session.py    a SparkSession: in this process, or on any master
    columns.py    the columns of changes
    folder.py     files at any path that Spark reads; creating one that must not be there

It imports clients, batches and bookmarks, and nothing of a server's. Spark is installed with `hansard[spark]`.
"""
