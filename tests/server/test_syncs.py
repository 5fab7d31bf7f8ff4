"""Syncs that the kernel does by itself: begun, heard of, and refused where they cannot be."""

import errno
import os
import platform
import select
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hansard.server import syncs as module
from hansard.server.syncs import Syncs

from .office import PATIENCE_S, until

NO_SUCH_CALL = (9_999, 9_999, 9_999, 9_999)


@pytest.fixture
def syncs() -> Iterator[Syncs]:
    made = Syncs.made()
    if made is None:
        pytest.skip(f"the kernel of this {platform.machine()} does not sync by itself, or is not allowed to")
    yield made
    made.close()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT, 0o600)
    yield descriptor
    os.close(descriptor)


def is_readable(descriptor: int, wait_s: float = 0.0) -> bool:
    return bool(select.select([descriptor], [], [], wait_s)[0])


# What is begun is done.


def test_what_is_begun_gets_done_and_the_descriptor_says_so(syncs: Syncs, file: int) -> None:
    assert not syncs.done() and not is_readable(syncs.descriptor)
    for turn in range(20):
        os.pwrite(file, b"%d" % turn * 5_000, 0)
        syncs.begin(file)
        assert is_readable(syncs.descriptor, PATIENCE_S)
        assert syncs.done()
        assert not is_readable(syncs.descriptor), "it is said once"
        assert not syncs.done(), "and counts once"


def test_whoever_asks_without_being_told_hears_it_too(syncs: Syncs, file: int) -> None:
    for turn in range(20):
        os.pwrite(file, b"%d" % turn, 0)
        syncs.begin(file)
        until(syncs.done)
    assert not syncs.done()


def test_it_can_be_waited_for(syncs: Syncs, file: int) -> None:
    for turn in range(20):
        os.pwrite(file, b"%d" % turn * 5_000, 0)
        syncs.begin(file)
        assert syncs.done(wait=True)


def test_what_is_done_counts_even_if_the_descriptor_does_not_say_so_yet(syncs: Syncs, file: int) -> None:
    """The kernel has it on its list before it says so. Whoever looks in between must not take it for a failure."""
    os.pwrite(file, b"something", 0)
    syncs.begin(file)
    assert is_readable(syncs.descriptor, PATIENCE_S)
    os.eventfd_read(syncs.descriptor)
    assert syncs.done()


def test_what_the_descriptor_says_late_is_not_said_for_ever(syncs: Syncs, file: int) -> None:
    """Otherwise a loop would be called for it again and again."""
    os.eventfd_write(syncs.descriptor, 1)
    assert not syncs.done()
    assert not is_readable(syncs.descriptor)
    syncs.begin(file)
    assert is_readable(syncs.descriptor, PATIENCE_S) and syncs.done()


def test_a_file_may_be_closed_while_it_is_synced(syncs: Syncs, tmp_path: Path) -> None:
    with (tmp_path / "other").open("wb", buffering=0) as other:
        other.write(bytes(1 << 20))
        syncs.begin(other.fileno())
    assert syncs.done(wait=True)


def test_there_may_be_several_of_them(syncs: Syncs, file: int) -> None:
    other = Syncs.made()
    assert other is not None
    syncs.begin(file)
    assert not other.done()
    assert syncs.done(wait=True)
    other.begin(file)
    assert other.done(wait=True) and not syncs.done()
    other.close()


# What cannot be.


def test_a_file_that_is_not_open_cannot_be_synced(syncs: Syncs, file: int) -> None:
    gone = os.dup(file)
    os.close(gone)
    with pytest.raises(OSError, match="descriptor") as caught:
        syncs.begin(gone)
    assert caught.value.errno == errno.EBADF
    assert not syncs.done() and not is_readable(syncs.descriptor)
    syncs.begin(file)
    assert syncs.done(wait=True), "the next one is not the worse for it"


def test_what_is_no_file_cannot_be_synced(syncs: Syncs, file: int) -> None:
    """Whether that is said at once or when it is done."""
    ends = os.pipe()
    try:
        with pytest.raises(OSError, match="argument") as caught:
            begin_and_wait(syncs, ends[1])
        assert caught.value.errno == errno.EINVAL
    finally:
        for end in ends:
            os.close(end)
    begin_and_wait(syncs, file)


def begin_and_wait(syncs: Syncs, file: int) -> None:
    syncs.begin(file)
    assert syncs.done(wait=True)


class Broken:
    """How a kernel says that a sync has failed, which one on a sound disk never does."""

    def unpack(self, _: object) -> tuple[int, int, int, int]:
        return 0, 0, -errno.EIO, 0


def test_a_sync_that_has_failed_is_not_done(syncs: Syncs, file: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(module, "EVENT", Broken())
        with pytest.raises(OSError, match="Input/output") as caught:
            begin_and_wait(syncs, file)
    assert caught.value.errno == errno.EIO
    begin_and_wait(syncs, file)


# The end, and machines that have none.


def test_closing_twice_is_harmless(file: int) -> None:
    made = Syncs.made()
    if made is None:
        pytest.skip("the kernel does not sync by itself")
    made.close()
    taken = os.dup(file)  # the number that is free now
    made.close()
    os.fstat(taken)
    os.close(taken)


def test_closing_waits_for_what_is_under_way() -> None:
    made = Syncs.made()
    if made is None:
        pytest.skip("the kernel does not sync by itself")
    with tempfile.TemporaryFile() as file:
        file.write(bytes(1 << 20))
        file.flush()
        made.begin(file.fileno())
        made.close()


def test_a_machine_that_nobody_knows_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(module.NUMBERS, platform.machine(), raising=False)
    assert Syncs.made() is None


def test_another_system_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert Syncs.made() is None


def test_where_the_kernel_does_not_want_to_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(module.NUMBERS, platform.machine(), NO_SUCH_CALL)
    with pytest.raises(OSError, match="not implemented"):
        Syncs(NO_SUCH_CALL)
    assert Syncs.made() is None
