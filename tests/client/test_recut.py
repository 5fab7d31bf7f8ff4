"""Batches that are cut anew when their bucket was split: nothing is lost, stored twice or overtaken.

The property test plays a bucket that is split at any point between journalling and commit: the halves go on from
different copies of its log, which agree in what was committed; answers are lost, or come from one half only.
"""

from collections.abc import Sequence
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.batch import Batch, Flag, bucket_of, build, key_hash, verify
from hansard.client.recut import NO_SERIES, Continues, Cut, descendants, recut
from hansard.phaser.streams import Early, Forgotten, Fresh, Streams

DAY_US: Final = 24 * 3600 * 1_000_000
KEYS: Final = [b"k%d" % number for number in range(12)]
FINAL: Final = 4


def key_of(bucket: int, level: int, number: int = 0) -> bytes:
    return [b"%d" % n for n in range(1000) if bucket_of(key_hash(b"%d" % n), level) == bucket][number]


def sent(keys: Sequence[bytes | None], first: int, previous: int = NO_SERIES, connection: int = 7) -> Batch:
    values = [b"%d" % (first + number) for number in range(len(keys))]
    return build(keys, values, connection=connection, first_series=first, previous_series=previous)


def numbers(cut: Cut) -> tuple[int, list[int], int]:
    return cut.batch.header.connection, cut.batch.series.tolist(), cut.batch.header.previous_series


# What a part looks like.


def test_each_half_gets_its_own_keys_with_the_series_that_they_had() -> None:
    here, there = key_of(0, 2), key_of(1, 2)
    one, other = sent([here, there, here], 10, 9), sent([there, here], 13, 12)
    first, second = recut([one, other], 0, 1, 2)
    assert (first.bucket, first.level, second.bucket, second.level) == (0, 2, 1, 2)
    assert [numbers(cut) for cut in first.cuts] == [(7, [10, 12], NO_SERIES), (7, [14], 12)]
    assert [numbers(cut) for cut in second.cuts] == [(7, [11], NO_SERIES), (7, [13], 11)]
    assert [(cut.whole, cut.places) for cut in first.cuts] == [(0, (0, 2)), (1, (1,))]
    assert [cut.batch.values() for cut in second.cuts] == [[b"11"], [b"13"]]


def test_a_part_is_a_batch_that_a_client_may_submit() -> None:
    keys = [key_of(0, 2), key_of(1, 2), key_of(0, 2, 1), None]
    batch = build(keys, [b"x", None, b"y", b"z"], [("a",), (), ("b", "c"), ("d",)], connection=3, first_series=5)
    for lane in recut([batch.compressed()], 0, 1, 2):
        for cut in lane.cuts:
            part = verify(cut.batch.to_bytes())
            assert not part.header.flags & (Flag.OFFSETS | Flag.TIMESTAMPS | Flag.CONNECTIONS | Flag.INTERNAL)
            changes = list(batch.changes())
            for place, change in zip(cut.places, part.changes(), strict=True):
                assert change._replace(offset=0) == changes[place]._replace(offset=0)
    assert sum([len(lane.cuts) for lane in recut([batch], 0, 1, 2)]) == 2


def test_what_has_nothing_for_a_half_is_not_sent_there_and_breaks_no_chain() -> None:
    here, there = key_of(0, 2), key_of(1, 2)
    batches = [sent([there], 1), sent([here], 2, 1), sent([there], 3, 2)]
    first, second = recut(batches, 0, 1, 2)
    assert [numbers(cut) for cut in first.cuts] == [(7, [2], NO_SERIES)]
    assert [numbers(cut) for cut in second.cuts] == [(7, [1], NO_SERIES), (7, [3], 1)]


def test_a_stream_that_goes_on_by_another_connection_does_so_in_each_half() -> None:
    here, there = key_of(0, 2), key_of(1, 2)
    batches = [sent([here], 8), sent([here, there], 0, NO_SERIES, 9), sent([there], 2, 1, 9)]
    first, second = recut(batches, 0, 1, 2)
    assert [cut.continues for cut in first.cuts] == [None, Continues(7, 8)]
    assert [cut.continues for cut in second.cuts] == [None, None]
    assert [numbers(cut) for cut in second.cuts] == [(9, [1], NO_SERIES), (9, [2], 1)]


def test_without_a_stream_there_is_nothing_to_chain() -> None:
    batch = build([key_of(0, 2), key_of(1, 2)], [b"x", b"y"])
    cuts = [cut for lane in recut([batch, batch], 0, 1, 2) for cut in lane.cuts]
    assert [numbers(cut)[0] for cut in cuts] == [0] * 4 and not any(cut.continues for cut in cuts)


def test_a_client_that_missed_a_doubling_learns_the_rest_from_the_halves() -> None:
    assert list(descendants(1, 2, 4)) == [(1, 4), (3, 4)]
    assert list(descendants(1, 2, 16)) == [(1, 16), (3, 4), (5, 8), (9, 16)]
    lanes = recut([sent([key_of(0, 4), key_of(1, 4), key_of(2, 4), key_of(3, 4)], 0)], 0, 1, 4)
    assert [(lane.bucket, lane.level) for lane in lanes] == [(0, 4), (1, 2), (2, 4)]
    assert [lane.cuts[0].batch.series.tolist() for lane in lanes] == [[0], [1, 3], [2]]


@pytest.mark.parametrize(("level", "to"), [(2, 2), (4, 2), (1, 3), (3, 4)])
def test_levels_are_powers_of_two_and_rise(level: int, to: int) -> None:
    with pytest.raises(AssertionError):
        recut([], 0, level, to)


# A bucket that is split.


class Half:
    """A bucket of a model: its log, what of it is committed, and how its leader judges submissions."""

    def __init__(self, bucket: int, level: int, log: Sequence[Batch]) -> None:
        self.bucket, self.level = bucket, level
        self.log = list(log)
        self.streams = Streams(DAY_US)
        for batch in log:
            self.streams.append(batch)

    def own(self, batch: Batch) -> list[tuple[bytes, bytes]]:
        pairs = zip(batch.keys(), batch.values(), strict=True)
        return [(k, v) for k, v in pairs if k and v and bucket_of(key_hash(k), self.level) == self.bucket]

    def submit(self, batch: Batch, continues: Continues | None) -> bool:
        """Whether it is there by now."""
        assert len(self.own(batch)) == len(batch), "nobody sends us what is another's"
        header, series = batch.header, batch.series.tolist()
        unknown = self.streams.last(header.connection) is None
        if continues is not None and unknown and self.streams.judge_continuation(*continues) is not None:
            return False
        verdict = self.streams.judge(header.connection, series[0], series[-1], header.previous_series)
        assert not isinstance(verdict, Forgotten)
        if isinstance(verdict, Early):
            return False
        if isinstance(verdict, Fresh):
            fresh = [number for number, one in enumerate(series) if one > verdict.after]
            changes = list(batch.changes())
            kept = [changes[number] for number in fresh]
            taken = build(
                [change.key for change in kept],
                [change.value for change in kept],
                connection=header.connection,
                series=[change.series for change in kept],
            )
            self.log.append(taken.stamped(epoch=1, base_offset=len(self.log), timestamp=1))
            self.streams.append(self.log[-1])
        return True

    def seen(self) -> list[tuple[bytes, bytes]]:
        return [pair for batch in self.log for pair in self.own(batch)]


Attempt = tuple[Batch, Continues | None]


@st.composite
def streams(draw: st.DrawFn) -> list[Attempt]:
    """One client's batches for one bucket, in order."""
    connection, series, last = 1, 0, NO_SERIES
    made: list[Attempt] = []
    for _ in range(draw(st.integers(1, 7))):
        continues = None
        if made and draw(st.integers(0, 4)) == 0:
            continues = Continues(connection, last)
            connection, series, last = connection + 1, 0, NO_SERIES
        keys = draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=3))
        series += draw(st.integers(0, 2))
        values = [b"%d-%d" % (connection, series + number) for number in range(len(keys))]
        batch = build(keys, values, connection=connection, first_series=series, previous_series=last)
        made.append((batch.stamped(epoch=1, base_offset=len(made), timestamp=1), continues))
        last = series + len(keys) - 1
        series = last + 1
    return made


def split(data: st.DataObject, parent: Half, unsettled: list[Attempt]) -> list[tuple[Half, list[Attempt]]]:
    """Some of what is unsettled is journalled, some of that at all members, and of that some is acknowledged. Then the
    bucket is split: one half goes on from all that is journalled, the other one from what its leader has."""
    journalled = data.draw(st.integers(0, len(unsettled)), "journalled")
    for attempt in unsettled[:journalled]:
        assert parent.submit(*attempt)
    everywhere = data.draw(st.integers(0, journalled), "everywhere")
    lacking = data.draw(st.integers(0, journalled - everywhere), "lacking")
    first = Half(parent.bucket, 2 * parent.level, parent.log)
    second = Half(parent.bucket + parent.level, 2 * parent.level, parent.log[: len(parent.log) - lacking])
    if data.draw(st.booleans(), "the other one leads"):
        first.log, second.log = second.log, first.log
        first, second = (Half(half.bucket, half.level, half.log) for half in (first, second))
    answered = [
        number
        for number, (batch, _) in enumerate(unsettled[:journalled])
        if (number < everywhere or len(first.own(batch)) == len(batch))
        and _there(batch, first, second)
        and data.draw(st.booleans(), "answered")
    ]
    rest = [attempt for number, attempt in enumerate(unsettled) if number not in answered]
    lanes = recut([batch for batch, _ in rest], parent.bucket, parent.level, 2 * parent.level)
    return [
        (half, [(cut.batch, cut.continues) for cut in lane.cuts])
        for half, lane in zip((first, second), lanes, strict=True)
    ]


def _there(batch: Batch, *halves: Half) -> bool:
    """Whether each half has its own of it: nothing else is ever acknowledged."""
    return all(set(half.own(batch)) <= set(half.seen()) for half in halves)


def deliver(data: st.DataObject, half: Half, attempts: list[Attempt]) -> None:
    """In any order, some twice and some not at all; and in the end once more in order, as a client does."""
    if attempts:
        for number in data.draw(st.lists(st.integers(0, len(attempts) - 1), max_size=8), "network"):
            half.submit(*attempts[number])
    for attempt in attempts:
        assert half.submit(*attempt), "nothing is missing before it, and it is refused for ever"


@settings(max_examples=300, deadline=None)
@given(streams(), st.data())
def test_whatever_was_stored_when_a_bucket_is_split_all_is_stored_once_and_in_order(
    made: list[Attempt], data: st.DataObject
) -> None:
    halves = split(data, Half(0, 1, []), made)
    quarters: list[Half] = []
    for half, attempts in halves:
        for quarter, parts in split(data, half, attempts):
            deliver(data, quarter, parts)
            quarters.append(quarter)
    assert [quarter.level for quarter in quarters] == [FINAL] * FINAL
    seen = [pair for quarter in quarters for pair in quarter.seen()]
    wanted = [(k, v) for batch, _ in made for k, v in zip(batch.keys(), batch.values(), strict=True)]
    assert sorted(seen) == sorted(wanted)
    for key in KEYS:
        assert [v for k, v in seen if k == key] == [v for k, v in wanted if k == key]
