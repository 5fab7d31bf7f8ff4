"""What a session is given."""

from pyspark.sql import SparkSession

from hansard.pipeline.session import fair_memory_mb, session


def test_a_quarter_of_the_machine_within_bounds() -> None:
    assert [fair_memory_mb(machine) for machine in (1_000, 8_192, 262_144)] == [1024, 2048, 4096]


def test_times_are_utc_and_a_second_call_gets_the_same_session(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert session("local[2]").sparkContext is spark.sparkContext
