"""The report: its steps against the same in plain Python, and its page."""

import re
from collections import Counter
from html.parser import HTMLParser

import msgspec
from pyspark.sql import SparkSession

from hansard.bookmark import Bookmark
from hansard.client import Client
from hansard.pipeline import plots, usage
from hansard.pipeline.plots import Series
from hansard.pipeline.report import Lag, Rate, Report, Reporter, Volume, lags, rates_of, skew
from hansard.pipeline.report_page import page
from hansard.pipeline.source import Source
from hansard.testing import cluster

from .rows import Row, frame_of, some_rows


def tenants(rows: list[Row]) -> list[Row]:
    names = [("tenant:a", "red"), ("tenant:b",), ("red",), ("tenant:b", "tenant:a")]
    return [(*row[:5], names[place % 4], *row[6:]) for place, row in enumerate(rows)]


def size(row: Row) -> int:
    return len(row[3] or b"") + len(row[4] or b"")


def tenant(row: Row) -> str:
    return next((tag for tag in row[5] if tag.startswith("tenant:")), "(none)")


def test_volumes_by_tenant_tag_key_and_bucket_are_what_the_rows_say(spark: SparkSession) -> None:
    rows = tenants(some_rows(400))
    measured = usage.measured(frame_of(spark, rows), "tenant:").cache()
    found = {row.tenant: row for row in usage.by_tenant(measured).collect()}
    assert set(found) == {"tenant:a", "tenant:b", "(none)"}
    for name, row in found.items():
        mine = [each for each in rows if tenant(each) == name]
        assert (row.changes, row.bytes) == (len(mine), sum(map(size, mine)))
        assert row.deleted == sum(each[4] is None for each in mine)
        assert row["keys"] == len({each[3] for each in mine} - {None})
    by_tag = Counter(tag for row in rows for tag in row[5])
    assert {row.tag: row.changes for row in usage.by_tag(measured, 10).collect()} == by_tag
    assert len(usage.by_tag(measured, 2).collect()) == 2
    by_bucket = Counter(row[0] for row in rows)
    assert {row.bucket: row.changes for row in usage.by_bucket(measured).collect()} == by_bucket
    hot = usage.hot_keys(measured, 3).collect()
    often = Counter((row[3], tenant(row)) for row in rows if row[3] is not None)
    assert [row.changes for row in hot] == sorted(often.values(), reverse=True)[:3]
    assert all(often[bytes(row.key), row.tenant] == row.changes for row in hot)


def test_over_time_every_change_is_in_its_piece(spark: SparkSession) -> None:
    rows = tenants(some_rows(100, first_us=5_000_000, step_us=1_000))
    measured = usage.measured(frame_of(spark, rows), "tenant:")
    (ends,) = usage.span(measured).collect()
    assert (ends.first_us, ends.last_us) == (5_000_000, 5_099_000)
    told = rates_of(usage.over_time(measured, 5_000_000, 10_000).collect(), ["tenant:a", "tenant:b", "(none)"], 10)
    assert [sum(each) for each in zip(*[rate.changes for rate in told], strict=True)] == [10] * 10
    assert sum(sum(rate.bytes) for rate in told) == sum(map(size, rows))


def test_skew_and_lag_are_plain_numbers() -> None:
    assert skew([]) == skew([0, 0]) == 1.0 and skew([1, 1, 1, 5]) == 2.5
    end = Bookmark("log", {0: 100, 1: 50, 2: 30})
    holds = [
        {"name": "near", "offsets": {"0": 100, "1": 45}, "expires_us": 1_000_000},
        {"name": "far", "offsets": {"0": 10, "1": 50}, "expires_us": 1_000_000},
    ]
    assert [(lag.name, lag.changes) for lag in lags(holds, end)] == [("far", 110), ("near", 5)], (
        "2 was split off from 0"
    )


def made() -> Report:
    volumes = [Volume(name=f"tenant:{n}", changes=10 * n, bytes=1000 * n, deleted=n, keys=n) for n in range(9, 0, -1)]
    evil = Volume(name="<script>alert(1)</script>&", changes=1, bytes=1, deleted=0)
    return Report(
        log="log",
        made="2026-01-01T00:00:00Z",
        prefix="tenant:",
        first="2026-01-01T00:00:00Z",
        last="2026-01-02T00:00:00Z",
        changes=450,
        bytes=45_000,
        skew=1.5,
        piece_s=60.0,
        tenants=volumes,
        tags=[evil],
        keys=[evil],
        buckets=[Volume(name=str(n), changes=n, bytes=n, deleted=0, keys=1) for n in range(16)],
        rates=[Rate(tenant=each.name, changes=[each.changes, 0, 5], bytes=[1, 2, 3]) for each in volumes],
        holds=[Lag(name="archive", changes=7, expires="2026-02-01T00:00:00Z")],
    )


class Checked(HTMLParser):
    """Whatever is opened is closed, and nothing is loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in {"script", "link", "img", "iframe"} and not {"src", "href", "onload"} & {n for n, _ in attrs}
        if tag not in {"meta", "line", "rect"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in {"line", "rect"}:
            assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass


def test_the_page_is_whole_and_loads_nothing() -> None:
    text = page(made())
    checked = Checked()
    checked.feed(text.removeprefix("<!doctype html>"))
    # A rectangle with a title in it is closed by its own tag.
    assert not checked.open, checked.open
    assert not re.findall(r"url\(|@import|https?://(?!www\.w3\.org)", text)
    assert "<script>" not in text and "&lt;script&gt;" in text
    for word in ("tenant:9", "2 others", "archive", "Hot keys", "Growth", "mean"):
        assert word in text, word
    empty = msgspec.structs.replace(made(), tenants=[], tags=[], keys=[], buckets=[], rates=[], holds=[], first="")
    assert "no changes" in page(empty)


def test_scales_go_up_to_round_numbers_and_areas_lie_on_each_other() -> None:
    for most in (0, 0.03, 1, 7, 10, 99, 101, 12_345, 5e9):
        steps = plots.Scale(most, 200).steps
        assert steps[0] == 0 and steps[-1] >= most and 2 <= len(steps) <= 7, (most, steps)
    drawn = plots.stacked([Series("a", [1, 2]), Series("b", [3, 4])], ("x", "y"))
    lower, upper = re.findall(r'points="([^"]*)"', drawn)
    assert lower.split()[:2] == upper.split()[:1:-1], "the second begins where the first ends"
    assert plots.short(1234) == "1.23k" and plots.short(0.5) == "0.5"


def test_a_clusters_report_counts_what_was_written_and_who_is_behind(spark: SparkSession) -> None:
    with cluster(1, buckets=2) as one, Client.connect(one.addresses, token=one.token) as client:
        client.submit_many([f"k{n % 7}" for n in range(70)], ["x" * 10] * 70, [["tenant:a"]] * 70)
        start = client.bookmark()
        client.ask({"ask": "hold", "name": "slow", "lasts_s": 100, "bookmark": str(start)})
        client.submit_many(["hot"] * 30, ["y"] * 30, [["tenant:b", "z"]] * 30)
        client.submit("hansard:x", "a record", ["hansard:checkpoint"])
        report = Reporter(spark, Source.of(one.addresses, one.token)).run()
        later = Reporter(spark, Source.of(one.addresses, one.token), since=next(client.read(since=start)).time).run()
    assert (report.changes, report.bytes) == (100, 70 * 12 + 30 * 4), "records are nobody's changes"
    assert [(each.name, each.changes, each.keys) for each in report.tenants] == [
        ("tenant:a", 70, 7),
        ("tenant:b", 30, 1),
    ]
    assert (report.keys[0].name, report.keys[0].changes, report.keys[0].tenant) == ("hot", 30, "tenant:b")
    assert [(lag.name, lag.changes) for lag in report.holds] == [("slow", 31)]
    assert sum(sum(rate.changes) for rate in report.rates) == 100 and report.skew >= 1
    assert later.changes == 30 and page(later)
