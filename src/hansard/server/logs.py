"""How the log of the process looks: lines for people on a terminal, and elsewhere JSON, one object to a line."""

import json
import logging
import os
import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, TextIO

import msgspec

REPEATED_S: Final = 60.0
"""The same complaint about a connection is not made again for so long."""
KEPT_MAX: Final = 1_000

_ORDINARY: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_COLOURS: Final = {"DEBUG": "2", "WARNING": "33", "ERROR": "31", "CRITICAL": "31;1"}
_PORT: Final = re.compile(r":\d+\b")
_CONNECTIONS: Final = ("hansard.server.connection", "hansard.server.link", "hansard.server.port")


class Format(StrEnum):
    AUTO = "auto"
    HUMAN = "human"
    JSON = "json"


LEVELS: Final = ("debug", "info", "warning", "error")


def begin(node: str, level: str, format: Format, stream: TextIO) -> None:
    """Whatever is logged from here on, by whomever, goes to this stream."""
    handler = logging.StreamHandler(stream)
    human = format is Format.HUMAN or (format is Format.AUTO and stream.isatty())
    handler.setFormatter(Human(colours=_can_colour(stream)) if human else Json(node))
    handler.addFilter(Repeated())
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)


def _can_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def fields(record: logging.LogRecord) -> dict[str, Any]:
    """What is said beside the message, for programs."""
    return {name: value for name, value in record.__dict__.items() if name not in _ORDINARY}


class Human(logging.Formatter):
    def __init__(self, *, colours: bool) -> None:
        super().__init__()
        self._colours = colours

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).astimezone()
        level, message = f"{record.levelname.lower():7}", record.getMessage()
        colour = _COLOURS.get(record.levelname) if self._colours else None
        if colour is not None:
            level = f"\x1b[{colour}m{level}\x1b[0m"
        lines = [f"{time:%H:%M:%S}.{time.microsecond // 1000:03} {level} {message}"]
        if record.exc_info:
            lines.append(self.formatException(record.exc_info))
        return "\n".join(lines)


class Json(logging.Formatter):
    def __init__(self, node: str) -> None:
        super().__init__()
        self._node = node

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        said: dict[str, Any] = {
            "time": time.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            "node": self._node,
            **fields(record),
        }
        if record.exc_info:
            said["traceback"] = self.formatException(record.exc_info)
        try:
            return msgspec.json.encode(said, enc_hook=str).decode()
        except UnicodeEncodeError:  # of a path that is not UTF-8
            return json.dumps(said, default=str)


class Repeated(logging.Filter):
    """Whoever is refused comes again at once and for ever: that is said once a minute, not once a second. The port that
    a connection has on the other side is another one each time, and makes no difference."""

    def __init__(self) -> None:
        super().__init__()
        self._said_s: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING or record.name not in _CONNECTIONS:
            return True
        what = _PORT.sub("", record.getMessage())
        if record.created - self._said_s.get(what, float("-inf")) < REPEATED_S:
            return False
        if len(self._said_s) >= KEPT_MAX:
            self._said_s.clear()
        self._said_s[what] = record.created
        return True
