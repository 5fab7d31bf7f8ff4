"""`hansard start`: the command line of it; what it does is in starting.py."""

from typing import Annotated, Any

import typer


def _option(metavar: str, help: str) -> Any:
    return typer.Option(metavar=metavar, help=help, show_default=False)


Directory = typer.Argument(metavar="DIR", help="Where this participant keeps its data.", show_default=False)
Name = _option("NAME", "This participant's name; else its directory's, or its machine's.")
Listen = _option("HOST:PORT", "Where it listens; 127.0.0.1:7301 if not given.")
Advertise = _option("HOST:PORT", "Where others reach it, if not where it listens.")
Http = _option("HOST:PORT", "Where it speaks HTTP, or just PORT; nowhere if not given.")
Zone = _option("ZONE", "What fails together with it: copies are spread over zones.")
IsFounder = typer.Option("--found", help="Found a cluster, unless DIR has one.", show_default=False)
Buckets = _option("N", "Found with so many buckets, a power of two; 8 if not given.")
Replication = _option("N", "Found with so many copies of each bucket; 3 if not given.")
Shape = _option("SHAPE", "Found with this way of a batch through the copies: star or chain.")
Count = _option("N", "Make the buckets when so many participants are there; 1 if not given.")
Importing = _option("LOG", "Found to take in the log of this id, by hansard load; opens when it has.")
Open = typer.Option("--open", help="Found a cluster that needs no tokens.", show_default=False)
Join = _option("HOST:PORT", "Somebody of the cluster to join; may be repeated.")
JoinFile = _option("FILE", "Addresses to join by, one on a line; read again and again.")
TlsCert = _option("FILE", "Its certificate, which must be for its name.")
TlsKey = _option("FILE", "The key of the certificate.")
TlsCa = _option("FILE", "The certificate of the authority of all certificates.")
TlsClients = _option("HOW", "Certificates of clients: optional or require.")
Insecure = typer.Option("--insecure", help="Listen where others can reach it without TLS.", show_default=False)
LogLevel = _option("LEVEL", "debug, info, warning or error; info if not given.")
LogFormat = _option("FORMAT", "human or json; if not given, human on a terminal only.")
Config = _option("FILE", "A TOML file with settings; else HANSARD_CONFIG names it.")
Check = typer.Option("--check", help="Show what would be used, and where it is from; start nothing.")


def start(
    directory: Annotated[str | None, Directory] = None,
    name: Annotated[str | None, Name] = None,
    listen: Annotated[str | None, Listen] = None,
    advertise: Annotated[str | None, Advertise] = None,
    http: Annotated[str | None, Http] = None,
    zone: Annotated[str | None, Zone] = None,
    found: Annotated[bool | None, IsFounder] = None,
    buckets: Annotated[str | None, Buckets] = None,
    replication: Annotated[str | None, Replication] = None,
    shape: Annotated[str | None, Shape] = None,
    participants: Annotated[str | None, Count] = None,
    open: Annotated[bool | None, Open] = None,
    importing: Annotated[str | None, Importing] = None,
    join: Annotated[list[str] | None, Join] = None,
    join_file: Annotated[str | None, JoinFile] = None,
    tls_cert: Annotated[str | None, TlsCert] = None,
    tls_key: Annotated[str | None, TlsKey] = None,
    tls_ca: Annotated[str | None, TlsCa] = None,
    tls_clients: Annotated[str | None, TlsClients] = None,
    insecure: Annotated[bool | None, Insecure] = None,
    log_level: Annotated[str | None, LogLevel] = None,
    log_format: Annotated[str | None, LogFormat] = None,
    config: Annotated[str | None, Config] = None,
    check: Annotated[bool, Check] = False,
) -> None:
    """Run one participant of a cluster.

    The first one founds the cluster, the others join it by the address of anybody who is there. Started again, each
    goes on with what is in its directory. Without --open clients need tokens, and the founder writes the first one,
    which is for administrators, before it is ready: that once, and nowhere else.

    Every setting may also come from the environment (HANSARD_JOIN_FILE for --join-file) or from a file (join_file). The
    command line counts before the environment, and the environment before the file.

    It writes "ready" when it takes part and can be reached. SIGTERM and Ctrl-C stop it in order, a second one at once;
    SIGHUP makes it look at the certificates and at the file of addresses now.
    """
    flags = dict(locals())
    from . import starting  # noqa: PLC0415

    del flags["config"], flags["check"]
    starting.start(flags, config, check=check)
