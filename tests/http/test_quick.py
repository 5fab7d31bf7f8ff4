"""Small posts, which take neither a task nor a future, while their bucket is split."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hansard.distributor.bucket import Bucket
from hansard.http.access import Guest
from hansard.http.content import JSON, Rows
from hansard.http.house import House
from hansard.http.intake import Intake
from hansard.http.metrics import Metrics
from hansard.http.problem import Refusal
from hansard.http.quick import Quick
from hansard.http.submitting import Part, Piece, Stream, Submitter
from hansard.http.workroom import Workroom
from hansard.phaser import outcome as phaser

from .town import Town, until

TAG = "quick"


class Splitting(Submitter):
    """Every bucket was split just now, and following that up fails in a way that nobody has thought of."""

    @property
    def buckets(self) -> Sequence[Bucket]:
        return [Bucket(level=1)]

    def check_room(self) -> None:
        pass

    def send(self, piece: Piece, deadline_s: float, told: Callable[[Part], None]) -> None:
        told(Part(phaser.Misplaced(2), piece.bucket, piece.places, 0))

    async def follow_up(
        self, rows: Rows, parts: Sequence[Part], deadline_s: float, stream: Stream | None
    ) -> list[Part]:
        raise LookupError("nobody knows where it went")


def test_where_following_up_a_split_fails_the_client_is_told_and_nothing_stays_held(
    caplog: pytest.LogCaptureFixture,
) -> None:
    answers: list[tuple[int, Any, Refusal | None]] = []

    async def test() -> None:
        nothing: dict[str, Any] = {field.name: None for field in fields(House)}
        house = House(**nothing)  # nobody asks it for anything
        intake, metrics = Intake(), Metrics(house)
        quick = Quick(
            Splitting(house, Workroom(), lambda: 0.0), lambda _headers, _certificate: Guest(), intake, metrics
        )
        headers = {b"content-type": JSON.encode()}
        body = b'{"key": "k", "value": "v"}'
        answered = asyncio.Event()

        def respond(status: int, content: bytes, why: Refusal | None) -> None:
            answers.append((status, content, why))
            answered.set()

        assert quick.take(headers, None, body, respond)
        assert intake.held_bytes == len(body)
        async with asyncio.timeout(10):
            await answered.wait()
        assert intake.held_bytes == 0

    asyncio.run(test())
    ((status, content, why),) = answers
    assert status == 500 and why is not None and msgspec.json.decode(content)["stored"] == "unknown"
    assert "nobody knows where it went" in caplog.text


class Poster(threading.Thread):
    """One change after the other, each once, whatever the answer."""

    def __init__(self, town: Town, number: int, enough: threading.Event) -> None:
        super().__init__()
        self._town, self._number, self._enough = town, number, enough
        self.stored: list[str] = []
        self.unknown: list[str] = []
        self.other: list[Any] = []

    def run(self) -> None:
        count = 0
        with self._town.caller("abc"[self._number % 3]) as caller:
            while not self._enough.is_set():
                key = f"{self._number}-{count}"
                count += 1
                answer = caller.post("/changes", {"key": key, "tags": [TAG]})
                if answer.status == 201:
                    self.stored.append(key)
                elif answer.status == 504 and answer.json["stored"] == "unknown":
                    self.unknown.append(key)
                elif answer.status != 503 or answer.json["stored"] != "no":
                    self.other.append(answer)


def test_posts_while_one_bucket_becomes_32_are_all_answered_and_those_acknowledged_are_there_once(
    tmp_path: Path,
) -> None:
    with Town(tmp_path, "abc", 1) as town:
        enough = threading.Event()
        posters = [Poster(town, number, enough) for number in range(4)]
        for poster in posters:
            poster.start()
        try:
            until(lambda: all(len(poster.stored) > 5 for poster in posters), "nothing is stored")
            with town.caller() as caller:
                order = {"id": "more", "wish": {"type": "double", "to": 32}}
                assert caller.post("/orders", order).status == 202
                until(lambda: caller.get("/orders/more").json["standing"] == "done", "it is not split", 60)
            past = [len(poster.stored) for poster in posters]
            until(
                lambda: all(len(poster.stored) > 5 + so_far for poster, so_far in zip(posters, past, strict=True)),
                "nothing is stored after the splits",
            )
        finally:
            enough.set()
            for poster in posters:
                poster.join(60)
        assert not any(poster.is_alive() or poster.other for poster in posters), [poster.other for poster in posters]
        seen = town.keys(TAG)
        stored = {key for poster in posters for key in poster.stored}
        unknown = {key for poster in posters for key in poster.unknown}
        assert stored <= set(seen) <= stored | unknown and max(seen.values()) == 1
