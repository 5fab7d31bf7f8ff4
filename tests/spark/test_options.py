"""Options are checked at once, and what is wrong is said with their names."""

import pickle
from datetime import UTC, datetime

import pytest
from pyspark.sql.types import ArrayType, BinaryType, LongType, StringType, StructField, StructType

from hansard.bookmark import Bookmark
from pyspark_hansard import DefaultSource
from pyspark_hansard.options import BATCH_READ, BATCH_WRITE, STREAM_READ, BadOption, Choice, Given, Reach
from pyspark_hansard.reader import BatchReader
from pyspark_hansard.rows import Mapping, mapping
from pyspark_hansard.sink import BatchWriter
from tests.spark.local import SCHEMA

HERE = {"endpoints": "127.0.0.1:7301"}
MARK = Bookmark("a-log", {0: 17, 1: 4})


def given(allowed: tuple[str, ...] = BATCH_READ, **more: str) -> Given:
    """As Spark hands them over: names without capitals."""
    return Given({name.lower(): text for name, text in (HERE | more).items()}, allowed, "a batch read")


def test_options_are_what_they_say() -> None:
    options = given(
        endpoints="a:1, b:2",
        token="hsd_x",
        tags="x, y",
        match="ALL",
        key=" k ",
        buckets="3,1,3",
        valueFormat="string",
        keyFormat="string",
        records="true",
        failOnDataLoss="false",
        timeoutSeconds="5",
        maxRowsPerPartition="10",
    )
    assert options.reach() == Reach(("a:1", "b:2"), "hsd_x", timeout_s=5.0)
    assert options.choice() == Choice(
        ("x", "y"),
        every=True,
        key=b" k ",
        buckets=(1, 3),
        key_format="string",
        value_format="string",
        records=True,
        fail_on_loss=False,
    )
    assert options.rows_per_partition == 10
    places = given(since=str(MARK), until="2026-03-01T12:00:00+02:00")
    assert places.place("since", "earliest") == MARK
    assert places.place("until", "latest") == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert given().place("since", "earliest") == "earliest"
    assert given().choice() == Choice()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"endpoint": "x"}, "no option 'endpoint': did you mean endpoints?"),
        ({"quux": "1"}, "no option 'quux': there are endpoints, token"),
        ({"endpoints": ""}, "empty place"),
        ({"endpoints": "nowhere"}, "an address is host:port, not 'nowhere'"),
        ({"sinkId": "s"}, "sinkId is of no use for a batch read"),
        ({"maxRowsPerTrigger": "5"}, "maxRowsPerTrigger is of no use for a batch read"),
        ({"match": "all"}, "there are no tags"),
        ({"tags": "a", "match": "some"}, "match is any or all, not 'some'"),
        ({"tags": "a,,b"}, "tags is a list separated by commas"),
        ({"valueFormat": "json"}, "valueFormat json and schema go together"),
        ({"schema": "a INT"}, "valueFormat json and schema go together"),
        ({"valueFormat": "xml"}, "valueFormat is binary or string or json, not 'xml'"),
        ({"buckets": "1,x"}, "'x' is none"),
        ({"failOnDataLoss": "maybe"}, "failOnDataLoss is true or false, not 'maybe'"),
        ({"maxRowsPerPartition": "0"}, "maxRowsPerPartition is a whole number, at least 1, not '0'"),
        ({"timeoutSeconds": "soon"}, "timeoutSeconds is a whole number"),
        ({"since": "yesterday"}, "since is a bookmark, a time as .*, not 'yesterday'"),
        ({"since": "b1xxx"}, "since: .*damaged"),
        ({"until": "2026-03-01T12:00:00"}, "until: .* does not say in which zone"),
        ({"tlsKey": "key.pem"}, "tlsKey is given without tlsCa"),
        ({"tlsCa": "/nowhere/ca.pem"}, "tlsCa, tlsCert, tlsKey: .*No such file"),
    ],
)
def test_what_is_wrong_is_named(wrong: dict[str, str], said: str) -> None:
    with pytest.raises(BadOption, match=said):
        BatchReader(given(BATCH_READ, **wrong), SCHEMA)


def test_endpoints_are_wanted() -> None:
    with pytest.raises(BadOption, match="endpoints says where the cluster is"):
        Given({}, BATCH_READ, "a batch read").reach()


@pytest.mark.parametrize("wrong", ["until", "sinkId", "batchId", "keyColumn"])
def test_a_stream_has_no_end_and_no_sink(wrong: str) -> None:
    with pytest.raises(BadOption, match=f"{wrong} is of no use"):
        given(STREAM_READ, **{wrong: "latest"})


def test_the_schema_has_the_columns_that_are_asked_for() -> None:
    def schema(**more: str) -> str:
        return DefaultSource(HERE | more).schema()

    assert schema(columns="value, key") == "value BINARY, key BINARY"
    assert schema(columns="key", keyFormat="string") == "key STRING"
    assert schema(columns="value", valueFormat="json", schema="a INT") == "value STRUCT<a INT>"
    assert schema().startswith("bucket INT, offset BIGINT, timestamp TIMESTAMP, key BINARY")
    with pytest.raises(BadOption, match="columns: there is no 'name'"):
        schema(columns="name")
    with pytest.raises(BadOption, match="columns: one is named twice"):
        schema(columns="key,key")


def test_a_schema_of_the_users_own_has_the_types_of_the_columns() -> None:
    for field, said in (
        (StructField("name", StringType()), "the schema has a column 'name'"),
        (StructField("key", StringType()), "the schema has key as string, and it is binary"),
    ):
        with pytest.raises(BadOption, match=said):
            BatchReader(given(), StructType([field]))


def test_readers_travel_to_other_processes() -> None:
    reader = BatchReader(given(tags="x", since=str(MARK)), SCHEMA)
    copy = pickle.loads(pickle.dumps(reader))
    assert (copy.reach, copy.choice, copy.since) == (reader.reach, reader.choice, reader.since)


FRAME = StructType(
    [
        StructField("key", StringType()),
        StructField("value", BinaryType()),
        StructField("tags", ArrayType(StringType())),
        StructField("offset", LongType()),
    ]
)


def test_columns_of_a_frame_are_mapped_to_a_changes() -> None:
    assert mapping(given(BATCH_WRITE), FRAME) == Mapping("key", "value", "tags")
    assert mapping(given(BATCH_WRITE), StructType(FRAME.fields[:2])) == Mapping("key", "value", "")
    renamed = StructType(
        [StructField("id", StringType()), StructField("body", StringType()), StructField("n", LongType())]
    )
    options = given(BATCH_WRITE, keyColumn="id", valueColumn="body", orderBy="n")
    assert mapping(options, renamed) == Mapping("id", "body", "", ("n",))


def test_a_batch_write_without_a_sink_says_that_it_is_at_least_once() -> None:
    with pytest.warns(UserWarning, match="each is stored at least once"):
        BatchWriter(given(BATCH_WRITE), FRAME, overwrite=False)
    assert BatchWriter(given(BATCH_WRITE, sinkId="s", batchId="7"), FRAME, overwrite=False).batch == 7


@pytest.mark.parametrize(
    ("options", "column", "said"),
    [
        ({}, StructField("more", LongType()), "the column 'more' is none of a change's"),
        ({"keyColumn": "id"}, None, "there is no column 'id' to be written as key"),
        ({"valueColumn": "offset"}, None, "the column offset is bigint, and a value is binary or string"),
        ({"tagsColumn": "labels"}, None, "there is no column 'labels'"),
        ({"orderBy": "when"}, None, "orderBy: there is no column 'when'"),
    ],
)
def test_a_frame_that_cannot_be_written_is_refused(
    options: dict[str, str], column: StructField | None, said: str
) -> None:
    schema = StructType([*FRAME.fields, *([column] if column else [])])
    with pytest.raises(BadOption, match=said):
        mapping(given(BATCH_WRITE, **options), schema)
