"""The small things around a participant: addresses, the file of them, systemd, and how its log looks."""

import io
import json
import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from hansard.server.address import is_everywhere, is_loopback, parsed, written
from hansard.server.logs import Format, Human, Json, Repeated, begin
from hansard.server.notify import Notifier
from hansard.server.seeds import Seeds, addresses_in

# Addresses.


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("a.example:1", ("a.example", 1)),
        ("a.example", ("a.example", 7301)),
        (" 10.0.0.1:65535 ", ("10.0.0.1", 65535)),
        ("[::1]:7", ("::1", 7)),
        ("[::1]", ("::1", 7301)),
    ],
)
def test_address_is_read_and_written(text: str, address: tuple[str, int]) -> None:
    assert parsed(text, 7301) == address
    assert parsed(written(address)) == address


@pytest.mark.parametrize("text", ["", ":", ":1", "a:", "a:b", "a:-1", "a:65536", "a:\u0661", "::1:7", "a b c:1:2"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="is no address"):
        parsed(text)


def test_port_is_needed_where_none_is_usual() -> None:
    with pytest.raises(ValueError, match="HOST:PORT is one"):
        parsed("a.example")


def test_which_hosts_nobody_else_can_reach() -> None:
    assert [is_loopback(host) for host in ("localhost", "127.8.9.1", "::1")] == [True] * 3
    assert [is_loopback(host) for host in ("0.0.0.0", "10.0.0.1", "::", "localhost.example")] == [False] * 4
    assert [is_everywhere(host) for host in ("0.0.0.0", "::", "127.0.0.1", "a")] == [True, True, False, False]


# The file of addresses.


def test_file_of_addresses_may_come_later_and_change(tmp_path: Path) -> None:
    path = tmp_path / "seeds"
    seeds = Seeds(path)
    three = "# nobody yet\n\na.example   # the first\nb:2 c:3\na.example:7301\n"
    found: list[tuple[bool, tuple[str, ...]]] = []
    for content in (None, "", three, three, None, "d:4"):
        if content is not None:
            path.write_text(content)
        elif path.exists():
            path.unlink()
        found.append((seeds.look(), seeds.addresses))
    all_three = ("a.example:7301", "b:2", "c:3")
    assert found == [
        (False, ()),
        (False, ()),
        (True, all_three),
        (False, all_three),
        (False, all_three),
        (True, ("d:4",)),
    ]


def test_lines_that_are_no_addresses_are_told_and_the_others_count() -> None:
    addresses, wrong = addresses_in("a:1\nb:\n::1:2\nc\n")
    assert addresses == ("a:1", "c:7301")
    assert [each.partition(":")[0] for each in wrong] == ["line 2", "line 3"]


def test_what_is_wrong_with_the_file_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "seeds"
    seeds = Seeds(path)
    path.write_text("b:")
    seeds.look(), seeds.look()
    assert len(caplog.records) == 1
    path.write_bytes(b"\xff")
    assert not seeds.look()
    assert "cannot be read" in caplog.records[-1].message


# systemd.


class Systemd:
    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(path)
        self._socket.setblocking(False)

    def heard(self) -> list[str]:
        words = []
        try:
            while True:
                words.append(self._socket.recv(4096).decode())
        except BlockingIOError:
            return words

    def close(self) -> None:
        self._socket.close()


def test_systemd_is_told_what_it_wants_to_know(tmp_path: Path) -> None:
    systemd = Systemd(str(tmp_path / "notify"))
    notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "3000000"})
    assert notifier.watchdog_s == 3.0
    notifier.status("waiting")
    notifier.status("waiting")
    notifier.ready()
    notifier.alive()
    notifier.stopping()
    assert systemd.heard() == ["STATUS=waiting", "READY=1", "WATCHDOG=1", "STOPPING=1"]
    systemd.close()
    notifier.alive()  # nobody listens any more, and nothing goes wrong
    notifier.close()
    notifier.ready()


def test_systemd_may_have_an_abstract_socket() -> None:
    name = f"hansard-test-{os.getpid()}"
    systemd = Systemd(f"\0{name}")
    notifier = Notifier({"NOTIFY_SOCKET": f"@{name}"})
    notifier.ready()
    assert systemd.heard() == ["READY=1"]
    systemd.close()
    notifier.close()


def test_nothing_is_said_where_nobody_asked() -> None:
    notifier = Notifier({"WATCHDOG_USEC": "3000000"})
    notifier.ready()
    assert notifier.watchdog_s == 0.0


def test_watchdog_of_another_process_is_not_ours(tmp_path: Path) -> None:
    environment = {"NOTIFY_SOCKET": str(tmp_path / "n"), "WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"}
    notifier = Notifier(environment)
    assert notifier.watchdog_s == 0.0
    notifier.close()
    notifier = Notifier({**environment, "WATCHDOG_PID": str(os.getpid())})
    assert notifier.watchdog_s == 1.0
    notifier.close()


# The log.


def record(message: str, level: int = logging.INFO, name: str = "hansard", **fields: object) -> logging.LogRecord:
    return logging.makeLogRecord(
        {"msg": message, "levelno": level, "levelname": logging.getLevelName(level)} | fields | {"name": name}
    )


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    logger = logging.getLogger()
    kept, level = list(logger.handlers), logger.level
    yield logger
    logger.handlers[:] = kept
    logger.setLevel(level)


def test_json_has_a_line_for_each_record_with_its_fields(root: logging.Logger) -> None:
    stream = io.StringIO()
    begin("a", "info", Format.AUTO, stream)
    logging.getLogger("hansard").info(
        "%s came\nat last", "b", extra={"participant": "b", "bucket": 7, "path": Path("x")}
    )
    logging.getLogger("hansard").debug("not at this level")
    try:
        raise ValueError("boom")
    except ValueError:
        logging.getLogger("elsewhere").exception("it failed")
    first, second = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert first | {"time": ""} == {
        "time": "",
        "level": "info",
        "message": "b came\nat last",
        "node": "a",
        "participant": "b",
        "bucket": 7,
        "path": "x",
    }
    assert first["time"].endswith("Z") and "T" in first["time"]
    assert second["level"] == "error" and "ValueError: boom" in second["traceback"]


def test_lines_for_people_are_short() -> None:
    line = Human(colours=False).format(record("a leads", logging.WARNING, participant="a"))
    assert line.split(maxsplit=1)[1] == "warning a leads"
    assert "\x1b[33mwarning\x1b[0m" in Human(colours=True).format(record("x", logging.WARNING))
    assert "\x1b" not in Human(colours=True).format(record("x"))


def test_terminal_gets_lines_for_people_and_everything_else_json(root: logging.Logger) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, format, human in [
        (Terminal(), Format.AUTO, True),
        (io.StringIO(), Format.AUTO, False),
        (io.StringIO(), Format.HUMAN, True),
        (Terminal(), Format.JSON, False),
    ]:
        begin("a", "info", format, stream)
        logging.getLogger("hansard").info("said")
        assert stream.getvalue().startswith("{") is not human


def test_what_is_not_utf8_does_not_end_the_log() -> None:
    line = Json("a").format(record("odd \udcff name", participant="\udcff"))
    assert json.loads(line)["node"] == "a"


def test_complaint_about_a_connection_is_made_once_a_minute() -> None:
    repeated, link = Repeated(), "hansard.server.link"
    at = [(0.0, 1), (1.0, 2), (59.0, 3), (61.0, 4)]
    passed = [
        repeated.filter(record(f"cannot speak with 10.0.0.1:{port}: no", logging.WARNING, link, created=seconds))
        for seconds, port in at
    ]
    assert passed == [True, False, False, True]
    assert repeated.filter(record("cannot speak with 10.0.0.2:1: no", logging.WARNING, link, created=61.0))
    assert all(repeated.filter(record("told", logging.WARNING, created=61.0)) for _ in range(2))


def test_what_is_kept_of_complaints_is_bounded() -> None:
    repeated = Repeated()
    for number in range(5_000):
        assert repeated.filter(record(f"{number} no", logging.WARNING, "hansard.server.port", created=0.0))
    assert len(repeated._said_s) <= 1_000
