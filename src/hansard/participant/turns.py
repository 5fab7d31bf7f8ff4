"""The turns of our copies' phasers, and what becomes of what they want.

Each has two halves. What somebody waits for is wanted by the first, and is carried out before the second begins: that
one is only for the copy itself, and for those further down who will hear what is committed. So it can be put off for a
moment, where a leader has nothing more to answer.
"""

from collections.abc import Sequence
from typing import assert_never

from hansard.distributor.command import Achievement, Report
from hansard.phaser import effect as bucket
from hansard.phaser import hearing

from .copies import Copies, Copy
from .effect import Committed, Fetch, Persist, Pressure, Send
from .here import Here
from .message import Bucketed
from .name import node_of
from .reading import Reading
from .reports import Reporting
from .routing import Router
from .timekeeping import Timekeeping


class Turns:
    def __init__(
        self, here: Here, copies: Copies, time: Timekeeping, router: Router, reading: Reading, reports: Reporting
    ) -> None:
        self._here = here
        self._copies = copies
        self._time = time
        self._router = router
        self._reading = reading
        self._reports = reports
        self._begun: dict[int, Copy] = {}
        """Whose turn is begun and not finished, by bucket."""

    def begin(self, copy: Copy) -> None:
        """Whatever has happened to it."""
        begun = self._begun.pop(copy.bucket, None)
        if begun is not None and not (begun is copy and _is_patient(begun)):
            self._finish(begun)
        self._begun[copy.bucket] = copy
        self._begin(copy)

    def finish(self, *, patient: bool = False) -> None:
        """All that are begun; unless they can wait, and whoever asks can."""
        begun, self._begun = self._begun, {}
        for number, copy in begun.items():
            if patient and _is_patient(copy):
                self._begun[number] = copy
            else:
                self._finish(copy)

    @property
    def unfinished(self) -> bool:
        return bool(self._begun)

    def _begin(self, copy: Copy) -> None:
        assert copy.phaser is not None
        events, copy.inbox = copy.inbox, []
        now_us, time = self._here.now_us, self._time
        self._carry_out(copy, copy.phaser.begin(events, now_us, time.clock.wall_us(now_us, time.wall_us)))

    def _finish(self, copy: Copy) -> None:
        """Unless it was stopped meanwhile."""
        if copy.phaser is not None and self._copies.running.get(copy.bucket) is copy:
            self._carry_out(copy, copy.phaser.finish())

    def _report(self, copy: Copy, report: Report) -> None:
        """Unless it is in the log already, as after a restart."""
        record = self._here.distributor.buckets[report.bucket]
        if report.achievement is Achievement.OPENED and record.opened == report.epoch:
            self._copies.accept(copy, record)
        elif report.epoch >= record.epoch:
            self._reports.add(report)

    def _carry_out(self, copy: Copy, effects: Sequence[bucket.Effect]) -> None:
        """In their order. Most of what a busy leader has are answers, one after the other; then what it sends."""
        here, number = self._here, copy.bucket
        answers: list[bucket.Answer] = []
        for effect in effects:
            if isinstance(effect, bucket.Answer):
                answers.append(effect)
                continue
            if answers:
                self._router.answered(answers)
                answers = []
            match effect:
                case bucket.Send():
                    if here.me:
                        to = effect.to
                        message = Bucketed(number, here.me, to, effect.message, copy.level)
                        way = here.ways.get(to) or here.way(to)
                        if way is not None:
                            here.effects.append(Send(*way, message))
                        else:
                            here.send(node_of(to), message)
                case bucket.Persist():
                    here.effects.append(Persist(number, copy.generation, effect.ticket, effect.writes))
                case bucket.Committed():
                    here.effects.append(Committed(number, effect.end))
                case bucket.AnswerRead():
                    self._reading.answered(effect.id, effect.outcome)
                case bucket.Report():
                    self._report(copy, Report(number, effect.epoch, Achievement(effect.achievement)))
                case bucket.Fetch():
                    here.effects.append(Fetch(number, effect.to, effect.term, effect.offset, effect.bytes_max))
                case bucket.Pressure():
                    here.effects.append(Pressure(number, effect.high))
                case _:
                    assert_never(effect)
        if answers:
            self._router.answered(answers)


def _is_patient(copy: Copy) -> bool:
    return copy.phaser is not None and hearing.patient(copy.phaser)
