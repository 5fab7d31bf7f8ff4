import msgspec
import pytest

from hansard.batch import build, verify_at
from hansard.wire.codec import Codec
from hansard.wire.errors import MalformedFrame
from hansard.wire.frame import FrameReader, pack
from hansard.wire.submission import (
    Answer,
    Broken,
    Busy,
    Continues,
    Expired,
    Gap,
    Invalid,
    Misplaced,
    NotLeader,
    ReadOnly,
    Repeated,
    Stored,
    StoredInPart,
    Submit,
    Unknown,
)

ANSWERS: list[Answer] = [
    Stored([1, 2, 1 << 62], [10, 20, 30], [5, 5, 6]),
    Stored([], [], []),
    StoredInPart(3, 7, 100, 5),
    Repeated(4, 50, 5),
    Repeated(5, None, None),
    Unknown(6),
    Gap(7, -1),
    Broken(8),
    Invalid(9, "no client may submit such a batch"),
    Expired(10),
    Busy(11),
    Misplaced(12, 64),
    NotLeader(13, "b", "127.0.0.1:7002", 4),
    NotLeader(14, None, None, 0),
    ReadOnly(15, "b", "its disk is full"),
]


def submissions() -> Codec[Submit]:
    return Codec(Submit, verify_at)


def answers() -> Codec[Answer]:
    return Codec(Answer, verify_at)


def test_submissions_come_out_as_they_went_in() -> None:
    one = build(["k"], ["v"], [["t"]])
    two = build(["k"] * 3, ["v"] * 3, connection=7, first_series=4, previous_series=3)
    said = [
        Submit(1, 0, one, 1_000_000),
        Submit(2, 5, two, 1, buckets=8, epoch=3, continues=Continues(6, 99)),
        Submit(3, 0, one, 2),
    ]
    (frame,) = FrameReader().feed(b"".join(submissions().encode(said)))
    assert submissions().decode(frame) == said


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: type(answer).__name__)
def test_an_answer_comes_out_as_it_went_in(answer: Answer) -> None:
    (frame,) = FrameReader().feed(b"".join(answers().encode([answer])))
    assert answers().decode(frame) == [answer]


def test_answers_of_all_kinds_share_a_frame() -> None:
    (frame,) = FrameReader().feed(b"".join(answers().encode(ANSWERS)))
    assert answers().decode(frame) == ANSWERS


def test_every_answer_has_a_number_of_its_own() -> None:
    numbers = {type(answer): msgspec.msgpack.decode(msgspec.msgpack.encode(answer))[0] for answer in ANSWERS}
    assert sorted(numbers.values()) == list(range(1, 13))
    assert set(numbers) == set(Answer.__args__)


@pytest.mark.parametrize(
    "message",
    [
        [13, 1],  # no such answer
        [0, 1],
        [6],  # a Broken without its id
        [1, [1], [2], ["now"]],
        [5, 1, None],
        ["6", 1],
        6,
    ],
)
def test_what_is_no_answer_is_refused(message: object) -> None:
    (frame,) = FrameReader().feed(b"".join(pack(msgspec.msgpack.encode([message]), ())))
    with pytest.raises(MalformedFrame):
        answers().decode(frame)


@pytest.mark.parametrize(
    "message",
    [
        [2, 1, 0, 0, 5],  # no such submission
        [1, 1, 0, 0, 5],  # there is no batch 0 in the frame
        [1, 1, 0],
    ],
)
def test_what_is_no_submission_is_refused(message: object) -> None:
    (frame,) = FrameReader().feed(b"".join(pack(msgspec.msgpack.encode([message]), ())))
    with pytest.raises(MalformedFrame):
        submissions().decode(frame)


def test_fields_that_a_later_version_adds_at_the_end_are_ignored() -> None:
    (frame,) = FrameReader().feed(b"".join(pack(msgspec.msgpack.encode([[6, 1, "new"]]), ())))
    assert answers().decode(frame) == [Broken(1)]
