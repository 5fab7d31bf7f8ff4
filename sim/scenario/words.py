"""The words of a command: some plain ones, and then options, each a word and its value."""

import re
from dataclasses import dataclass

_UNITS_US = {"us": 1, "ms": 1_000, "s": 1_000_000}


class BadCommand(ValueError):
    """A line of a scenario that says nothing that can be done."""


def duration_us(text: str) -> int:
    found = re.fullmatch(r"(\d+)(us|ms|s)", text)
    if found is None:
        raise BadCommand(f"{text} is no duration: write 2s or 300ms")
    return int(found[1]) * _UNITS_US[found[2]]


@dataclass(slots=True)
class Words:
    plain: list[str]
    options: dict[str, str]

    def number(self, option: str, otherwise: int) -> int:
        return int(self.options.get(option, otherwise))

    def duration_us(self, option: str, otherwise: str) -> int:
        return duration_us(self.options.get(option, otherwise))


def words(text: str, *options: str) -> Words:
    plain: list[str] = []
    found: dict[str, str] = {}
    waiting = text.split()
    while waiting:
        word = waiting.pop(0)
        if word in options:
            if not waiting:
                raise BadCommand(f"{word} lacks its value")
            found[word] = waiting.pop(0)
        elif found:
            raise BadCommand(f"{word} is not understood; there are {', '.join(options)}")
        else:
            plain.append(word)
    return Words(plain, found)


def choice(text: str, *choices: str) -> str:
    if text not in choices:
        raise BadCommand(f"{text} is none of {', '.join(choices)}")
    return text
