"""What a scenario can expect, at the place where it says so.

    expect a: open epoch 2, stored 3, committed 2       all of these are true of a participant
    expect c: not unrolled, holds k=1 x1                `not` before any of them
    expect answer 1: stored at 1                        what a submission was answered
    expect no answer 2                                  it was not answered yet
    expect read 1: 2 | expect no read 1                 the same for reads
    expect logs alike a b c                             same entries from where all begin, same table of connections
    expect atomic log: opened epoch 1                   what is in the atomic log; `newest epoch 1`

Of a participant: `open|usurping|reporting|promising epoch 2`, `leads epoch 2`, `counts d`, `waiting for c`;
`follows b`, `follows epoch 2`; `wedged`; `down`; `epoch 2`, `reign 1`; `begins 4`, `stored 7` (its log ends there),
`synced 7`, `committed 6`; `unrolled`, `unrolled 2`; `backlog 1`; `parts 1 of 3` (of a snapshot); `holds k=1`,
`holds k=1 x1` (once).
"""

from collections.abc import Sequence

from .stage import Stage


class Disappointed(AssertionError):
    """An expectation that does not hold."""


def check(stage: Stage, text: str) -> None:
    subject, colon, claims = text.partition(":")
    match subject.split():
        case ["no", ("answer" | "read") as kind, number]:
            _check_unanswered(_answers(stage, kind), int(number))
        case [("answer" | "read") as kind, number] if colon:
            _check_answer(_answers(stage, kind), int(number), claims.strip())
        case ["logs", "alike", *names]:
            _check_alike(stage, names)
        case ["atomic", "log"] if colon:
            _check_claims(stage.edicts.facts(), claims)
        case [name] if colon and name in stage.actors:
            _check_claims(stage.actors[name].facts(), claims)
        case _:
            raise Disappointed("this cannot be expected; see sim/scenario/expectation.py")


def _answers(stage: Stage, kind: str) -> dict[int, str]:
    return stage.answers if kind == "answer" else stage.reads


def _check_unanswered(answers: dict[int, str], number: int) -> None:
    if number in answers:
        raise Disappointed(f"it was answered: {answers[number]}")


def _check_answer(answers: dict[int, str], number: int, expected: str) -> None:
    if answers.get(number) != expected:
        raise Disappointed(f"it was answered: {answers.get(number, 'not yet')}")


def _check_claims(facts: Sequence[str], claims: str) -> None:
    for claim in [claim.strip() for claim in claims.split(",")]:
        denied = claim.removeprefix("not ")
        if (denied in facts) == (denied != claim):
            raise Disappointed(f"{claim} is not so. What is: {', '.join(facts)}")


def _check_alike(stage: Stage, names: Sequence[str]) -> None:
    first, *others = [stage.actors[name] for name in names]
    for other in others:
        one, two = first.drive.latest, other.drive.latest
        start = max(one.start, two.start)
        logs = [
            [batch.to_bytes() for batch in copy.batches if batch.header.base_offset >= start] for copy in (one, two)
        ]
        if one.end != two.end or logs[0] != logs[1]:
            raise Disappointed(f"the log of {first.name} ends at {one.end}, that of {other.name} at {two.end}")
        mine, theirs = first.phaser.ledger, other.phaser.ledger
        if mine.committed == theirs.committed and mine.streams.image() != theirs.streams.image():
            raise Disappointed(f"the tables of connections differ: {mine.streams.image()}, {theirs.streams.image()}")
