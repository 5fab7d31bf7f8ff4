"""What a process asked of the operating system, as strace wrote it down: system calls, and when each began and ended.

Moments are lines of the trace. What one call made happen in another thread stands after it, because strace holds each
thread at the beginning and at the end of each call until it has written it down. Strings are all in hexadecimal (-xx),
so that nothing in them can look like syntax.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

import pytest

NEVER: Final = sys.maxsize
CALLS: Final = (
    "write",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "fsync",
    "fdatasync",
    "openat",
    "mkdir",
    "mkdirat",
    "rename",
    "renameat",
    "renameat2",
)
SHOWN_BYTES: Final = 64
"""Of each buffer: the head of a journal record is a buffer of its own, and this long."""

_LINE: Final = re.compile(r"(\d+) +(.*)")
_RESUMED: Final = re.compile(r"<\.\.\. \w+ resumed>(.*)")
_UNFINISHED: Final = " <unfinished ...>"
_CALL: Final = re.compile(r"(\w+)\((.*)\) += (-?\d+|\?)")
_DESCRIPTOR: Final = re.compile(r"(\d+)<([^>]*)>")
_STRING: Final = re.compile(r'"([^"]*)"')
_BUFFER: Final = re.compile(r'iov_base="([^"]*)"(?:\.\.\.)?, iov_len=(\d+)')


class Call(NamedTuple):
    began: int
    ended: int
    """NEVER if the process ended first."""
    name: str
    descriptor: int | None
    path: str
    """Of the descriptor; where there is none, the last path among the arguments."""
    arguments: str
    result: int
    """-1 for every failure."""

    @property
    def source(self) -> str:
        """What a rename gave another name to."""
        return _text(_STRING.findall(self.arguments)[0]).decode()

    @property
    def data(self) -> bytes:
        """What a write was given, from the first of it on: of each buffer the bytes that are shown, then zeros."""
        buffers = [(_text(shown), int(length)) for shown, length in _BUFFER.findall(self.arguments)]
        if not buffers:
            shown = _text(_STRING.findall(self.arguments)[0])
            buffers = [(shown, len(shown))]
        return b"".join(shown.ljust(length, b"\0") for shown, length in buffers)

    @property
    def position(self) -> int:
        """Where in its file it began to write."""
        last = self.arguments.rsplit(", ", 2)[1:]
        return int(last[0] if self.name == "pwritev2" else last[1])  # which has flags behind it


def parse(trace: str) -> list[Call]:
    """The calls in the order in which they ended."""
    calls: list[Call] = []
    begun: dict[str, tuple[int, str]] = {}
    for moment, line in enumerate(trace.splitlines()):
        found = _LINE.fullmatch(line)
        assert found, line
        thread, said = found.groups()
        if said.startswith(("+++", "---")):
            continue
        if said.endswith(_UNFINISHED):
            begun[thread] = (moment, said.removesuffix(_UNFINISHED))
            continue
        began = moment
        if resumed := _RESUMED.fullmatch(said):
            began, beginning = begun.pop(thread)
            said = beginning + resumed[1]
        calls.append(_call(began, moment, said))
    return calls + [_call(began, NEVER, f"{said}) = ?") for began, said in begun.values()]


def _call(began: int, ended: int, said: str) -> Call:
    found = _CALL.match(said)
    assert found, said
    name, arguments, result = found.groups()
    descriptor, path = None, ""
    if "write" in name or "sync" in name:
        named = _DESCRIPTOR.match(arguments)
        assert named, said
        descriptor, path = int(named[1]), _text(named[2]).decode()
    else:
        path = _text(_STRING.findall(arguments)[-1]).decode()
    return Call(began, ended, name, descriptor, path, arguments, -1 if result == "?" else int(result))


def _text(shown: str) -> bytes:
    return bytes.fromhex(shown.replace("\\x", ""))


def traced(command: list[str], written_to: Path, *, folder: Path) -> list[Call]:
    """The calls of a command that must succeed; skips the test where nothing can be traced."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    options = ["-f", "-y", "-xx", f"-s{SHOWN_BYTES}", "--seccomp-bpf", "-esignal=none"]
    options.append("-etrace=" + ",".join(f"?{name}" for name in CALLS))
    trial = subprocess.run([strace, *options, "-o/dev/null", "true"], capture_output=True, text=True, check=False)
    if trial.returncode != 0:
        pytest.skip(f"nothing can be traced here: {trial.stderr.strip()}")
    command = [strace, *options, f"-o{written_to}", *command]
    subprocess.run(command, cwd=folder, check=True, timeout=60, stdout=subprocess.PIPE)
    return parse(written_to.read_text())
