from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from hansard.phaser.government import NO_TERM
from hansard.phaser.lineage import RUNS_MAX, Lineage, Run, common_end


@dataclass
class Log:
    """A lineage beside the entries that it stands for: (term, number, offset after it)."""

    lineage: Lineage = field(default_factory=Lineage)
    entries: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.entries[-1][2] if self.entries else 0

    def append(self, entry: tuple[int, int, int]) -> None:
        self.lineage.append(entry[0], entry[2])
        self.entries.append(entry)

    def cut(self, end: int) -> None:
        self.lineage.cut(end)
        self.entries = [entry for entry in self.entries if entry[2] <= end]

    def alike(self, other: "Log") -> int:
        """How far the entries themselves are the same."""
        end = 0
        for mine, theirs in zip(self.entries, other.entries, strict=False):
            if mine != theirs:
                break
            end = mine[2]
        return end


def lead(logs: list[Log], data: st.DataObject, term: int, numbers: list[int]) -> None:
    """One term: some follow, unroll what the leader never had, and get some of what it has and writes."""
    leader = logs[data.draw(st.integers(0, len(logs) - 1))]
    followers = [log for log in logs if log is not leader and data.draw(st.booleans())]
    for log in followers:
        log.cut(log.alike(leader))
    for _ in range(data.draw(st.integers(0, 3))):
        numbers.append(len(numbers))
        leader.append((term, numbers[-1], leader.end + data.draw(st.integers(1, 3))))
    for log in followers:
        lacking = leader.entries[len(log.entries) :]
        for entry in lacking[: data.draw(st.integers(0, len(lacking)))]:
            log.append(entry)


@given(st.data())
def test_common_end_is_the_longest_common_prefix_of_any_two_logs_of_one_history(data: st.DataObject) -> None:
    logs = [Log() for _ in range(3)]
    numbers: list[int] = []
    for term in range(1, data.draw(st.integers(1, 6)) + 1):
        lead(logs, data, term, numbers)
        for log in logs:
            assert log.lineage.end == log.end
            for other in logs:
                assert common_end(log.lineage, other.lineage) == log.alike(other)


@given(st.data())
def test_a_trimmed_log_still_matches_as_long_as_what_is_left_shows_it(data: st.DataObject) -> None:
    logs = [Log() for _ in range(2)]
    numbers: list[int] = []
    for term in range(1, data.draw(st.integers(1, 6)) + 1):
        lead(logs, data, term, numbers)
    alike = logs[0].alike(logs[1])
    starts = []
    for log in logs:
        starts.append(data.draw(st.sampled_from([0, *[entry[2] for entry in log.entries]])))
        log.lineage.trim(starts[-1])
    found = common_end(logs[0].lineage, logs[1].lineage)
    assert found == (alike if alike >= max(starts) else None)


def test_two_new_logs_are_alike_at_their_beginning() -> None:
    assert common_end(Lineage(), Lineage()) == 0
    assert common_end(Lineage(), Lineage(0, 5, [Run(1, 0)])) == 0


def test_a_log_that_begins_later_than_the_other_ends_has_nothing_in_common_with_it() -> None:
    assert common_end(Lineage(0, 5, [Run(1, 0)]), Lineage(8, 9, [Run(1, 0)])) is None


def test_a_log_that_begins_where_the_other_ends_follows_it() -> None:
    assert common_end(Lineage(0, 8, [Run(1, 0)]), Lineage(8, 9, [Run(1, 0)])) == 8


def test_begun_anew_it_matches_what_it_begins_after() -> None:
    lineage = Lineage(0, 9, [Run(1, 0), Run(2, 3)])
    lineage.reset(6, 1)
    assert (lineage.start, lineage.end, lineage.last_term) == (6, 6, 1)
    assert common_end(lineage, Lineage(0, 20, [Run(1, 0), Run(3, 10)])) == 6
    assert common_end(lineage, Lineage(0, 20, [Run(1, 0), Run(3, 5)])) is None


def test_begun_anew_at_zero_it_is_a_new_log() -> None:
    lineage = Lineage(0, 9, [Run(1, 0)])
    lineage.reset(0, 0)
    assert (lineage.runs, lineage.last_term) == ([], 0)


def test_runs_that_begin_at_or_after_the_end_are_void() -> None:
    """The note is written before the entry, and may be all that a crash leaves."""
    assert Lineage(0, 3, [Run(1, 0), Run(2, 3)]).runs == [Run(1, 0)]


def test_trimming_keeps_the_run_of_the_entry_before() -> None:
    lineage = Lineage(0, 9, [Run(1, 0), Run(2, 3), Run(3, 6)])
    lineage.trim(3)
    assert lineage.runs == [Run(1, 0), Run(2, 3), Run(3, 6)]
    assert lineage.term_before(3) == 1
    lineage.trim(6)
    assert lineage.runs == [Run(2, 3), Run(3, 6)]
    assert [lineage.term_before(offset) for offset in (6, 7, 9)] == [2, 3, 3]


def test_only_the_last_runs_are_remembered() -> None:
    lineage = Lineage()
    for number in range(RUNS_MAX + 10):
        lineage.append(number + 1, number + 1)
    assert len(lineage.runs) == RUNS_MAX
    assert lineage.runs[-1] == Run(RUNS_MAX + 10, RUNS_MAX + 9)


def test_a_log_whose_runs_nobody_remembers_begins_anew() -> None:
    remembered = [Run(number, number) for number in range(500, 600)]
    assert common_end(Lineage(0, 5, [Run(1, 0)]), Lineage(0, 600, remembered)) is None
    assert common_end(Lineage(), Lineage(0, 600, remembered)) is None


def test_begun_anew_after_an_entry_that_nobody_remembers_it_has_no_runs() -> None:
    lineage = Lineage()
    lineage.reset(5, NO_TERM)
    assert (lineage.start, lineage.end, lineage.runs) == (5, 5, [])
