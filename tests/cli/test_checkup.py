"""What the doctor makes of what a cluster says of itself."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from hansard.cli.checkup import Verdict, findings
from hansard.cli.survey import Participant, Survey

ADDRESSES = {name: f"{name}.example:7301" for name in "abc"}


def healthy() -> dict[str, dict[str, Any]]:
    """Of each participant its status."""
    return {
        name: {
            "cluster": "c",
            "log": "l",
            "version": 7,
            "software": "1.0",
            "atomic": {"leader": "a", "voters": ["a", "b", "c"], "term": 1, "committed": 9},
            "buckets": 4,
            "states": {"steady": 4},
            "lost": [],
            "thinned": [],
            "drained": [],
            "paused": False,
            "marked_down": False,
            "read_only": "",
            "damaged": [],
            "disk_bytes": 100,
            "disk_free_bytes": 50,
            "loop_lag_max_ms": 5.0,
            "connected": {address: other for other, address in ADDRESSES.items() if other != name},
            "ahead_ms": 0.0,
        }
        for name in "abc"
    }


def surveyed(statuses: dict[str, Any], replication: int = 3) -> Survey:
    participants = [
        Participant(
            name,
            ADDRESSES[name],
            "",
            status,
            (),
            "nothing comes" if status is None else "",
            status["ahead_ms"] if status else 0.0,
        )
        for name, status in statuses.items()
    ]
    table = {"settings": {"replication": replication, "shape": "star"}, "buckets": []}
    return Survey(next(status for status in statuses.values() if status), table, tuple(participants), 0.0)


def test_a_healthy_cluster_is_well_in_every_respect() -> None:
    found = findings(surveyed(healthy()))
    assert {finding.verdict for finding in found} == {Verdict.WELL}
    assert len({finding.subject for finding in found}) >= 9


def everywhere(**changed: Any) -> Callable[[dict[str, Any]], None]:
    def happened(statuses: dict[str, Any]) -> None:
        for status in statuses.values():
            status.update(deepcopy(changed))

    return happened


def at_b(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda statuses: statuses["b"].update(changed)


@pytest.mark.parametrize(
    ("happened", "verdict", "found", "remedy"),
    [
        (lambda statuses: statuses.update(c=None), Verdict.BAD, "c does not answer", "hansard leave c"),
        (at_b(software="1.1"), Verdict.ODD, "they run 1.0, 1.1", "newest"),
        (at_b(log="other"), Verdict.BAD, "different clusters", "addresses"),
        (at_b(version=70), Verdict.ODD, "tables from 7 to 70", "overloaded"),
        (everywhere(atomic={"leader": "", "voters": ["a"]}), Verdict.BAD, "nobody leads it", "recover"),
        (everywhere(atomic={"leader": "a", "voters": ["a", "b"]}), Verdict.ODD, "none may be lost", "three"),
        (everywhere(buckets=0), Verdict.BAD, "there are none yet", "founding"),
        (everywhere(lost=[{"bucket": 3, "nodes": ["b", "c"]}]), Verdict.BAD, "bucket 3 is lost", "start b or c"),
        (everywhere(thinned=[{"bucket": 3, "copies": 2}]), Verdict.ODD, "the least has 2", "takes its place"),
        (everywhere(thinned=[{"bucket": 3, "copies": 1}]), Verdict.BAD, "the least has 1", "takes its place"),
        (at_b(read_only="it is full"), Verdict.BAD, "b is read-only: it is full", "make room"),
        (at_b(damaged=[{}, {}]), Verdict.ODD, "b's is damaged in 2 places", "mend"),
        (at_b(disk_free_bytes=5), Verdict.ODD, "b's has 5% left", "retention.md"),
        (at_b(ahead_ms=4000.0), Verdict.ODD, "b's is 4,000 ms ahead of the others'", "NTP"),
        (everywhere(ahead_ms=-4000.0), Verdict.ODD, "this machine's is 4,000 ms", "NTP"),
        (at_b(loop_lag_max_ms=900.0), Verdict.ODD, "b did nothing for 900 ms", "too busy"),
        (at_b(connected={}), Verdict.BAD, "b does not reach a.example:7301, c.example:7301", "advertise"),
    ],
)
def test_what_is_wrong_is_named_with_a_remedy(
    happened: Callable[[dict[str, Any]], None], verdict: Verdict, found: str, remedy: str
) -> None:
    statuses: dict[str, Any] = healthy()
    happened(statuses)
    told = [each for each in findings(surveyed(statuses)) if each.verdict is not Verdict.WELL]
    assert len(told) == 1, told
    assert told[0].verdict is verdict and found in told[0].found and remedy in told[0].remedy


def test_settings_that_promise_less_than_one_may_think() -> None:
    told = [each.found for each in findings(surveyed(healthy(), replication=5)) if each.verdict is Verdict.ODD]
    assert told == ["replication is 5, and 3 participants are there"]
    told = [each.found for each in findings(surveyed(healthy(), replication=1)) if each.verdict is Verdict.ODD]
    assert told == ["there is one copy of everything"]
