"""`hansard recover`: what it says, what it refuses, and what it leaves."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import Result

from hansard.consensus.cluster import ClusterId, Peer
from hansard.consensus.content import Begin, Council, Entry, Proposal
from hansard.consensus.disk import recovered, translated
from hansard.consensus.effect import Note, Put
from hansard.consensus.home import BUCKET, Deed, enter, join
from hansard.consensus.recovered import STATE, NoteContent, Recovered, decode_note, decode_state, encode
from hansard.storage.disk import RealDisk
from tests.cli.conftest import Run
from tests.consensus.atomic import arrival

A, B, C = Peer("a", 1), Peer("b", 2), Peer("c", 3)
CLUSTER = ClusterId("7f3a")
LOG = (
    Entry(0, Council((A,))),
    Entry(1, Begin()),
    *[Entry(1, arrival(peer)) for peer in (A, B, C)],
    Entry(1, Council((A, B))),
    Entry(1, Council((A, B, C))),
    Entry(2, Begin()),
)
LONGER = (*LOG, Entry(2, Proposal(A, 1, 1, b"last")))
PATIENCE_S = 30


def made(path: Path, peer: Peer, entries: tuple[Entry, ...] = LOG, cluster: ClusterId = CLUSTER) -> Path:
    """A participant's directory."""
    with join(RealDisk(path), peer.node) as home:
        store = home.atomic()
        note = Note(encode(NoteContent(cluster, peer.life, 1, 2)))
        store.write([each for one in (note, Put(0, entries)) for each in translated(BUCKET, one)])
        store.close()
    return path


def there(path: Path) -> tuple[Deed, Recovered]:
    with enter(RealDisk(path)) as home:
        store = home.atomic()
        try:
            return home.deed, recovered(store, BUCKET)
        finally:
            store.close()


def files(path: Path) -> dict[str, bytes]:
    found = [each for each in sorted(path.rglob("*")) if each.is_file() and each.name != "lock"]
    return {each.relative_to(path).as_posix(): each.read_bytes() for each in found}


def flat(done: Result) -> str:
    """Without the line breaks."""
    return " ".join(done.output.split())


@pytest.fixture
def a(tmp_path: Path) -> Path:
    return made(tmp_path / "a", A)


@pytest.fixture
def b(tmp_path: Path) -> Path:
    return made(tmp_path / "b", B, LONGER)


def test_the_survivor_goes_on_as_the_next_incarnation(run: Run, a: Path) -> None:
    before = files(a / "atomic")
    done = run("recover", a, "--yes")
    assert done.exit_code == 0, done.output
    deed, found = there(a)
    assert deed == Deed("a", "atomic-2", founded=True)
    note, state = decode_note(found.note), decode_state(found.documents[STATE])
    assert note.cluster == ClusterId("7f3a", 2, note.life) and note.life not in (0, A.life)
    assert (state.end, state.voters) == (len(LOG), (Peer("a", note.life),))
    assert files(a / "atomic") == before, "the old log is kept"


def test_it_says_what_it_found_what_it_does_and_what_it_cannot_know(run: Run, a: Path) -> None:
    said = flat(run("recover", a, "--yes"))
    assert f"{a} (a): cluster 7f3a, incarnation 1, term 2, 8 entries, the last of term 2, voters a, b, c" in said
    assert "Of the voters a, b, c there are a; b, c are missing." in said
    assert f"as incarnation 2, from the copy in {a}: all of its 8 entries count" in said
    assert f"The old atomic log stays in {a / 'atomic'}" in said
    assert "entries from 8 on that only b, c had" in said
    assert "Whether entries 0 to 7 were ever committed" in said
    assert "On each other survivor run `hansard recover --rejoin DIR`, and start it with a's address" in said
    assert "Incarnation 1 is another cluster from now on: what its participants say is refused" in said
    assert "Done: a is incarnation 2 of cluster 7f3a" in said and said.endswith("Start it.")


def test_the_copy_that_has_come_furthest_is_taken_and_its_directory_left_alone(run: Run, a: Path, b: Path) -> None:
    before = files(b)
    done = run("recover", a, b, "--yes", "--force")
    assert done.exit_code == 0, done.output
    assert f"from the copy in {b}: all of its 9 entries" in flat(done)
    assert decode_state(there(a)[1].documents[STATE]).end == 9
    assert files(b) == before


def test_without_a_terminal_nothing_is_done_unless_told_to(run: Run, a: Path) -> None:
    before = files(a)
    for words in (["recover", a], ["recover", "--rejoin", a]):
        done = run(*words, stdin="y\n")
        assert done.exit_code == 1 and done.stderr.startswith("hansard: nothing was changed: there is no terminal")
        assert "What will be done" in done.stdout and files(a) == before


def test_where_a_majority_is_there_it_is_refused(run: Run, a: Path, b: Path) -> None:
    before = files(a)
    done = run("recover", a, b, "--yes")
    assert done.exit_code == 1 and "2 of 3 voters are here (a, b)" in done.stderr and "start them" in done.stderr
    assert files(a) == before


def test_a_second_time_there_is_nothing_to_recover(run: Run, a: Path) -> None:
    assert run("recover", a, "--yes").exit_code == 0
    done = run("recover", a, "--yes")
    assert done.exit_code == 1 and "1 of 1 voters are here (a)" in done.stderr
    assert there(a)[0].atomic == "atomic-2"


def test_while_a_participant_runs_it_is_refused(run: Run, a: Path, b: Path) -> None:
    for running, other in ((a, b), (b, a)):
        with enter(RealDisk(running)):
            done = run("recover", a, b, "--yes", "--force")
            assert done.exit_code == 1 and f"{running} is in use by process {os.getpid()}" in done.stderr
            if running == a:
                assert run("recover", "--rejoin", a, "--yes").exit_code == 1
        assert there(other)[0].atomic == "atomic"


@pytest.mark.parametrize("words", [["recover"], ["recover", "--rejoin"]])
def test_a_directory_of_nobody_is_refused_and_left_alone(run: Run, tmp_path: Path, words: list[str]) -> None:
    done = run(*words, tmp_path, "--yes")
    assert done.exit_code == 1 and "this is no participant's directory" in done.stderr
    assert run(*words, tmp_path / "missing", "--yes").exit_code == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["{a}", "{a}"], ["{a}", "{b}/../b", "{b}"], ["--rejoin", "{a}", "{b}"]])
def test_a_wrong_command_line_changes_nothing(run: Run, a: Path, b: Path, words: list[str]) -> None:
    done = run("recover", "--yes", "--force", *[word.format(a=a, b=b) for word in words])
    assert done.exit_code == 2 and done.stderr.count("\n") == 1
    assert there(a)[0].atomic == "atomic"


def damage(path: Path) -> None:
    journal = path / "atomic" / "journal" / "00.journal"
    content = bytearray(journal.read_bytes())
    content[150] ^= 1
    journal.write_bytes(content)


def test_a_damaged_copy_is_named(run: Run, a: Path, b: Path) -> None:
    damage(a)
    done = run("recover", a, b, "--yes")
    assert done.exit_code == 1 and f"{a}: this copy of the atomic log cannot be trusted" in done.stderr
    assert "give another survivor's directory first" in done.stderr
    done = run("recover", b, a, "--yes")
    assert done.exit_code == 1 and "leave it out" in done.stderr
    assert run("recover", b, "--yes").exit_code == 0


# Joining anew.


def test_another_survivor_forgets_and_joins(run: Run, b: Path) -> None:
    before = files(b / "atomic")
    done = run("recover", "--rejoin", b, "--yes")
    assert done.exit_code == 0, done.output
    said = flat(done)
    assert "b forgets what it knew" in said and f"The old atomic log stays in {b / 'atomic'}" in said
    assert "Where most voters forget, their cluster is lost" in said
    deed, found = there(b)
    assert deed == Deed("b", "atomic-2", founded=False) and found == Recovered(entries=())
    assert files(b / "atomic") == before
    join(RealDisk(b), "b").close()


def test_a_damaged_copy_can_be_put_aside(run: Run, a: Path) -> None:
    damage(a)
    done = run("recover", "--rejoin", a, "--yes")
    assert done.exit_code == 0 and "cannot be trusted" in flat(done)
    assert there(a)[1] == Recovered(entries=())


def test_a_lost_atomic_log_can_be_replaced(run: Run, a: Path) -> None:
    (a / "atomic").rename(a.parent / "gone")
    assert run("recover", "--rejoin", a, "--yes").exit_code == 0
    assert there(a)[1] == Recovered(entries=())


def test_the_only_voter_is_not_put_aside(run: Run, a: Path) -> None:
    assert run("recover", a, "--yes").exit_code == 0
    done = run("recover", "--rejoin", a, "--yes")
    assert done.exit_code == 1 and "a is the only voter of its cluster" in done.stderr
    assert there(a)[0].atomic == "atomic-2"
    assert run("recover", "--rejoin", a, "--yes", "--force").exit_code == 0
    assert there(a)[0] == Deed("a", "atomic-3", founded=False)


# On a terminal.


def on_terminal(answer: str | int, *words: str | Path) -> tuple[int, str]:
    """Answered as soon as it asks, with a line or with a signal; a signal again until it is noticed, as a person would:
    one that comes just before the process waits for a line has no effect before there is one."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "hansard", *map(str, words)]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    seen, answered, deadline = b"", False, time.monotonic() + PATIENCE_S
    try:
        while time.monotonic() < deadline:
            asks = seen.rstrip().endswith(b"[y/N]:")
            if asks and isinstance(answer, str) and not answered:
                os.write(ours, answer.encode())
                answered = True
            elif asks and not isinstance(answer, str):
                process.send_signal(answer)
            if not select.select([ours], [], [], 0.5)[0]:
                continue
            try:
                seen += os.read(ours, 1 << 16)
            except OSError:  # how Linux says that the other end is closed
                break
        return process.wait(PATIENCE_S), seen.decode()
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_it_asks_and_does_nothing_without_a_yes(a: Path) -> None:
    before = files(a)
    for answer in ("n\n", "\n", signal.SIGINT):
        code, seen = on_terminal(answer, "recover", a)
        assert code != 0 and "Make the new cluster?" in seen and "Traceback" not in seen
        assert files(a) == before, answer
    code, seen = on_terminal("n\n", "recover", "--rejoin", a)
    assert code == 1 and "Put it aside?" in seen and "hansard: nothing was changed" in seen
    assert files(a) == before


def test_with_a_yes_it_goes_on(a: Path) -> None:
    code, seen = on_terminal("y\n", "recover", a)
    assert code == 0 and "Done: a is incarnation 2" in seen
    assert there(a)[0].atomic == "atomic-2"
