"""Where the HTTP API is: an origin for each address, and the proxy on the way there if the environment names one."""

import base64
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

SCHEMES: Final = {"http": 80, "https": 443}


class Origin(NamedTuple):
    is_secure: bool
    host: str
    port: int
    prefix: str = ""
    """Of all paths, where somebody has put it under one."""

    @property
    def authority(self) -> str:
        """As the Host header has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = self.port == SCHEMES["https" if self.is_secure else "http"]
        return host if usual else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"http{'s' if self.is_secure else ''}://{self.authority}{self.prefix}"


class Proxy(NamedTuple):
    """Of the environment (`http_proxy`, `https_proxy`, `no_proxy`), as other programs take it."""

    host: str
    port: int
    authorization: str = ""


def is_web(addresses: Sequence[str]) -> bool:
    """Whether they are addresses of the HTTP API; a ValueError where some are and some are not."""
    if isinstance(addresses, str):
        return False  # a list is wanted; who looks at each of them says so
    web = ["://" in address for address in addresses]
    if any(web) and not all(web):
        raise ValueError(f"addresses are all of HTTP (http://host:port) or all of none: {', '.join(addresses)}")
    return any(web)


def origin_of(address: str) -> Origin:
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"{address!r} is no address: {error}") from error
    if parts.scheme not in SCHEMES or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError(f"an address of the HTTP API is http://host:port or https://host:port, not {address!r}")
    return Origin(parts.scheme == "https", parts.hostname, port or SCHEMES[parts.scheme], parts.path.rstrip("/"))


def proxy_of(origin: Origin) -> Proxy | None:
    """None where it is reached directly; what is on this machine always is."""
    if _is_here(origin.host) or proxy_bypass(origin.host):
        return None
    given = getproxies().get("https" if origin.is_secure else "http")
    if not given:
        return None
    parts = urlsplit(given if "://" in given else f"http://{given}")
    if parts.scheme != "http" or not parts.hostname:
        raise ValueError(f"a proxy is reached by http://host:port, not {given!r}")
    return Proxy(parts.hostname, parts.port or SCHEMES["http"], _authorization(parts))


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _authorization(parts: SplitResult) -> str:
    if parts.username is None:
        return ""
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"
