"""The bench of the HTTP API works: every load is answered. Nothing is said of how fast."""

from bench.http import CONNECTIONS, Plan, measure


def test_every_load_is_answered() -> None:
    rows = measure(Plan(seconds=0.2, followers=20, deliveries=5))
    claims = [row.claim for row in rows]
    assert claims[: len(CONNECTIONS)] == [f"Hansard: {count} connections" for count in CONNECTIONS]
    assert any("a post of" in claim for claim in claims)
    assert any("followers" in claim for claim in claims) and any("waiting page" in claim for claim in claims)
    assert any(claim.startswith("etcd") for claim in claims)
