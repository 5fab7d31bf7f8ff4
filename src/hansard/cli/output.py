"""How changes, receipts and times look on the screen and in JSON."""

import base64
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from hansard.batch import Change
    from hansard.client.page import Change as MergedChange

KEY_WIDTH_MAX = 40
TAGS_WIDTH_MAX = 30
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def json_line(value: object) -> str:
    return msgspec.json.encode(value).decode()


def json_text(data: bytes | None) -> object:
    """Bytes in JSON: a string where they are UTF-8."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def json_change(change: "Change") -> dict[str, Any]:
    return {
        "offset": change.offset,
        "time": time_text(change.timestamp),
        "key": json_text(change.key),
        "value": json_text(change.value),
        "tags": change.tags,
    }


def time_text(time: int | datetime) -> str:
    """RFC 3339, to the microsecond."""
    if not isinstance(time, datetime):
        time = _EPOCH + timedelta(microseconds=time)
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def shown(data: bytes) -> str:
    """Bytes as text that cannot do anything to a terminal."""
    text = data.decode(errors="backslashreplace")
    return text if text.isprintable() else "".join(map(_shown_letter, text))


def _shown_letter(letter: str) -> str:
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode()


def size_text(byte_count: int) -> str:
    size, unit = float(byte_count), "bytes"
    for larger in ("KB", "MB", "GB", "TB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{byte_count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"


def terminal_width() -> int | None:
    """None where nobody looks: in a pipe or a file nothing is cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def cut(line: str, width: int | None) -> str:
    return line if width is None or len(line) <= width else line[: width - 1] + "…"


def change_lines(changes: "Sequence[Change | MergedChange]", width: int | None, indent: str = "") -> Iterator[str]:
    """A line for each change, with its columns under those of the others."""
    rows = [
        (
            str(change.offset),
            time_text(change.timestamp),
            "-" if change.key is None else shown(change.key),
            shown(",".join(change.tags).encode()) or "-",
            "(deleted)" if change.value is None else shown(change.value),
        )
        for change in changes
    ]
    if not rows:
        return
    offset_width = max(len(row[0]) for row in rows)
    key_width = min(max(len(row[2]) for row in rows), KEY_WIDTH_MAX)
    tags_width = min(max(len(row[3]) for row in rows), TAGS_WIDTH_MAX)
    for offset, time, key, tags, value in rows:
        line = f"{indent}{offset:>{offset_width}}  {time}  {key:{key_width}}  {tags:{tags_width}}  {value}"
        yield cut(line.rstrip(), width)


def write_lines(lines: Iterable[str]) -> None:
    """All at once: a call for each line would take longer than making it."""
    text = "".join(f"{line}\n" for line in lines)
    if text:
        sys.stdout.write(text)
        sys.stdout.flush()
