"""What `hansard status` draws while buckets move."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from hansard.cli.screen import status_screen
from hansard.cli.survey import Participant, Survey

STATUS: dict[str, Any] = {
    "cluster": "c",
    "log": "l",
    "buckets": 2,
    "states": {"expanding": 1, "steady": 1},
    "version": 7,
    "atomic": {"leader": "a", "term": 1, "committed": 9, "voters": ["a"]},
    "drained": [],
    "lost": [],
    "thinned": [],
    "paused": False,
}


def participant(node: str, *copies: dict[str, Any]) -> Participant:
    return Participant(node, f"{node}:1", "", {"marked_down": False}, copies, "")


def copy(bucket: int, end: int, *, leads: bool = False) -> dict[str, Any]:
    return {"bucket": bucket, "end": end, "synced": end, "committed": end, "leads": leads}


@pytest.mark.parametrize(
    ("copies", "share"), [([copy(0, 250)], "25%"), ([copy(0, 1000)], "100%"), ([copy(1, 9)], "0%"), ([], "0%")]
)
def test_how_far_a_move_is_can_be_read_without_colours(copies: list[dict[str, Any]], share: str) -> None:
    buckets = [
        {"bucket": 0, "state": "expanding", "newcomers": ["b", "c"]},
        {"bucket": 1, "state": "steady", "newcomers": []},
    ]
    leader = participant("a", copy(0, 1000, leads=True), copy(1, 5, leads=True))
    everybody = (leader, participant("b", *copies), participant("c", copy(0, 1000)))
    now = Survey(STATUS, {"buckets": buckets}, everybody, 1.0)
    shown = StringIO()
    Console(file=shown, width=120).print(status_screen(now))
    (row,) = [line.split() for line in shown.getvalue().splitlines() if "expanding  b, c" in line]
    assert row[0] == "0" and row[-1] == share and "1 on the move" in shown.getvalue()
