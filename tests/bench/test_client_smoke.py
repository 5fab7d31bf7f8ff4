"""The bench of the client works: every run comes to its end. Nothing is said of how fast."""

from bench.client import Size, measure


def test_every_run_comes_to_its_end() -> None:
    rows = measure(Size(rounds=1, seconds=0.1))
    assert [row.claim.partition(":")[0] for row in rows] == ["hansard start"] * 3 + ["over HTTP"] * 3 + ["skeleton"] * 3
