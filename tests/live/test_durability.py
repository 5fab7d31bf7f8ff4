"""The check of traces itself, on the ends of an append as strace would show them, right and wrong.

A step of a script is a call; with `<` behind it, it has only begun, and with `>` before it, it ends.
"""

from pathlib import Path

import pytest

from hansard.storage.record import Kind, Record, pack
from tests.live.durability import early_receipts
from tests.live.trace import Call, parse

LOG = Path("/log")
RECEIPT = b"0 1 seed/0/0 0\n"
HEAD, _ = pack(Record(Kind.BATCH, 0, before=0, after=1, position=24, length=0, crc=0), 1, 24, 0)


def shown(data: bytes | str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in (data.encode() if isinstance(data, str) else data))


SLOT, OTHER_SLOT, FOLDER = (shown(f"/log/{name}") for name in ("journal/00.journal", "journal/01.journal", "journal"))
STEPS = {
    "write": (f'pwritev2(3<{SLOT}>, [{{iov_base="{shown(HEAD)}", iov_len=64}}], 1, 24, 0', "= 64"),
    "sync": (f"fdatasync(3<{SLOT}>", "= 0"),
    "failed-sync": (f"fdatasync(3<{SLOT}>", "= -1 EIO (Input/output error)"),
    "other-sync": (f"fdatasync(4<{OTHER_SLOT}>", "= 0"),
    "create": (f'openat(AT_FDCWD<{shown("/")}>, "{SLOT}", O_RDWR|O_CREAT|O_CLOEXEC, 0666', f"= 3<{SLOT}>"),
    "folder-sync": (f"fsync(5<{FOLDER}>", "= 0"),
    "receipt": (f'write(1<{shown("pipe:[7]")}>, "{shown(RECEIPT)}", 15', "= 15"),
}


def line(step: str) -> str:
    name = step.strip("<>")
    beginning, result = STEPS[name]
    thread = 100 + list(STEPS).index(name)  # one for each, so that they can overlap
    if step.endswith("<"):
        return f"{thread} {beginning} <unfinished ...>"
    if step.startswith(">"):
        return f"{thread} <... {beginning.partition('(')[0]} resumed>) {result}"
    return f"{thread} {beginning}) {result}"


def calls(script: str) -> list[Call]:
    return parse("\n".join(line(step) for step in script.split()))


@pytest.mark.parametrize(
    "script",
    [
        "write sync receipt",
        "write sync< >sync receipt",
        "write< >write sync< >sync receipt< >receipt",
        "sync< write >sync sync receipt",
        "write failed-sync sync receipt",
        "create folder-sync write sync receipt",
        "create write sync folder-sync receipt",
    ],
)
def test_receipt_after_everything_is_synced_is_right(script: str) -> None:
    assert list(early_receipts(calls(script), LOG)) == []


@pytest.mark.parametrize(
    "script",
    [
        "receipt",
        "receipt write sync",
        "write receipt sync",
        "sync write receipt",
        "write sync< receipt >sync",
        "write sync< receipt< >sync >receipt",
        "write sync< receipt",
        "sync< write >sync receipt",
        "write< sync >write receipt",
        "write failed-sync receipt",
        "write other-sync receipt",
        "write sync write receipt",
        "create write sync receipt",
        "create write sync receipt folder-sync",
        "folder-sync create write sync receipt",
        "create folder-sync write receipt",
    ],
)
def test_receipt_before_a_sync_has_returned_is_caught(script: str) -> None:
    assert len(list(early_receipts(calls(script), LOG))) == 1
