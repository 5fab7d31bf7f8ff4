"""The file of addresses that a participant asks when it knows nobody: one on each line, # begins a remark.

It may be empty, or not there yet, and somebody writes into it as machines come and go; so it is read again and again.
"""

import logging
from pathlib import Path

from .address import PORT, parsed, written

log = logging.getLogger(__name__)


class Seeds:
    def __init__(self, path: Path) -> None:
        self._path = path
        self.addresses: tuple[str, ...] = ()
        self._problem = ""

    def look(self) -> bool:
        """Whether the addresses are others than before. A file that is gone, or cannot be read, changes nothing."""
        try:
            text = self._path.read_text()
        except FileNotFoundError:
            return False
        except (OSError, UnicodeDecodeError) as error:
            self._complain(f"{self._path} cannot be read: {error}")
            return False
        addresses, wrong = addresses_in(text)
        self._complain(f"{self._path}: {'; '.join(wrong)}" if wrong else "")
        changed = addresses != self.addresses
        self.addresses = addresses
        return changed

    def _complain(self, problem: str) -> None:
        """Once."""
        if problem and problem != self._problem:
            log.error("%s", problem)
        self._problem = problem


def addresses_in(text: str) -> tuple[tuple[str, ...], list[str]]:
    """Each of them once, and what is wrong with the lines that are none."""
    addresses: dict[str, None] = {}
    wrong: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        for word in line.partition("#")[0].split():
            try:
                addresses[written(parsed(word, PORT))] = None
            except ValueError as error:
                wrong.append(f"line {number}: {error}")
    return tuple(addresses), wrong
