"""What `hansard start` is told: on its command line, in its environment, in a file; what is said first in this list
counts. All of it is looked at before anything is done, so that all mistakes are told together.
"""

import tomllib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, NamedTuple

from .address import PORT

DEFAULT: Final = "default"
NUMBER_LENGTH_MAX: Final = 20
LIKENESS: Final = 0.8
"""From which on a name is taken for a slip of the pen. What else begins like our variables may be anybody's: an
orchestrator names some after every service."""


class Wrong(Exception):
    """A value that cannot be, and what could."""


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Wrong(f"must be a text, not {value!r}")
    return value


def _number(value: Any) -> int:
    if isinstance(value, str) and value.strip().removeprefix("-").isdecimal() and len(value) <= NUMBER_LENGTH_MAX:
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Wrong(f"must be a whole number, not {value!r}")
    return value


def _flag(value: Any) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if isinstance(value, str) and value.strip().lower() in words:
        return words[value.strip().lower()]
    if not isinstance(value, bool):
        raise Wrong(f"must be true or false, not {value!r}")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(value.replace(",", " ").split())
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise Wrong(f"must be a list of texts, not {value!r}")
    return tuple(word for each in value for word in _texts(each))


def _path(value: Any) -> Path:
    if isinstance(value, Path):
        return value
    if not _text(value):
        raise Wrong("must be a path, and not empty")
    return Path(value)


class Setting(NamedTuple):
    kind: Callable[[Any], Any]
    default: Any = None


SETTINGS: Final[Mapping[str, Setting]] = {
    "directory": Setting(_path),
    "name": Setting(_text),
    "listen": Setting(_text, f"127.0.0.1:{PORT}"),
    "advertise": Setting(_text),
    "http": Setting(_text),
    "zone": Setting(_text, ""),
    "found": Setting(_flag, False),
    "buckets": Setting(_number, 8),
    "replication": Setting(_number, 3),
    "shape": Setting(_text, "star"),
    "participants": Setting(_number, 1),
    "open": Setting(_flag, False),
    "importing": Setting(_text, ""),
    "join": Setting(_texts, ()),
    "join_file": Setting(_path),
    "tls_cert": Setting(_path),
    "tls_key": Setting(_path),
    "tls_ca": Setting(_path),
    "tls_clients": Setting(_text, "optional"),
    "insecure": Setting(_flag, False),
    "log_level": Setting(_text, "info"),
    "log_format": Setting(_text, "auto"),
}
"""In the file they are called so; on the command line --join-file, in the environment HANSARD_JOIN_FILE."""


OF_CLIENTS: Final = ("addresses", "profile", "profiles", "token")
"""Variables of the commands that speak to a cluster (cli/reach.py); of no concern here, and no slips of the pen."""


def flag(name: str) -> str:
    return f"--{name.replace('_', '-')}" if name != "directory" else "DIR"


def variable(name: str) -> str:
    return f"HANSARD_{name.upper()}"


class Chosen:
    """What counts of each setting, and where it comes from. What is wrong is gathered, and has its default."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {name: setting.default for name, setting in SETTINGS.items()}
        self.sources: dict[str, str] = dict.fromkeys(SETTINGS, DEFAULT)
        self.errors: list[str] = []

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def given(self, name: str) -> bool:
        return self.sources[name] != DEFAULT

    def choose(self, name: str, value: Any, source: str) -> None:
        """It counts over what was chosen before."""
        try:
            self.values[name] = SETTINGS[name].kind(value)
        except Wrong as error:
            self.errors.append(f"{name} ({source}): {error}")
        self.sources[name] = source

    def blame(self, name: str, problem: str) -> None:
        self.errors.append(f"{name} ({self.sources[name]}): {problem}")


def gathered(flags: Mapping[str, Any], environment: Mapping[str, str], file: Path | None) -> Chosen:
    """`flags` that were not given are None, or empty."""
    chosen = Chosen()
    if file is not None:
        _take_file(chosen, file)
    for name in SETTINGS:
        if environment.get(variable(name)):
            chosen.choose(name, environment[variable(name)], variable(name))
        if flags.get(name) not in (None, [], ()):
            chosen.choose(name, flags[name], flag(name))
    chosen.errors += _misspelt(environment)
    return chosen


def _misspelt(environment: Mapping[str, str]) -> list[str]:
    known = [variable(name) for name in [*SETTINGS, "config", *OF_CLIENTS]]
    names = sorted(name for name in environment if name.startswith(variable("")) and name not in known)
    close = {name: get_close_matches(name, known, 1, LIKENESS) for name in names}
    return [f"{name}: there is no such setting: did you mean {found[0]}?" for name, found in close.items() if found]


def _take_file(chosen: Chosen, file: Path) -> None:
    try:
        found = tomllib.loads(file.read_text())
    except (OSError, UnicodeDecodeError) as error:
        chosen.errors.append(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}")
        return
    except tomllib.TOMLDecodeError as error:
        chosen.errors.append(f"{file} is no TOML: {error}")
        return
    for name, value in found.items():
        if name not in SETTINGS:
            close = get_close_matches(name, SETTINGS, 1)
            known = f"did you mean {close[0]}?" if close else f"there are {', '.join(SETTINGS)}"
            chosen.errors.append(f"{file}: there is no setting {name}: {known}")
            continue
        chosen.choose(name, value, str(file))
        if isinstance(chosen[name], Path):  # in a file paths are meant from where the file is
            chosen.values[name] = file.parent / chosen[name]
