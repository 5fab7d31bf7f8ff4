"""How a command finds its cluster: which addresses, which token, which authority.

What is said first in this list counts: --at on the command line; a profile, by --profile or HANSARD_PROFILE; the
environment, HANSARD_ADDRESSES and HANSARD_TOKEN; the default profile; the usual port on this machine.

Profiles are in ~/.config/hansard/profiles.toml, or in the file that HANSARD_PROFILES names:

    default = "home"

    [home]
    addresses = ["127.0.0.1:7301", "127.0.0.1:7302"]   # or URLs of the HTTP API, for those who submit and read

    [work]
    addresses = ["a.example:7301", "b.example:7301"]
    ca = "/etc/hansard/ca.pem"
    token = "hsd_..."
"""

import os
import ssl
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from .failure import fail

if TYPE_CHECKING:
    from hansard.client import Client
    from hansard.client.operator import Operator

PORT: Final = 7301
FIELDS: Final = ("addresses", "token", "ca")
USAGE: Final = 2

At = Annotated[
    list[str] | None,
    typer.Option("--at", metavar="HOST:PORT", help="A participant; may be repeated.", show_default=False),
]
Profile = Annotated[
    str | None, typer.Option(metavar="NAME", help="Addresses and token of this profile.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.", show_default=False)]


class Reach(NamedTuple):
    addresses: tuple[str, ...]
    token: str = ""
    ca: str = ""
    """The file of the authority whose certificates are trusted; without one there is no TLS."""

    @property
    def tls(self) -> ssl.SSLContext | None:
        return ssl.create_default_context(cafile=self.ca) if self.ca else None

    def client(self, timeout_s: float = 10.0) -> "Client":
        from hansard.client import Client  # noqa: PLC0415

        return Client.connect(self.addresses, timeout_s=timeout_s, token=self.token, tls=self.tls)

    def operator(self, timeout_s: float = 10.0) -> "Operator":
        from hansard.client.operator import Operator  # noqa: PLC0415

        if any("://" in address for address in self.addresses):
            reason = "this is asked over the binary protocol, at HOST:PORT; submit, read, tail and bench take URLs, too"
            raise fail(reason, USAGE)
        return Operator(self.addresses, timeout_s=timeout_s, token=self.token, tls=self.tls)


def reach(at: list[str] | None, profile: str | None, environment: Mapping[str, str] = os.environ) -> Reach:
    """Ends the command, with exit code 2, where what it is told makes no sense."""
    wanted = profile or environment.get("HANSARD_PROFILE", "")
    file = _file(environment)
    given = ",".join(at or []) or ("" if wanted else environment.get("HANSARD_ADDRESSES", ""))
    found: Mapping[str, Any] = {}
    if wanted or (not given and file.exists()):
        found = _profile(file, wanted)
    addresses = given.replace(",", " ").split() or found.get("addresses") or [f"127.0.0.1:{PORT}"]
    token = found.get("token", "") if wanted else environment.get("HANSARD_TOKEN", "") or found.get("token", "")
    return Reach(tuple(_address(text) for text in addresses), token, str(found.get("ca", "")))


def _file(environment: Mapping[str, str]) -> Path:
    if environment.get("HANSARD_PROFILES"):
        return Path(environment["HANSARD_PROFILES"])
    home = environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME", ".")) / ".config"
    return Path(home) / "hansard" / "profiles.toml"


def _profile(file: Path, name: str) -> Mapping[str, Any]:
    try:
        profiles = tomllib.loads(file.read_text())
    except OSError as error:
        raise fail(f"profile {name}: {file} cannot be read ({error.strerror})", USAGE) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise fail(f"{file} is no TOML: {error}", USAGE) from error
    name = name or profiles.get("default", "")
    if not name:
        return {}
    found = profiles.get(name)
    if not isinstance(found, dict):
        there = [each for each, value in profiles.items() if isinstance(value, dict)]
        raise fail(f"there is no profile {name} in {file}: {_meant(name, there)}", USAGE)
    for field in found:
        if field not in FIELDS:
            raise fail(f"{file}: profile {name} has no {field}: {_meant(field, FIELDS)}", USAGE)
    wrong = [field for field in ("token", "ca") if not isinstance(found.get(field, ""), str)]
    addresses = found.get("addresses")
    if wrong or not isinstance(addresses, list) or not all(isinstance(each, str) for each in addresses):
        raise fail(f"{file}: profile {name} needs addresses, a list of texts; token and ca are texts", USAGE)
    return found


def _meant(name: str, known: Any) -> str:
    close = get_close_matches(name, list(known), 1)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(known) or 'none'}"


def _address(text: str) -> str:
    """With the usual port, where none is given. A URL is one of the HTTP API."""
    if "://" in text:
        from hansard.client.web.address import origin_of  # noqa: PLC0415

        try:
            return str(origin_of(text))
        except ValueError as error:
            raise fail(str(error), USAGE) from error
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        return f"{text}:{PORT}"
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 65_535:
        raise fail(f"{text!r} is no address: HOST:PORT is one, [::1]:PORT for IPv6", USAGE)
    return text
