"""`GET /metrics`: what Prometheus is told. Names follow its conventions; how many series there are is bounded.

What happens is counted as it happens. What is a state is looked up when somebody asks. Of buckets, those that this
participant leads are told one by one, and no more than BUCKETS_MAX of them.
"""

from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from hansard.phaser.phaser import Phaser

from .house import House

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS_MAX: Final = 256
_SECONDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


class Metrics:
    """With a registry of its own: two participants in one process do not count for each other."""

    def __init__(self, house: House) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_State(house))
        self._requests = Counter(
            "hansard_http_requests", "Requests that were answered.", ["operation", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "hansard_http_request_seconds",
            "From the headers to the end of the answer; of streams nothing is told.",
            ["operation"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._stages = Histogram(
            "hansard_http_submission_stage_seconds",
            "Of submissions: reading and checking the body, and then until it is committed.",
            ["stage"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.changes = Counter("hansard_http_changes", "Changes that were answered.", registry=self._registry)
        self.followers = Gauge("hansard_http_followers", "Streams of events that are open.", registry=self._registry)

        # Looking a series up by its labels takes as long as counting in it.
        self._counted: dict[tuple[str, int], Counter] = {}
        self._timed: dict[str, Histogram] = {}

    def request(self, operation: str, status: int, seconds: float) -> None:
        """One that was answered."""
        counter = self._counted.get((operation, status))
        if counter is None:
            counter = self._counted[operation, status] = self._requests.labels(operation, status)
        counter.inc()
        self._observe(self._seconds, operation, seconds)

    def stage(self, stage: str, seconds: float) -> None:
        """Of a submission."""
        self._observe(self._stages, stage, seconds)

    def _observe(self, histogram: Histogram, label: str, seconds: float) -> None:
        timed = self._timed.get(label)
        if timed is None:
            timed = self._timed[label] = histogram.labels(label)
        timed.observe(seconds)

    def text(self) -> bytes:
        return generate_latest(self._registry)


class _State:
    """Looked up at each scrape."""

    def __init__(self, house: House) -> None:
        self._house = house

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        house, core = self._house, self._house.core
        distributor, consensus = core.distributor, core.consensus
        yield _gauge("hansard_ready", "Whether this participant takes part and there are buckets.", house.is_ready)
        yield _gauge("hansard_table_version", "Of the table that this participant has.", distributor.version)
        yield _gauge("hansard_buckets", "In the table.", len(distributor.buckets))
        yield _gauge(
            "hansard_buckets_thinned", "With fewer copies than they should have.", len(list(distributor.thinned()))
        )
        yield _gauge("hansard_buckets_lost", "That nobody has who is there.", len(list(distributor.lost())))
        yield _gauge("hansard_participants", "That take part.", len(consensus.roster.participants))
        yield _gauge("hansard_atomic_term", "Of the atomic log.", consensus.term)
        yield _gauge("hansard_atomic_committed_index", "Of the atomic log.", consensus.committed)
        yield _gauge("hansard_loop_lag_seconds", "How late the loop was when it last looked.", house.lag_s())
        yield _gauge("hansard_submissions_held", "That wait here for their leaders' answers.", core.router.count)
        yield _gauge("hansard_submissions_held_bytes", "The same in bytes.", core.router.bytes)
        count, seconds = house.synced()
        yield CounterMetricFamily("hansard_journal_syncs", "Groups that were written and synced.", value=count)
        yield CounterMetricFamily("hansard_journal_sync_seconds", "How long that took, all together.", value=seconds)
        yield from self._buckets()

    def _buckets(self) -> Iterator[Metric]:
        running = self._house.core.copies.running
        phasers = [(str(number), copy.phaser) for number, copy in sorted(running.items()) if copy.phaser is not None]
        led = [(number, phaser) for number, phaser in phasers if phaser.leading is not None]
        copies = [("leader", len(led)), ("member", len(phasers) - len(led))]
        here = GaugeMetricFamily("hansard_copies", "Buckets that this participant has, by its role.", labels=["role"])
        for role, count in copies:
            here.add_metric([role], count)
        committed = GaugeMetricFamily(
            "hansard_bucket_committed_offset", "Of each bucket that is led here, where its log ends.", labels=["bucket"]
        )
        backlog = GaugeMetricFamily(
            "hansard_bucket_backlog", "Submissions that have no offset yet, by bucket.", labels=["bucket"]
        )
        lag = GaugeMetricFamily(
            "hansard_member_lag_offsets",
            "What a member has not on its disk of a bucket that is led here.",
            labels=["bucket", "member"],
        )
        for number, phaser in led[:BUCKETS_MAX]:
            committed.add_metric([number], phaser.ledger.committed)
            backlog.add_metric([number], len(phaser.desk.backlog))
            for member, behind in lags(phaser):
                lag.add_metric([number, member], behind)
        yield from (here, committed, backlog, lag)


def lags(phaser: Phaser) -> list[tuple[str, int]]:
    """Of each that this leader sends to, by its node's name."""
    relay = phaser.leading.relay if phaser.leading is not None else None
    if relay is None:
        return []
    end = phaser.ledger.end
    return [(node.partition("#")[0], max(0, end - max(feed.through, 0))) for node, feed in relay.feeds.items()]


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=float(value))
