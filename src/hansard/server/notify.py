"""What systemd is told, where it has started us as a service of Type=notify: a few words over a datagram socket.

Nothing is said where nobody has asked, and nothing goes wrong where nobody listens.
"""

import os
import socket
from collections.abc import Mapping
from contextlib import suppress


class Notifier:
    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        path = environment.get("NOTIFY_SOCKET", "")
        self._address = f"\0{path[1:]}" if path.startswith("@") else path
        self._socket: socket.socket | None = None
        if self._address:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
        self.watchdog_s = _watchdog_s(environment) if self._address else 0.0
        """It wants to hear from us so often, or restarts us; 0 if it does not."""
        self._status = ""

    def ready(self) -> None:
        self._say("READY=1")

    def stopping(self) -> None:
        self._say("STOPPING=1")

    def alive(self) -> None:
        self._say("WATCHDOG=1")

    def status(self, text: str) -> None:
        """For people, in one line; said once."""
        if text != self._status:
            self._status = text
            self._say(f"STATUS={text}")

    def _say(self, word: str) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.sendto(word.encode(), self._address)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _watchdog_s(environment: Mapping[str, str]) -> float:
    interval, process = environment.get("WATCHDOG_USEC", ""), environment.get("WATCHDOG_PID", "")
    if not interval.isdigit() or process not in ("", str(os.getpid())):
        return 0.0
    return int(interval) / 1e6
