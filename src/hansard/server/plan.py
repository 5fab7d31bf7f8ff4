"""What one participant is to be, made from its settings: everything is checked here, before anything is touched."""

import re
import socket
from pathlib import Path
from typing import Final

from msgspec import UNSET, Struct

from hansard.consensus import home as homes
from hansard.consensus.errors import ConsensusError, NotEmpty
from hansard.consensus.home import Deed
from hansard.distributor.command import Found
from hansard.distributor.settings import BUCKETS_MAX, Shape
from hansard.distributor.settings import Settings as Wanted
from hansard.participant.settings import Settings
from hansard.storage.disk import RealDisk
from hansard.storage.errors import DirectoryLocked, FormatMismatch, IdentityMismatch, StorageError
from hansard.storage.settings import StoreSettings

from .address import PORT, Address, is_everywhere, is_loopback, parsed, written
from .errors import BadCertificates
from .logs import LEVELS, Format
from .settings import Chosen, flag
from .tls import Files, loaded

NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
DEED: Final = homes.PATH


class Plan(Struct, frozen=True, kw_only=True):
    directory: Path
    node: str
    listen: Address
    advertise: str = ""
    """Where others reach it; where it listens, if this is empty."""
    http: Address | None = None
    """Where it speaks HTTP; nowhere, if this is None."""
    zone: str = ""
    found: Found | None = None
    """It founds a cluster, if its directory has none."""
    join: tuple[str, ...] = ()
    """Addresses of some who are there, or will be."""
    join_file: Path | None = None
    """Where more of them are, now or later."""
    tls: Files | None = None
    settings: Settings = Settings()
    storage: StoreSettings = StoreSettings()
    retention_s: float = 10.0
    """So often it is looked for what need not be kept."""

    @property
    def address(self) -> str:
        return self.advertise or written(self.listen)


class Planned(Struct, frozen=True, kw_only=True):
    """`plan` counts if there are no errors."""

    plan: Plan
    log_level: str
    log_format: Format
    goes_on: bool
    """The directory is a participant's already."""
    errors: tuple[str, ...]


def planned(chosen: Chosen) -> Planned:
    directory = chosen["directory"]
    if directory is None and not any("directory" in error for error in chosen.errors):
        chosen.errors.append("there is no directory: give DIR, where this participant keeps its data")
    deed = _deed(chosen, directory) if directory is not None else None
    goes_on = deed is not None and bool(deed.atomic)
    is_readable = not any(error.startswith("directory (") for error in chosen.errors)
    plan = Plan(
        directory=directory or Path(),
        node=_name(chosen, deed),
        listen=_listen(chosen),
        advertise=_advertise(chosen),
        http=_http(chosen),
        zone=chosen["zone"],
        found=_found(chosen),
        join=_join(chosen),
        join_file=chosen["join_file"],
    )
    _check_start(chosen, goes_on=goes_on or not is_readable)
    tls = _tls(chosen, plan.node)
    _check_loopback(chosen, plan)
    level, format = chosen["log_level"].lower(), chosen["log_format"].lower()
    if level not in LEVELS:
        chosen.blame("log_level", f"must be one of {', '.join(LEVELS)}, not {level!r}")
    if format not in list(Format):
        chosen.blame("log_format", f"must be one of {', '.join(Format)}, not {format!r}")
        format = Format.AUTO
    plan = Plan(**{field: getattr(plan, field) for field in Plan.__struct_fields__} | {"tls": tls})
    return Planned(plan=plan, log_level=level, log_format=Format(format), goes_on=goes_on, errors=tuple(chosen.errors))


def _deed(chosen: Chosen, directory: Path) -> Deed | None:
    """Whose directory it is; None if it is nobody's."""
    disk = RealDisk(directory)
    try:
        deed = homes.deed(disk)
        if deed is None and (others := homes.strange(disk)):
            raise NotEmpty(others)
    except (ConsensusError, StorageError) as error:
        chosen.blame("directory", remedied(directory, error))
    except NotADirectoryError:
        chosen.blame("directory", f"{directory} is no directory: give another one")
    except OSError as error:
        chosen.blame("directory", f"{directory} cannot be read ({error.strerror}): give it to this user")
    else:
        return deed
    return None


def remedied(directory: Path, error: ConsensusError | StorageError) -> str:
    """What is wrong with a directory, and what to do about it where the error does not say that itself."""
    match error:
        case DirectoryLocked():
            return f"{error}: stop that one first, or give this one a directory of its own"
        case FormatMismatch():
            return f"{directory}: {error}: start it with the release that wrote it, or give another directory"
        case IdentityMismatch():
            return f"{directory}: {error}; its parts are not all of one participant: put back what was there"
        case _:
            return f"{directory}: {error}"


def _name(chosen: Chosen, deed: Deed | None) -> str:
    if not chosen.given("name"):
        found = deed.node if deed is not None else socket.gethostname().partition(".")[0]
        chosen.choose("name", found, DEED if deed is not None else "this machine's name")
    name: str = chosen["name"]
    if NAME.fullmatch(name) is None or name == "localhost":
        chosen.blame("name", f"{name!r} is no name: letters, digits, and . _ - between them, up to 63")
    elif deed is not None and deed.node != name:
        other = f"start it as {deed.node}, or give {name} a directory of its own"
        chosen.blame("name", f"the directory is {deed.node}'s, not {name}'s: {other}")
    return name


# Addresses.


def _listen(chosen: Chosen) -> Address:
    try:
        host, port = parsed(chosen["listen"], PORT)
    except ValueError as error:
        chosen.blame("listen", str(error))
        return "127.0.0.1", PORT
    if port == 0:
        chosen.blame("listen", "port 0 is none that others could be told: give one from 1 to 65535")
    if is_everywhere(host) and not chosen.given("advertise"):
        chosen.blame("listen", f"{host} is nothing that others could reach: give --advertise HOST:PORT beside it")
    return host, port


def _advertise(chosen: Chosen) -> str:
    if not chosen["advertise"]:
        return ""
    try:
        address = parsed(chosen["advertise"], PORT)
    except ValueError as error:
        chosen.blame("advertise", str(error))
        return ""
    if address[1] == 0 or is_everywhere(address[0]):
        chosen.blame("advertise", f"{written(address)} is nothing that others could reach: give a host and a port")
    return written(address)


def _http(chosen: Chosen) -> Address | None:
    """A port by itself is one of this machine's own."""
    text = chosen["http"]
    if not text:
        return None
    try:
        return parsed(f"127.0.0.1:{text}" if text.isdecimal() else text)
    except ValueError as error:
        chosen.blame("http", str(error))
        return None


def _join(chosen: Chosen) -> tuple[str, ...]:
    addresses: dict[str, None] = {}
    for text in chosen["join"]:
        try:
            addresses[written(parsed(text, PORT))] = None
        except ValueError as error:
            chosen.blame("join", str(error))
    return tuple(addresses)


def _check_loopback(chosen: Chosen, plan: Plan) -> None:
    """Whoever reaches an unprotected port can read and write everything."""
    if chosen["insecure"] or any(chosen[name] is not None for name in TLS):
        return
    hosts = {"listen": plan.listen[0], "advertise": parsed(plan.address)[0]}
    if plan.http is not None and not is_loopback(plan.http[0]):
        chosen.blame("http", f"{plan.http[0]} can be reached by others, and there is no TLS: {PROTECT}")
    for name, host in hosts.items():
        if not is_loopback(host) and not is_everywhere(host) and (name == "listen" or plan.advertise):
            chosen.blame(name, f"{host} can be reached by others, and there is no TLS: {PROTECT}")
        elif name == "listen" and is_everywhere(host):
            chosen.blame(name, f"{host} is every address of this machine, and there is no TLS: {PROTECT}")


PROTECT: Final = "give --tls-cert, --tls-key and --tls-ca, or --insecure if only friends can reach it"

# Founding and joining.


def _found(chosen: Chosen) -> Found | None:
    for name in ("buckets", "replication", "shape", "participants", "open", "importing"):
        if not chosen["found"] and chosen.sources[name] == flag(name):
            chosen.blame(name, "goes with --found only: of a cluster that is there it is changed by an order")
    buckets, shape = chosen["buckets"], chosen["shape"].lower()
    if not 1 <= buckets <= BUCKETS_MAX or buckets.bit_count() != 1:
        chosen.blame("buckets", f"must be a power of two from 1 to {BUCKETS_MAX}, not {buckets}")
    if shape not in list(Shape):
        chosen.blame("shape", f"must be {' or '.join(Shape)}, not {shape!r}")
        shape = Shape.STAR
    if chosen["participants"] < 1:
        chosen.blame("participants", f"must be 1 or more, not {chosen['participants']}")
    wanted = Wanted(replication=chosen["replication"], shape=Shape(shape))
    if wanted.trouble:
        chosen.blame("replication", wanted.trouble)
    is_open, log = UNSET if chosen["open"] else False, chosen["importing"]
    found = Found(buckets, wanted, chosen["participants"], log, importing=bool(log), open=is_open)
    return found if chosen["found"] else None


def _check_start(chosen: Chosen, *, goes_on: bool) -> None:
    ways = [name for name in ("found", "join", "join_file") if chosen[name]]
    if "found" in ways and len(ways) > 1:
        other = ways[1]
        chosen.blame(
            other, f"excludes found ({chosen.sources['found']}): who founds a cluster joins none; leave one out"
        )
    elif not ways and not goes_on:
        chosen.errors.append(
            "it has no cluster yet: give --found to found one, or --join HOST:PORT (or --join-file FILE) to join one"
        )


# TLS.

TLS: Final = ("tls_cert", "tls_key", "tls_ca")


def _tls(chosen: Chosen, node: str) -> Files | None:
    clients = chosen["tls_clients"].lower()
    if clients not in ("optional", "require"):
        chosen.blame("tls_clients", f"must be optional or require, not {clients!r}")
    missing = [flag(name) for name in TLS if chosen[name] is None]
    if len(missing) == len(TLS):
        if clients == "require":
            chosen.blame("tls_clients", "there is no TLS: give --tls-cert, --tls-key and --tls-ca")
        return None
    if missing:
        chosen.errors.append(
            f"TLS takes a certificate, its key and the authority's certificate: give {', '.join(missing)}"
        )
        return None
    files = Files(
        certificate=chosen["tls_cert"],
        key=chosen["tls_key"],
        authority=chosen["tls_ca"],
        clients_required=clients == "require",
    )
    try:
        loaded(files, node)
    except BadCertificates as error:
        chosen.errors.append(str(error))
    return files
