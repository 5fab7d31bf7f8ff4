"""What a scenario of the atomic log can expect, at the place where it says so.

    expect leader a                                     a leads, and nobody else in this term or a later one
    expect leader a term 2 | expect no leader
    expect committed x y on a b c                       their machines were told so, once
    expect not committed x on a b                       none of them was
    expect order x y z on a b                           their machines were told exactly this
    expect voters a b c                                 by the log of whoever leads
    expect participants a b c d                         by what the leader has applied
    expect departed c                                   by what the leader has applied, it was there and is not any more
    expect settled 1 | expect not settled 1             what was proposed, numbered from 1
    expect read 1: 5 | expect no read 1                 how far the machine had come when it was answered
    expect logs alike a b c                             same entries from where all begin
    expect a: follows b, term 2, not applied x          all of these are true of a participant; `not` before any of them

Of a participant: `leads`, `leads term 2`, `follows`, `follows b`, `follows nobody`, `wants to be elected`, `down`;
`term 2`, `voted for b`, `voted for nobody`; `begins 4`, `ends 7` (its log), `synced 7`, `committed 6`; `voters a b c`;
`cut`, `cut 2` (entries that it has had to give up); `holds x` (in its log, committed or not), `applied x`,
`applied x x1` (once); `knows c`, `knows c as 2` (its incarnation), `knows c at c:2`; `c arrived as 1`,
`c departed as 1`, `c moved to c:2`, `rules 2`; `life 2`; and what it has said: `departing`, `left`,
`strange d`, `refused`, `outdated`, `superseded`.
"""

from collections.abc import Sequence

from sim.scenario.words import BadCommand

from . import wording
from .actor import Actor
from .stage import Stage


class Disappointed(AssertionError):
    """An expectation that does not hold."""


def check(stage: Stage, text: str) -> None:
    subject, colon, claims = text.partition(":")
    match subject.split():
        case ["no", "leader"]:
            _expect_leader(stage, None)
        case ["leader", name]:
            _expect_leader(stage, name)
        case ["leader", name, "term", term]:
            _expect_leader(stage, name)
            _expect(stage.actor(name).facts(), f"term {term}")
        case ["committed", *words] if "on" in words:
            for name, word in _pairs(words):
                _expect(stage.actor(name).facts(), f"applied {word} x1", name)
        case ["not", "committed", *words] if "on" in words:
            for name, word in _pairs(words):
                _expect(stage.actor(name).facts(), f"not applied {word}", name)
        case ["order", *words] if "on" in words:
            for name in words[words.index("on") + 1 :]:
                _expect_same(stage.actor(name).machine.proposed, words[: words.index("on")])
        case ["voters", *names]:
            _expect_same(wording.peers(_leader(stage).core.voters).split(), names)
        case ["participants", *names]:
            _expect_same(sorted(_leader(stage).core.roster.participants), names)
        case ["departed", name]:
            leader = _leader(stage)
            left = [event for event in leader.machine.events if event.startswith(f"{name} departed")]
            _expect([f"departed {name}"] if left else [], f"departed {name}")
            _expect(leader.facts(), f"not knows {name}")
        case ["settled", number]:
            _expect([f"settled {one}" for one in sorted(stage.settled)], f"settled {number}")
        case ["not", "settled", number]:
            _expect([f"settled {one}" for one in sorted(stage.settled)], f"not settled {number}")
        case ["no", "read", number]:
            _expect_same([stage.reads.get(int(number))], [None])
        case ["read", number] if colon:
            _expect_same([stage.reads.get(int(number))], [int(claims)])
        case ["logs", "alike", *names]:
            _expect_alike(stage, names)
        case [name] if colon and name in stage.actors:
            for claim in claims.split(","):
                _expect(stage.actors[name].facts(), claim.strip())
        case _:
            raise BadCommand("this cannot be expected; see sim/atomic/scenario/expectation.py")


def _pairs(words: Sequence[str]) -> list[tuple[str, str]]:
    place = words.index("on")
    return [(name, word) for name in words[place + 1 :] for word in words[:place]]


def _expect(facts: Sequence[str], claim: str, of: str = "") -> None:
    denied = claim.removeprefix("not ")
    if (denied in facts) == (denied != claim):
        raise Disappointed(f"{claim} is not so{f' of {of}' if of else ''}. What is: {', '.join(facts)}")


def _expect_same(found: Sequence[object], expected: Sequence[object]) -> None:
    if list(found) != list(expected):
        raise Disappointed(f"it is {' '.join(map(str, found))}")


def _leader(stage: Stage) -> Actor:
    leaders = [actor for actor in stage.actors.values() if actor.leads]
    if not leaders:
        raise Disappointed("nobody leads")
    return max(leaders, key=lambda actor: actor.core.term)


def _expect_leader(stage: Stage, name: str | None) -> None:
    if name is None:
        leaders = [actor.name for actor in stage.actors.values() if actor.leads]
        _expect_same(leaders, [])
    else:
        _expect_same([_leader(stage).name], [name])


def _expect_alike(stage: Stage, names: Sequence[str]) -> None:
    first, *others = [stage.actor(name) for name in names]
    for other in others:
        one, two = first.core.log, other.core.log
        start = max(one.start, two.start)
        if one.end != two.end or one.entries[start - one.start :] != two.entries[start - two.start :]:
            raise Disappointed(f"the log of {first.name} ends at {one.end}, that of {other.name} at {two.end}")
        if first.core.committed == other.core.committed and first.machine.image() != other.machine.image():
            raise Disappointed(f"the machines differ: {first.machine.image()!r}, {other.machine.image()!r}")
