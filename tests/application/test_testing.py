"""The kit finds what it is for: each of these applications breaks one rule."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard.application import Entries
from hansard.application.testing import check, check_cuts, check_joins, check_splits
from hansard.batch import Batch, Change
from sim.counter import Counter

ROWS = [(b"k%d" % (number * number % 7), b"%d" % number) for number in range(20)]


def test_the_counter_keeps_to_the_rules() -> None:
    check(Counter, [*ROWS, (b"k1", None), (None, b"x"), (b"k2", b"nonsense", ("tag",))])


SOME = st.tuples(st.sampled_from([None, b"a", b"b", b"c", b"d"]), st.sampled_from([None, b"3", b"x"]))


@settings(max_examples=15, deadline=None)
@given(st.lists(SOME, min_size=1, max_size=8))
def test_the_counter_keeps_to_the_rules_on_any_log(rows: list[tuple[bytes | None, bytes | None]]) -> None:
    check(Counter, rows, buckets=2)


class ByBatch(Counter):
    """Its results depend on what happened to come together."""

    def apply_batch(self, batch: Batch) -> Sequence[bytes | None]:
        return [b"%d" % len(batch) for _ in super().apply_batch(batch)]


def test_results_that_depend_on_how_batches_are_cut_are_found() -> None:
    with pytest.raises(AssertionError, match="in batches of 1 the results"):
        check_cuts(ByBatch, ROWS)


class Batches(Counter):
    """It counts batches and not changes."""

    def apply_batch(self, batch: Batch) -> Sequence[bytes | None]:
        results = super().apply_batch(batch)
        self.seen += 1
        return results


def test_a_state_that_depends_on_how_batches_are_cut_is_found() -> None:
    with pytest.raises(AssertionError, match="in batches of 1 the state"):
        check_cuts(Batches, ROWS)


class Twofold(Counter):
    """One by one it does something else than all at once."""

    def apply(self, change: Change) -> bytes | None:
        return self.count(change.key, b"7")


def test_changes_one_by_one_that_are_not_what_they_are_together_are_found() -> None:
    with pytest.raises(AssertionError, match="one by one"):
        check_cuts(Twofold, ROWS)


_applied: list[bytes | None] = []


class Shared(Counter):
    """It has a part of its state outside of itself."""

    def count(self, key: bytes | None, value: bytes | None) -> bytes | None:
        _applied.append(key)
        super().count(key, value)
        return b"%d" % len(_applied)


def test_a_state_that_two_of_them_share_is_found() -> None:
    with pytest.raises(AssertionError, match="the same log twice"):
        check_cuts(Shared, ROWS)


class Forgetful(Counter):
    """It leaves something out of its image."""

    def image(self) -> Entries:
        return [(key, content) for key, content in super().image() if key is not None]


def test_what_is_not_in_the_image_is_missed() -> None:
    class Results(Forgetful):
        def count(self, key: bytes | None, value: bytes | None) -> bytes | None:
            super().count(key, value)
            return b"%d" % self.seen

    with pytest.raises(AssertionError, match="goes on after 1 changes gives"):
        check_joins(Results, ROWS)


class Adding(Counter):
    """It adds an image to what it has."""

    def join(self, version: int, image: Entries) -> None:
        seen, counts = self.seen, self.counts
        super().join(version, image)
        self.seen += seen
        self.counts = {**counts, **self.counts}


def test_what_is_left_of_before_is_found() -> None:
    with pytest.raises(AssertionError, match="one that was in use that becomes an image"):
        check_joins(Adding, ROWS)


class Keeping(Counter):
    def purge(self, belongs: Callable[[bytes], bool]) -> None:
        pass


def test_what_is_not_purged_is_found() -> None:
    with pytest.raises(AssertionError, match="keeps what it was to purge"):
        check_splits(Keeping, ROWS, buckets=2)


class Entangled(Counter):
    """What one key has depends on another's changes."""

    def count(self, key: bytes | None, value: bytes | None) -> bytes | None:
        result = super().count(key, value)
        if key is not None:
            self.counts[key] = self.seen
        return result


def test_keys_that_depend_on_each_other_are_found() -> None:
    with pytest.raises(AssertionError, match="its keys alone would give"):
        check_splits(Entangled, ROWS, buckets=2)


def test_an_empty_log_shows_nothing() -> None:
    with pytest.raises(AssertionError, match="shows nothing"):
        check(Counter, [])
