"""How late the loop was: the last time, the worst of a minute, and what is said of it, seldom."""

import asyncio
import time
from pathlib import Path

import pytest

from hansard.server.lag import BAD_S, WINDOW_S, Lag

from .solo import Solo
from .trio import run


def test_worst_of_the_last_minute_is_known() -> None:
    lag = Lag()
    for second in range(200):
        lag.note(0.1 if second == 30 else 0.001, float(second))
        assert (lag.max_s == 0.1) == (30 <= second <= 30 + WINDOW_S)
    assert lag.last_s == lag.max_s == 0.001
    assert len(lag._slices) <= 14


def test_bad_ones_are_told_once_a_minute_with_their_number(caplog: pytest.LogCaptureFixture) -> None:
    lag = Lag()
    lag.note(BAD_S / 2, 0.0)
    assert not caplog.records
    for second in range(1, 62):
        lag.note(BAD_S, float(second))
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "this process did nothing for up to 300 ms, 1 times",
        "this process did nothing for up to 300 ms, 60 times",
    ]


def test_status_has_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with Solo(tmp_path) as solo:
            await asyncio.sleep(0)
            until = time.monotonic() + 2 * BAD_S
            while time.monotonic() < until:  # the loop is busy with this
                pass
            bad_ms = BAD_S * 1000
            await solo.until(lambda status: status["loop_lag_max_ms"] >= bad_ms > status["loop_lag_ms"])

    run(test())
    assert "this process did nothing for up to" in caplog.text
