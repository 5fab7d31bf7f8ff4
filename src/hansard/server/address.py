"""Addresses as people write them: host:port, [::1]:port for IPv6; the port may be left out where one is usual."""

from ipaddress import ip_address
from typing import Final

Address = tuple[str, int]

PORT: Final = 7301
"""The usual one."""


def parsed(text: str, port: int | None = None) -> Address:
    """`port` is the one that is meant where none is written. Raises ValueError, with what is wrong."""
    text = text.strip()
    if port is not None and text and (":" not in text or text.endswith("]")):
        text = f"{text}:{port}"
    host, colon, number = text.rpartition(":")
    if not colon or not host or not (number.isascii() and number.isdigit()) or not 0 <= int(number) < 65_536:
        raise ValueError(f"{text!r} is no address: HOST:PORT is one, [::1]:PORT for IPv6")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise ValueError(f"{text!r} is no address: write [{host}]:{number}")
    return host.removeprefix("[").removesuffix("]"), int(number)


def written(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether nobody can reach it from another machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def is_everywhere(host: str) -> bool:
    """Whether it stands for all addresses of a machine, and so for none that others could reach."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False
