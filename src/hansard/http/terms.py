"""What a submission's query and headers say: whether and how long it waits, and the stream that it belongs to."""

from typing import Final
from urllib.parse import parse_qsl

from .access import DIGITS_MAX, Guest
from .problem import Refusal
from .submitting import ANY, Stream

DEADLINE_S: Final = 10.0
DEADLINE_S_MAX: Final = 3600.0
SERIES_MAX: Final = (1 << 63) - 1
BUCKET_DIGITS_MAX: Final = 4


def waits(query: bytes) -> bool:
    """`wait=commit`, which is the default, or `wait=none`."""
    if not query:
        return True
    given = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    if len(given) > 1 or any(name != "wait" or value not in {"commit", "none"} for name, value in given):
        raise Refusal("bad-request", "there is `wait=commit` or `wait=none`, and nothing else", stored="no")
    return not given or given[0][1] == "commit"


def media_type_of(headers: dict[bytes, bytes]) -> str:
    return headers.get(b"content-type", b"").partition(b";")[0].strip().lower().decode("latin-1")


def deadline_s(headers: dict[bytes, bytes]) -> float:
    text = headers.get(b"hansard-deadline")
    if text is None:
        return DEADLINE_S
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found <= DEADLINE_S_MAX:
        detail = f"Hansard-Deadline is a number of seconds, above 0 and up to {DEADLINE_S_MAX:g}"
        raise Refusal("bad-request", detail, stored="no")
    return found


def stream_of(headers: dict[bytes, bytes], guest: Guest, count: int) -> Stream | None:
    connection, series = headers.get(b"hansard-connection"), headers.get(b"hansard-series")
    if connection is None and series is None and b"hansard-previous" not in headers:
        return None
    if connection is None or series is None:
        raise Refusal("bad-request", "Hansard-Connection and Hansard-Series go together", stored="no")
    first = _series(series)
    if first + count > SERIES_MAX:
        raise Refusal("bad-request", f"Hansard-Series leaves no room for {count} changes", stored="no")
    number = guest.connection_of(connection.decode("latin-1"))
    previous = _previous(headers.get(b"hansard-previous", b""), first)
    if guest.limited and previous.keys() - {ANY}:  # it is not told of buckets, and does not find out about them
        raise Refusal("bad-request", "Hansard-Previous is one series for a token that is limited to tags", stored="no")
    return Stream(number, first, previous)


def _series(text: bytes) -> int:
    if not text.isdigit() or len(text) > DIGITS_MAX or int(text) > SERIES_MAX:
        raise Refusal("bad-request", f"a series is a whole number from 0 to {SERIES_MAX}", stored="no")
    return int(text)


def _previous(text: bytes, first: int) -> dict[int, int]:
    """A number, or `BUCKET=NUMBER` for each of several buckets."""
    found: dict[int, int] = {}
    for part in text.split(b",") if text else ():
        bucket, equals, series = part.strip().rpartition(b"=")
        if equals and not (bucket.isdigit() and len(bucket) <= BUCKET_DIGITS_MAX):
            raise Refusal("bad-request", "Hansard-Previous is a series, or BUCKET=SERIES, ...", stored="no")
        found[int(bucket) if equals else ANY] = _series(series)
    if any(series >= first for series in found.values()):
        raise Refusal("bad-request", "Hansard-Previous is not below Hansard-Series", stored="no")
    return found
