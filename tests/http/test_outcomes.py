"""What becomes of a submission, as its client is told: certain and uncertain answers never look alike."""

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from hansard.batch import bucket_of, key_hash
from hansard.http.access import EVERYBODY
from hansard.http.content import Rows
from hansard.http.forms import Receipt, Receipts
from hansard.http.problem import KINDS, Refusal
from hansard.http.receipts import told as answer_to
from hansard.http.submitting import Part, Stream, Submitter, cut
from hansard.http.workroom import Workroom
from hansard.participant.effect import Answer
from hansard.phaser import outcome as phaser

STORED = phaser.Stored(phaser.Receipt(17, 1_000_000))
REFUSALS: list[tuple[Any, str]] = [
    (phaser.Gap(3), "series-gap"),
    (phaser.Broken(), "stream-broken"),
    (phaser.Invalid("why"), "bad-request"),
    (phaser.Expired(), "expired"),
    (phaser.Busy(), "busy"),
    (phaser.ReadOnly("b", "it is full"), "read-only"),
    (phaser.Importing(), "not-ready"),
    (phaser.NotLeader(None, 1), "not-reachable"),
    (phaser.Misplaced(8), "buckets-changed"),
]


def told(*outcomes: Any, single: bool = False) -> Receipt | Receipts:
    rows = Rows([b"k"] * len(outcomes), [b"v"] * len(outcomes), [[]] * len(outcomes), single)
    parts = [Part(outcome, 0, (place,)) for place, outcome in enumerate(outcomes)]
    answer = answer_to(rows, parts, EVERYBODY)
    return msgspec.json.decode(answer, type=Receipt) if single else msgspec.json.decode(answer, type=Receipts)


def refusal(*outcomes: Any, single: bool = False) -> Refusal:
    with pytest.raises(Refusal) as refused:
        told(*outcomes, single=single)
    return refused.value


@pytest.mark.parametrize(("outcome", "name"), REFUSALS, ids=lambda each: getattr(each, "__class__", each).__name__)
def test_every_refusal_says_for_certain_that_nothing_is_stored(outcome: Any, name: str) -> None:
    refused = refusal(outcome, single=True)
    assert (refused.name, refused.problem.stored) == (name, "no")
    assert refusal(outcome, outcome).problem.stored == "no"


def test_unknown_is_a_type_of_its_own_and_wins_over_all_others() -> None:
    assert refusal(phaser.Unknown(), single=True).problem.stored == "unknown"
    for outcome, _ in REFUSALS:
        mixed = refusal(STORED, outcome, phaser.Unknown())
        assert (mixed.name, mixed.problem.stored) == ("unknown", "unknown")
        assert [each.stored for each in mixed.problem.outcomes] == ["yes", "no", "unknown"]  # type: ignore[union-attr]
    assert KINDS["unknown"].status not in {KINDS[name].status for _, name in REFUSALS}


def test_some_stored_and_some_not_is_told_of_each() -> None:
    partly = refusal(STORED, phaser.Busy(), phaser.Repeated(None))
    assert (partly.name, partly.problem.stored) == ("partly-stored", "partly")
    assert [each.stored for each in partly.problem.outcomes] == ["yes", "no", "yes"]  # type: ignore[union-attr]


def test_one_is_answered_with_a_receipt_and_several_with_a_list() -> None:
    single, several = told(STORED, single=True), told(STORED, phaser.Repeated(None))
    assert isinstance(single, Receipt) and single.offset == 17 and single.timestamp == "1970-01-01T00:00:01.000000Z"
    assert isinstance(several, Receipts) and [each.offset for each in several.receipts] == [17, None]
    assert [each.repeated for each in several.receipts] == [False, True]


WAIT_S = 0.05
UNNUMBERED, NUMBERED = None, Stream(5, 10, {0: 3, 1: 4})


def of_two_buckets(first: Any, second: Any, stream: Stream | None) -> Refusal:
    """What a body with keys of both is answered, by a participant that does not hear of the split."""
    keys = [str(number).encode() for number in range(8)]
    assert {bucket_of(key_hash(key), 2) for key in keys} == {0, 1}
    rows = Rows(keys, [b"v"] * 8, [[]] * 8)

    def submit(bucket: int, _batch: Any, _wait_us: int, _level: int, answered: Any) -> None:
        asyncio.get_running_loop().call_soon(answered, Answer(-1, (first, second)[bucket], 0))

    core = SimpleNamespace(distributor=SimpleNamespace(buckets=[SimpleNamespace(level=2)] * 2))
    house: Any = SimpleNamespace(core=core, is_ready=True, is_holding=lambda: False, submit=submit)
    submitter = Submitter(house, Workroom(), time.perf_counter)
    pieces = cut(rows, submitter.buckets, stream)
    parts = asyncio.run(submitter.submit(rows, pieces, time.perf_counter() + WAIT_S, stream))
    with pytest.raises(Refusal) as refused:
        answer_to(rows, parts, EVERYBODY)
    return refused.value


@pytest.mark.parametrize(("stream", "name"), [(UNNUMBERED, "expired"), (NUMBERED, "buckets-changed")])
def test_a_split_that_refuses_one_bucket_says_nothing_of_another(stream: Stream | None, name: str) -> None:
    split = phaser.Misplaced(4)
    for first, told_name, stored in ((STORED, "partly-stored", "partly"), (phaser.Unknown(), "unknown", "unknown")):
        refused = of_two_buckets(first, split, stream)
        assert (refused.name, refused.problem.stored) == (told_name, stored)
        assert {each.stored for each in refused.problem.outcomes} == {"no", "yes" if first is STORED else "unknown"}  # type: ignore[union-attr]
    refused = of_two_buckets(split, split, stream)
    assert (refused.name, refused.problem.stored) == (name, "no")
