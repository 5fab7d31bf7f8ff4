"""Times that fit together, or a message that says which do not."""

import pytest

from hansard.consensus.settings import Settings


def test_the_defaults_fit_together() -> None:
    settings = Settings()
    assert settings.heartbeat_us * 3 <= settings.election_us <= settings.lease_us


def test_a_death_is_in_the_log_in_less_than_a_second_by_default() -> None:
    """A leader's lease runs from when it was last heard, so its successor has to be elected meanwhile: the first try
    begins after at most twice the time for an election."""
    settings = Settings()
    assert max(settings.lease_us, 2 * settings.election_us) + settings.heartbeat_us < 1_000_000


@pytest.mark.parametrize("field", Settings.__struct_fields__)
@pytest.mark.parametrize("value", [0, -1])
def test_nothing_is_zero(field: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{field} must be more than 0"):
        Settings(**{field: value})


def test_an_election_waits_for_three_heartbeats() -> None:
    assert Settings(heartbeat_us=100_000, election_us=300_000).election_us == 300_000
    with pytest.raises(
        ValueError, match=r"election_us \(299999\) must be at least three times heartbeat_us \(100000\)"
    ):
        Settings(heartbeat_us=100_000, election_us=299_999)


def test_a_lease_outlives_an_election() -> None:
    assert Settings(election_us=400_000, lease_us=400_000).lease_us == 400_000
    with pytest.raises(ValueError, match=r"lease_us \(399999\) must not be below election_us \(400000\)"):
        Settings(election_us=400_000, lease_us=399_999)


def test_less_is_kept_than_gathers_before_it_is_compacted() -> None:
    assert Settings(compact_entries=11, keep_entries=10).keep_entries == 10
    with pytest.raises(ValueError, match=r"keep_entries \(11\) must be below compact_entries"):
        Settings(compact_entries=11, keep_entries=11)
